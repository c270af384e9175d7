import { labels } from '../../common/well-known.ts';
import type { VolumePlace } from '../clouds/volumes.ts';
import { addRequirements, excludingRequirement, requirementsOf, type SelectorTerm } from './node-affinity.ts';
import { labelsOf, type VolumeView, zonesOfLabel } from './volume-view.ts';

/**
 * What a PersistentVolume lacks. `differs`: a label of it, or its node affinity, is about another place than the cloud
 * tells; all of it stays.
 */
export type TopologyPlan =
  | { readonly kind: 'complete' }
  | TopologyChange
  | { readonly kind: 'differs'; readonly why: string }
  | { readonly kind: 'unusable'; readonly why: string };

export interface TopologyChange {
  readonly kind: 'write';
  readonly labels: Readonly<Record<string, string>>;
  /** All terms of the node affinity; undefined: it stays. */
  readonly terms: readonly SelectorTerm[] | undefined;
}

const labelValue = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/**
 * The place of a volume that was provisioned for a claim and has both labels: the provisioner knew it, so the cloud
 * need not be asked, as in the admission plugin.
 */
export function placeOfProvisioner({ provisioned, zone, region }: VolumeView): VolumePlace | undefined {
  if (!provisioned || zone === undefined || region === undefined) return undefined;
  return { zones: zonesOfLabel(zone), region };
}

/**
 * Plans labels and node affinity of a volume at this place. Nothing that the PersistentVolume has is replaced. Pure.
 *
 * @param affinity `fixed`: it exists, so the API server lets no node affinity change that is set
 */
export function planTopology(volume: VolumeView, place: VolumePlace, affinity: 'fixed' | 'open'): TopologyPlan {
  const intended = labelsOf(place);
  const held: Readonly<Record<string, string | undefined>> = {
    [labels.zone]: volume.zone,
    [labels.region]: volume.region,
  };
  const missing: Record<string, string> = {};
  for (const [key, value] of Object.entries(intended)) {
    if (!labelValue.test(value))
      return { kind: 'unusable', why: `${JSON.stringify(value)} of the cloud cannot be the value of a label` };
    const own = held[key];
    if (own === undefined) missing[key] = value;
    else if (!isSame(own, value)) return { kind: 'differs', why: `label ${key}: ${own}, but the cloud says ${value}` };
  }
  const isFixed = affinity === 'fixed' && volume.terms.length > 0;
  const terms = isFixed ? undefined : addRequirements(volume.terms, requirementsOf(place));
  if (terms === undefined && Object.keys(missing).length === 0) return { kind: 'complete' };
  // The scheduler heeds labels and affinity, so together they would leave no Node for its pods.
  const excluding = excludingRequirement(volume.terms, place);
  if (excluding) {
    const { requirement, told } = excluding;
    const own = `node affinity ${requirement.key}: ${requirement.values?.join(', ')}`;
    return { kind: 'differs', why: `${own}, but the cloud says ${told.join(', ')}` };
  }
  return { kind: 'write', labels: missing, terms };
}

/** Zones in another order are the same. */
function isSame(label: string, other: string): boolean {
  return label === other || zonesOfLabel(label).join() === zonesOfLabel(other).join();
}
