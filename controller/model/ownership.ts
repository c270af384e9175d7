import { schemeOf } from '../../common/provider-id/codec.ts';
import { annotations } from '../../common/well-known.ts';
import type { ConfiguredCloud } from './configured-cloud.ts';
import { isUninitialized, type NodeView } from './node-view.ts';
import { isScopeOf, parseRecord } from './scope-record.ts';

/** What the ownership of a Node depends on. `api`: undefined = report-only. */
export type Claimant = Pick<ConfiguredCloud, 'name' | 'scope' | 'accepts' | 'selector' | 'formerScopes'> & {
  readonly api: object | undefined;
};

/**
 * Node ownership. `owned`: its instance is in one of these scopes. `claimable`: it has no providerID, waits for
 * initialisation and may belong to one of these clouds, if a report or exactly one lookup claims it. `foreign`: never
 * modified, routed, balanced or deleted.
 */
export type Ownership<C extends Claimant = ConfiguredCloud> =
  | { readonly kind: 'owned'; readonly clouds: readonly C[] }
  /** `ours`: it is ours even before it is claimed, because there is only one cloud or a selector matches the Node. */
  | { readonly kind: 'claimable'; readonly clouds: readonly C[]; readonly ours: boolean }
  | { readonly kind: 'foreign'; readonly why: string };

/** Decides from the fields of the Node alone. Pure. */
export function ownershipOf<C extends Claimant>(node: NodeView, configured: readonly C[]): Ownership<C> {
  if (node.providerID !== '') return ownershipByProviderID(node, configured);
  if (!isUninitialized(node)) {
    return { kind: 'foreign', why: 'it has no providerID and no uninitialized taint' };
  }
  const selected = configured.filter((cloud) => cloud.selector?.(node.labels) ?? true);
  if (selected.length === 0) return { kind: 'foreign', why: '--node-selector does not match it' };
  const ours = configured.length === 1 || selected.some(({ selector }) => selector !== undefined);
  return { kind: 'claimable', clouds: selected, ours };
}

function ownershipByProviderID<C extends Claimant>(node: NodeView, configured: readonly C[]): Ownership<C> {
  const accepting = configured.filter((cloud) => cloud.accepts(node.providerID));
  const clouds = new Set(accepting.map((cloud) => cloud.name));
  if (clouds.size === 0)
    return { kind: 'foreign', why: `no configured cloud accepts its providerID ${node.providerID}` };
  if (clouds.size > 1 && schemeOf(node.providerID) === undefined) {
    return {
      kind: 'foreign',
      why: `its providerID ${node.providerID} has no scheme and fits ${[...clouds].join(' and ')}`,
    };
  }
  const recorded = parseRecord(node.annotations[annotations.instance])?.scope;
  const there = accepting.filter((cloud) => recorded !== undefined && isScopeOf(recorded, cloud));
  return { kind: 'owned', clouds: there.length > 0 ? there : accepting };
}

/**
 * The cloud whose API is responsible for this Node, if exactly one is: only then may the Node be deleted or tainted.
 */
export function answeringCloud<C extends Claimant>(node: NodeView, configured: readonly C[]): C | undefined {
  const ownership = ownershipOf(node, configured);
  if (ownership.kind !== 'owned') return undefined;
  const [cloud, ...others] = ownership.clouds.filter(({ api }) => api !== undefined);
  return others.length === 0 ? cloud : undefined;
}
