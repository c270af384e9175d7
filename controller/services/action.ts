import type { LoadBalancerPlan } from '../clouds/load-balancers.ts';
import type { LoadBalancerReason } from './reasons.ts';
import type { LoadBalancerRecord } from './record.ts';
import type { LoadBalancerCondition, ServiceChange } from './service-patches.ts';

/**
 * The one thing to do next.
 *
 * - `observe`: read what the cloud has for this Service
 * - `write`: a change of the Service without which the cloud may not be called
 * - `apply`: the cloud carries out what was planned
 * - `settle`: nothing to do now: write the condition and, after `againInMs`, observe again
 * - `release`: proved gone: the finalizer and everything else of ours is removed from the Service
 */
export type Action =
  | { readonly do: 'observe' }
  | {
      readonly do: 'write';
      readonly change: ServiceChange;
      readonly what: string;
      /** This is the very first claim: nothing can have been created for this Service yet. */
      readonly first: boolean;
    }
  | { readonly do: 'apply'; readonly plan: LoadBalancerPlan }
  | {
      readonly do: 'settle';
      readonly change: ServiceChange;
      readonly condition: LoadBalancerCondition;
      /** Undefined: not before an event. */
      readonly againInMs: number | undefined;
      /** The cloud is at work, and nothing else is to be done. */
      readonly waits: boolean;
    }
  | { readonly do: 'release'; readonly change: ServiceChange }
  | { readonly do: 'nothing'; readonly againInMs?: number };

/** When to read a foreign resource again that blocks ours. */
export const refusedRetryMs = 300_000;

/** How long the condition of a Service that is served stays while nothing can be done for it but wait. */
export const patienceMs = 300_000;

export function settle(
  reason: LoadBalancerReason,
  message: string,
  more: { readonly change?: ServiceChange; readonly againInMs?: number | undefined; readonly waits?: boolean } = {},
): Action & { do: 'settle' } {
  const condition = { reason, message };
  return {
    do: 'settle',
    condition,
    change: { ...more.change, condition },
    againInMs: more.againInMs,
    waits: more.waits === true,
  };
}

export function adoptionMismatch({ id }: LoadBalancerRecord): Action {
  const unproved = 'its name, tags and address no longer prove that it belongs to this Service';
  return settle('AdoptionRequired', `load balancer ${id} was adopted, and ${unproved}`, { againInMs: refusedRetryMs });
}
