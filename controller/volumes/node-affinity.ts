import { labels } from '../../common/well-known.ts';
import type { VolumePlace } from '../clouds/volumes.ts';

export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** One term of `spec.nodeAffinity.required.nodeSelectorTerms`. */
export interface SelectorTerm {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

/** What a Node has to be labelled with to use a volume at this place: one requirement for each label. */
export function requirementsOf({ zones, region }: VolumePlace): readonly Requirement[] {
  const oneOf = (key: string, values: readonly string[]) => ({ key, operator: 'In', values });
  return [
    ...(zones.length > 0 ? [oneOf(labels.zone, [...zones].sort())] : []),
    ...(region !== undefined ? [oneOf(labels.region, [region])] : []),
  ];
}

/**
 * The terms with the requirements added to each of them, as they are alternatives; undefined where nothing is added:
 * when a term has a requirement about one of these labels already, none is added. The rule is that of the admission
 * plugin PersistentVolumeLabel.
 */
export function addRequirements(
  terms: readonly SelectorTerm[],
  added: readonly Requirement[],
): readonly SelectorTerm[] | undefined {
  const keys = new Set(added.map(({ key }) => key));
  const isTaken = terms.some(({ matchExpressions = [] }) => matchExpressions.some(({ key }) => keys.has(key)));
  if (isTaken || added.length === 0) return undefined;
  const extended = terms.map((term) => ({ ...term, matchExpressions: [...(term.matchExpressions ?? []), ...added] }));
  return extended.length > 0 ? extended : [{ matchExpressions: added }];
}

/** Drivers have keys of their own for the same: `topology.ebs.csi.aws.com/zone`. */
const topologyKey = /^(?:topology|failure-domain)\.[^/]+\/(zone|region)$/;

/** Undefined where a term, as they are alternatives, admits this place; else the first requirement that excludes it. */
export function excludingRequirement(terms: readonly SelectorTerm[], place: VolumePlace): Exclusion | undefined {
  const exclusions = terms.map(({ matchExpressions = [] }) =>
    matchExpressions.map((each) => exclusionOf(each, place)).find((each) => each !== undefined),
  );
  return exclusions.every((each) => each !== undefined) ? exclusions[0] : undefined;
}

interface Exclusion {
  readonly requirement: Requirement;
  readonly told: readonly string[];
}

function exclusionOf(requirement: Requirement, { zones, region }: VolumePlace): Exclusion | undefined {
  const { key, operator, values = [] } = requirement;
  const [, label] = topologyKey.exec(key) ?? [];
  const told = label === 'zone' ? zones : label === 'region' && region !== undefined ? [region] : [];
  const isExcluded = operator === 'In' && told.length > 0 && !told.some((one) => values.includes(one));
  return isExcluded ? { requirement, told } : undefined;
}
