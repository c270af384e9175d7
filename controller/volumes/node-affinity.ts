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

/**
 * The first requirement that no zone, or not the region, of this place fulfils. Drivers have keys of their own for the
 * same: `topology.ebs.csi.aws.com/zone`.
 */
export function excludingRequirement(
  terms: readonly SelectorTerm[],
  { zones, region }: VolumePlace,
): { readonly requirement: Requirement; readonly told: readonly string[] } | undefined {
  for (const requirement of terms.flatMap(({ matchExpressions }) => matchExpressions ?? [])) {
    const { key, operator, values = [] } = requirement;
    const told = key.endsWith('/zone') ? zones : key.endsWith('/region') && region !== undefined ? [region] : [];
    if (operator === 'In' && told.length > 0 && !told.some((one) => values.includes(one))) return { requirement, told };
  }
  return undefined;
}
