import { createHash } from 'node:crypto';
import type { Eligibility, LeavingReason } from './facts.ts';
import type { Membership } from './membership.ts';

/** Why Nodes do not serve: the first four drain. */
export const memberReasons = [
  ...(['Deleting', 'Excluded', 'MarkedByAutoscaler', 'MarkedByKarpenter'] as const),
  ...(['PoweredOff', 'Uninitialized', 'IdentityConflict', 'SeveralScopes', 'NotChosen'] as const),
] as const;

/** Nodes that do not serve, for one reason. */
export interface NodesOfReason {
  readonly reason: (typeof memberReasons)[number];
  readonly why: string;
  /** Their names, sorted. */
  readonly nodes: readonly string[];
}

/** The Nodes as members of the load balancers of one membership. */
export interface NodeStates {
  /** How many take connections, without the cloud's cap. */
  readonly serving: number;
  /** They drain where they are members, and join nowhere. */
  readonly draining: readonly NodesOfReason[];
  readonly refused: readonly NodesOfReason[];
  /** How many are foreign, or of other scopes. */
  readonly elsewhere: number;
  /** Equal for equal names and reasons. */
  readonly hash: string;
}

type Refusal = Omit<NodesOfReason, 'nodes'> & { readonly drains?: true };

const leavingWhy: Readonly<Record<LeavingReason, string>> = {
  Deleting: 'the Node is being deleted',
  Excluded: 'a label excludes it from load balancers',
  MarkedByAutoscaler: 'the cluster autoscaler is about to delete it',
  MarkedByKarpenter: 'Karpenter is about to delete it',
};

/**
 * Sorts Nodes as a membership has them. Pure.
 *
 * @param eligibilities by name of the Node: those that the membership was made of
 * @param set of what one Service chooses, see `Selections`
 */
export function nodeStates(eligibilities: Iterable<readonly [string, Eligibility]>, set: Membership): NodeStates {
  const groups = new Map<string, Refusal & { readonly nodes: string[] }>();
  let elsewhere = 0;
  for (const [node, eligibility] of eligibilities) {
    const refusal = refusalOf(node, eligibility, set);
    if (refusal === 'elsewhere') elsewhere += 1;
    if (refusal === 'elsewhere' || refusal === undefined) continue;
    const key = JSON.stringify(refusal);
    const group = groups.get(key) ?? { ...refusal, nodes: [] };
    group.nodes.push(node);
    groups.set(key, group);
  }
  const sorted = [...groups.values()].sort((a, b) => (a.reason < b.reason ? -1 : 1));
  const those = (drains: boolean) =>
    sorted.flatMap(({ reason, why, nodes, drains: does = false }) =>
      does === drains ? [{ reason, why, nodes: nodes.sort() }] : [],
    );
  const [draining, refused] = [those(true), those(false)];
  const hash = createHash('sha256')
    .update(JSON.stringify([draining, refused]))
    .digest('hex')
    .slice(0, 16);
  return { serving: set.active.size, draining, refused, elsewhere, hash };
}

/** Undefined: it serves. */
function refusalOf(node: string, eligibility: Eligibility, set: Membership): Refusal | 'elsewhere' | undefined {
  if (eligibility.kind === 'none') {
    const { reason, why } = eligibility;
    return reason === 'Foreign' ? 'elsewhere' : { reason, why };
  }
  if (eligibility.scope !== set.scope) return 'elsewhere';
  const { instance } = eligibility.facts;
  const holder = set.active.get(instance) ?? set.present.get(instance)?.facts;
  if (holder !== undefined && holder.node !== node)
    return { reason: 'IdentityConflict', why: `Node ${holder.node} stands for the same instance` };
  if (eligibility.kind === 'leaving') {
    const { reason } = eligibility;
    return { reason, why: `${leavingWhy[reason]}: it drains, then it is removed`, drains: true };
  }
  if (eligibility.kind === 'off') return { reason: 'PoweredOff', why: 'its VM is powered off: it is removed at once' };
  if (eligibility.kind === 'waiting') {
    const waits = 'it waits for its initialisation: it joins no load balancer, and stays where it was a member before';
    return { reason: 'Uninitialized', why: waits };
  }
  if (set.active.has(instance)) return undefined;
  const why = 'the Service chooses Nodes by labels, and not this one: where it is a member, it drains';
  return { reason: 'NotChosen', why };
}
