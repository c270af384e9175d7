import type { LeavingReason, Standing } from './facts.ts';
import type { Membership } from './membership.ts';

/** Where a Node stands towards load balancers, for people. */
export interface NodeMembership {
  /** Undefined when its scope is not certain. */
  readonly scope: string | undefined;
  readonly state:
    | 'Member'
    | 'Leaving'
    | 'PoweredOff'
    | 'Uninitialized'
    | 'Foreign'
    | 'SeveralScopes'
    | 'Gone'
    | 'MemberRemovalWithheld';
  readonly message: string;
}

const leavingWhy: Readonly<Record<LeavingReason, string>> = {
  Deleting: 'the Node is being deleted',
  Excluded: 'a label excludes it from load balancers',
  MarkedByAutoscaler: 'the cluster autoscaler is about to delete it',
  MarkedByKarpenter: 'Karpenter is about to delete it',
};

/** Pure. Undefined for a Node that neither the cache nor a load balancer knows. */
export function explainStanding(
  nodeName: string,
  standing: Standing | undefined,
  sets: ReadonlyMap<string, Membership>,
): NodeMembership | undefined {
  if (standing === undefined) return explainDeparted(nodeName, sets);
  switch (standing.kind) {
    case 'none':
      return { scope: undefined, state: standing.reason, message: standing.why };
    case 'member':
      return { scope: standing.scope, state: 'Member', message: 'it takes connections of load balancers' };
    case 'leaving':
      return {
        scope: standing.scope,
        state: 'Leaving',
        message: `${leavingWhy[standing.reason]}: it drains, then it is removed`,
      };
    case 'off':
      return { scope: standing.scope, state: 'PoweredOff', message: 'its VM is powered off: it is removed at once' };
    case 'waiting':
      return {
        scope: standing.scope,
        state: 'Uninitialized',
        message: 'it waits for its initialisation: it joins no load balancer, and stays where it was a member before',
      };
  }
}

function explainDeparted(nodeName: string, sets: ReadonlyMap<string, Membership>): NodeMembership | undefined {
  for (const { scope, departed } of sets.values()) {
    for (const { facts, phase, seenMs } of departed.values()) {
      if (facts?.node !== nodeName) continue;
      return phase === 'unexplained' && seenMs !== undefined
        ? {
            scope,
            state: 'MemberRemovalWithheld',
            message: 'its Node vanished unexplained: the member stays until the removal budget lets it go',
          }
        : { scope, state: 'Gone', message: 'its Node is gone: what is left of the member is removed' };
    }
  }
  return undefined;
}
