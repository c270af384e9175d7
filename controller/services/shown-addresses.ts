import type { IngressView } from '../model/service-view.ts';
import { serviceBackOff } from './back-off.ts';
import { statusOf } from './reasons.ts';
import { type LoadBalancerCondition, type ServiceChange, sameIngress } from './service-patches.ts';

/** The addresses of ours in the status of a Service, which other clients may overwrite. */
export interface ShownAddresses {
  readonly ingress: readonly IngressView[];
  /** How often they were restored, without five quiet minutes in between. */
  readonly repairs: number;
  /** They are not restored again before; monotonic milliseconds. */
  readonly untilMs: number;
}

/** A mistake is undone at once. Two controllers that serve one Service must not write without end. */
const repairsAtOnce = 4;

/** The state before addresses are written. The same object: they stand, or wait. Pure. */
export function shownAfter(
  before: ShownAddresses | undefined,
  seen: readonly IngressView[],
  desired: readonly IngressView[],
  nowMs: number,
): ShownAddresses {
  if (before === undefined || !sameIngress(before.ingress, desired))
    return { ingress: desired, repairs: 0, untilMs: nowMs };
  if (sameIngress(seen, desired) || nowMs < before.untilMs) return before;
  const { firstMs, maxMs } = serviceBackOff;
  const repairs = nowMs - before.untilMs > maxMs ? 1 : before.repairs + 1;
  const further = repairs - repairsAtOnce;
  const delayMs = further > 0 ? Math.min(maxMs, firstMs * 2 ** Math.min(further - 1, 30)) : 0;
  return { ingress: desired, repairs, untilMs: nowMs + delayMs };
}

interface Shown {
  readonly change: ServiceChange;
  readonly condition: LoadBalancerCondition;
}

/**
 * What to write of the addresses and the condition that were decided. While another client overwrites the addresses
 * again and again they wait, and the condition says so, unless it names a fault. Pure.
 *
 * @param seen in the status
 * @returns `addresses`: the state once they were written as they are; `againInMs`: until they may be restored
 */
export function showAddresses(
  before: ShownAddresses | undefined,
  seen: readonly IngressView[],
  decided: Shown,
  nowMs: number,
): Shown & { readonly addresses?: ShownAddresses; readonly againInMs?: number } {
  const { ingress, ...others } = decided.change;
  if (ingress === undefined) return decided;
  const addresses = shownAfter(before, seen, ingress, nowMs);
  const againInMs = addresses.untilMs - nowMs;
  if (againInMs <= 0) return { ...decided, addresses };
  const condition = statusOf(decided.condition.reason) === 'True' ? overwritten(addresses, decided) : decided.condition;
  const change = { ...others, condition, ...(addresses === before ? {} : { ingress }) };
  return { change, condition, addresses, againInMs };
}

function overwritten({ ingress }: ShownAddresses, { condition }: Shown): LoadBalancerCondition {
  const addresses = ingress.map(({ ip, hostname }) => ip ?? hostname).join(', ');
  const message =
    `another client overwrites the load balancer's addresses in the status again and again: ${addresses}; ` +
    'they are restored after growing delays of up to five minutes';
  const more = condition.reason === 'Ensured' ? '' : `; ${condition.message}`;
  return { reason: 'AddressOverwritten', message: message + more };
}
