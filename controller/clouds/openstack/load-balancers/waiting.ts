import type { Clock } from '../../../../common/process/clock.ts';
import type { LoadBalancerRef } from '../../load-balancers.ts';
import type { LoadBalancer } from './answer.ts';
import type { Look } from './looks.ts';
import type { Memory } from './memory.ts';
import { type Found, foundIn, type OctaviaObserved, type Subject, withLoadBalancer } from './observed.ts';
import { isAtWork, isPending } from './plan-wait.ts';
import type { CompareNow } from './status-tree.ts';

/** What is at work for longer has been forgotten by Octavia; the load balancer takes changes all the same. */
const longestLagMs = 60_000;

export interface WaitingParts {
  readonly clock: Clock;
  readonly memory: Memory;
  readonly look: Look;
  readonly compareNow: CompareNow;
  /** Takes what is on it as known. */
  learn(loadBalancer: LoadBalancer): void;
  assemble(subject: Subject, found: Found): OctaviaObserved | undefined;
}

/** Undefined: everything has to be read. Throws a CloudError. */
export type Recalled = (
  ref: LoadBalancerRef,
  subject: Subject,
  signal?: AbortSignal,
) => Promise<{ readonly observed: OctaviaObserved | undefined } | undefined>;

/**
 * While Octavia is at work on a load balancer, one read tells so; the rest is as it was. Octavia lets nobody else in meanwhile: when it is done, there is what our step has
 * made of what was there. Before that counts as all that there is, it is compared with what Octavia tells of everything in one answer.
 */
export function recalledWhileWaiting({ clock, memory, look, compareNow, learn, assemble }: WaitingParts): Recalled {
  /** By load balancer that is active while something on it is at work: since when, and when that was seen last. */
  const lagging = new Map<string, { readonly sinceMs: number; readonly seenMs: number }>();

  return async function recalled(ref, subject, signal) {
    const { observed: known, sure = false } = memory.recall(ref.owner) ?? {};
    const main = known?.pieces.own ?? known?.pieces.hosts.find(({ id }) => id === ref.attachTo);
    if (known === undefined || main === undefined) return undefined;
    const { own, hosts, doubles, assumed, subject: before } = known.pieces;
    // What else it names now was not looked for then.
    if (before.attachTo !== subject.attachTo || before.address !== subject.address) return undefined;
    if (own === main && ref.id !== undefined && ref.id !== main.id) return undefined;
    const result = (now: LoadBalancer | undefined, isAssumed = false) => {
      const { noFailover } = memory;
      const found = { ...foundIn(known), assumed: isAssumed, noFailover, restMs: memory.restOf(ref.owner) };
      const observed = assemble(subject, withLoadBalancer(found, main.id, now));
      memory.remember(subject, observed, sure);
      return { observed };
    };
    let now = main;
    if (isAtWork(main)) {
      const sinceMs = memory.begunAtMs(main.id) ?? -1;
      const fresh = await look({ id: main.id, cluster: ref.owner.cluster, sinceMs }, signal);
      // Proved by its id; what else there was is known from before its end, but for what has become of addresses on it.
      const isProved = sure && main.status === 'PENDING_DELETE' && known.pieces.floatingIps.length === 0;
      if (fresh === undefined) return isProved ? result(undefined) : undefined;
      now = { ...memory.timed(fresh), listeners: main.listeners, pools: main.pools };
      if (isAtWork(fresh)) return result(now);
      if (fresh.status !== 'ACTIVE' || !sure) return undefined;
      // Some providers are done with the load balancer before they begin with what is on it.
      if (main.status !== 'PENDING_CREATE') return result(now, true);
    } else if (!assumed) return undefined;
    if ([...hosts, ...doubles].some((one) => one !== main && isPending(one))) return undefined;
    const compared = await compareNow(now, signal);
    if (compared.is === 'at work') {
      const seenMs = clock.monotonic();
      // What was seen then and not since was another change.
      for (const [id, before] of lagging) if (seenMs - before.seenMs > 10 * longestLagMs) lagging.delete(id);
      const sinceMs = lagging.get(now.id)?.sinceMs ?? seenMs;
      lagging.set(now.id, { sinceMs, seenMs });
      const pendingMs = seenMs - sinceMs;
      if (pendingMs < longestLagMs) return result({ ...now, status: 'PENDING_UPDATE', pendingMs });
    }
    lagging.delete(now.id);
    if (compared.is !== 'as known') return undefined;
    learn(compared.loadBalancer);
    return result(compared.loadBalancer);
  };
}
