import type { LoadBalancerPlan } from '../../load-balancers.ts';
import type { LoadBalancer } from './answer.ts';
import type { Pieces } from './observed.ts';
import type { OctaviaStep } from './step.ts';

export type OctaviaPlan = LoadBalancerPlan<OctaviaStep>;

export const nothing: OctaviaPlan = { steps: [], refusals: [], waitMs: undefined };

/** Where nothing is known of how long such work takes. */
const firstMs: Readonly<Record<string, number>> = { PENDING_CREATE: 2000, PENDING_DELETE: 2000 };
const leastMs = 1000;
const longestMs = 30_000;

/** When to look again: when it may be done, soon after that, and ever more rarely where Octavia does not come to an end. */
export function waitFor({
  status,
  pendingMs,
  expectedMs,
}: Pick<LoadBalancer, 'status' | 'pendingMs' | 'expectedMs'>): OctaviaPlan {
  if (expectedMs === undefined) {
    const soonMs = firstMs[status] ?? leastMs;
    return { ...nothing, waitMs: Math.min(longestMs, Math.max(soonMs, Math.round(pendingMs / 3))) };
  }
  const laterMs = Math.min(longestMs, Math.max(leastMs, Math.round(pendingMs / 5)));
  return { ...nothing, waitMs: Math.max(laterMs, expectedMs - pendingMs) };
}

export function isAtWork({ status }: Pick<LoadBalancer, 'status'>): boolean {
  return status.startsWith('PENDING');
}

export function isPending({ status }: Pick<LoadBalancer, 'status'>): boolean {
  return status.startsWith('PENDING') || status === 'DELETED';
}

/** Before it is said that nothing is to be done, everything is looked at. */
export function lookedAt(plan: OctaviaPlan, pieces: Pieces | undefined): OctaviaPlan {
  return pieces?.assumed && plan.steps.length === 0 ? { ...plan, waitMs: plan.waitMs ?? 1 } : plan;
}
