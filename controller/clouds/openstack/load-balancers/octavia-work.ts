import type { Answer } from '../../../engine/resource.ts';
import type { LoadBalancer } from './octavia-answer.ts';

/** A create whose answer was lost may still be on its way for so long. */
export const settleMs = 60_000;

/** Roughly, with amphorae: the start of a VM, a reload, another VM, the end of a VM. */
const amphoraMs = { create: 30_000, change: 2_500, failover: 60_000, delete: 10_000 } as const;
const amphorae: ReadonlySet<string> = new Set(['amphora', 'amphorav2', 'octavia']);
const otherMs = 1000;

/** Octavia has no operations: what is polled is the load balancer. */
export function operationId(what: 'change' | 'delete', loadBalancer: string): string {
  return `${what} ${loadBalancer}`;
}

/** What the answer to a change says of the work that goes on. */
export function working(
  what: keyof typeof amphoraMs,
  { id, provider }: Pick<LoadBalancer, 'id' | 'provider'>,
): Pick<Answer, 'operation' | 'lasts'> {
  const ms = amphorae.has(provider) ? amphoraMs[what] : otherMs;
  const operation = operationId(what === 'delete' ? 'delete' : 'change', id);
  return { operation, lasts: { estimateKey: `${provider} ${what}`, ms } };
}
