import { annotations, isPauseValue, labels } from '../../common/well-known.ts';
import type { VolumePlace, VolumeRef, VolumeSource } from '../clouds/volumes.ts';
import type { KubeObject } from '../kube/api.ts';
import type { SelectorTerm } from './node-affinity.ts';

/** The fields of a PersistentVolume that decisions need: a trimmed copy. */
export interface VolumeView {
  readonly name: string;
  /** Empty while it is being created. */
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deleting: boolean;
  readonly paused: boolean;
  /** As labelled; undefined: no such label. */
  readonly zone: string | undefined;
  readonly region: string | undefined;
  /** Provisioned for a claim, so that its labels are those of the provisioner. */
  readonly provisioned: boolean;
  /** Undefined: no configured cloud has such volumes. */
  readonly ref: VolumeRef | undefined;
  readonly terms: readonly SelectorTerm[];
}

interface RawVolume extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Upstream's `pv.kubernetes.io/provisioned-by`. */
const provisionedBy = 'pv.kubernetes.io/provisioned-by';
/** The id that the in-tree plugins gave while the volume was being created. */
const placeholder = 'placeholder-for-provisioning';

/**
 * Upstream joins the zones of a replicated volume with this.
 * @returns sorted, each once
 */
export function zonesOfLabel(text: string | undefined): readonly string[] {
  return [...new Set((text ?? '').split('__').filter((zone) => zone !== ''))].sort();
}

export function labelOfZones(zones: readonly string[]): string {
  return [...new Set(zones)].sort().join('__');
}

/** The labels that a volume at this place has. */
export function labelsOf({ zones, region }: VolumePlace): Readonly<Record<string, string>> {
  return {
    ...(zones.length > 0 && { [labels.zone]: labelOfZones(zones) }),
    ...(region !== undefined && { [labels.region]: region }),
  };
}

/** Throws a TypeError that names the field when it is no PersistentVolume. */
export function viewVolume(raw: unknown, sources: readonly VolumeSource[]): VolumeView {
  const { metadata, spec } = raw as RawVolume;
  const held = metadata.labels ?? {};
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    deleting: metadata.deletionTimestamp !== undefined,
    paused: isPauseValue(metadata.annotations?.[annotations.paused]),
    zone: held[labels.zone],
    region: held[labels.region],
    provisioned: metadata.annotations?.[provisionedBy] !== undefined,
    ref: refOf(spec ?? {}, sources, zonesOfLabel(held[labels.zone])),
    terms: termsOf(spec?.['nodeAffinity']),
  };
}

function refOf(
  spec: Readonly<Record<string, unknown>>,
  sources: readonly VolumeSource[],
  zones: readonly string[],
): VolumeRef | undefined {
  const csi = fields(spec['csi']);
  for (const { name, idField } of sources) {
    const handle = idField === undefined ? csi['driver'] === name && csi['volumeHandle'] : fields(spec[name])[idField];
    if (typeof handle === 'string' && handle !== '' && handle !== placeholder) return { source: name, handle, zones };
  }
  return undefined;
}

function termsOf(nodeAffinity: unknown): readonly SelectorTerm[] {
  const terms = fields(fields(nodeAffinity)['required'])['nodeSelectorTerms'];
  if (terms === undefined || terms === null) return [];
  if (Array.isArray(terms) && terms.every(isTerm)) return terms;
  throw new TypeError('spec.nodeAffinity.required.nodeSelectorTerms: expected a list of terms with matchExpressions');
}

function isTerm(term: unknown): term is SelectorTerm {
  const { matchExpressions } = (term ?? {}) as { matchExpressions?: unknown };
  if (matchExpressions === undefined || matchExpressions === null) return typeof term === 'object' && term !== null;
  return Array.isArray(matchExpressions) && matchExpressions.every((one) => typeof fields(one)['key'] === 'string');
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
