import type { Eligibility, LeavingReason } from './facts.ts';
import type { Membership } from './membership.ts';

/** The membership of a Node in load balancers, as `explain` shows it. */
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

/** Undefined for a Node that neither the cache nor a load balancer has. Pure. */
export function explainEligibility(
  nodeName: string,
  eligibility: Eligibility | undefined,
  sets: ReadonlyMap<string, Membership>,
): NodeMembership | undefined {
  if (eligibility === undefined) return explainDeparted(nodeName, sets);
  switch (eligibility.kind) {
    case 'none':
      return { scope: undefined, state: eligibility.reason, message: eligibility.why };
    case 'member':
      return { scope: eligibility.scope, state: 'Member', message: 'it takes connections of load balancers' };
    case 'leaving':
      return {
        scope: eligibility.scope,
        state: 'Leaving',
        message: `${leavingWhy[eligibility.reason]}: it drains, then it is removed`,
      };
    case 'off':
      return { scope: eligibility.scope, state: 'PoweredOff', message: 'its VM is powered off: it is removed at once' };
    case 'waiting':
      return {
        scope: eligibility.scope,
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
            message: 'its Node vanished unexplained: the member stays until the removal budget grants its removal',
          }
        : { scope, state: 'Gone', message: 'its Node is gone: the member is being removed' };
    }
  }
  return undefined;
}
