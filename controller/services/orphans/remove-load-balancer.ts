import { isCloudError } from '../../../common/cloud-error.ts';
import { type Clock, sleep } from '../../../common/process/clock.ts';
import type { LoadBalancerStep } from '../../clouds/load-balancer-step.ts';
import type { LoadBalancerRef, ObservedLoadBalancer, Owner } from '../../clouds/load-balancers.ts';
import type { Permit } from '../../clouds/permit.ts';
import { type ClusterIdentity, defaultName } from '../desired.ts';
import type { ServingCloud } from '../serving-cloud.ts';

export interface Removal {
  readonly clock: Clock;
  readonly cluster: ClusterIdentity;
  readonly cloud: ServingCloud;
  /** As it was last seen; carries our tags. */
  readonly observed: ObservedLoadBalancer;
  readonly permit: Permit;
  readonly signal: AbortSignal;
  /** Its Service asks to retain it: only our tags are removed. Default false. */
  readonly retain?: boolean | undefined;
  /** Proves that it belongs to its Service while it does not carry our tags. Default: only its tags do. */
  readonly adopt?: LoadBalancerRef['adopt'];
  /** Called after every read before the first change: undefined = delete it, otherwise why it stays. May throw. */
  reasonToKeep?(observed: ObservedLoadBalancer): string | undefined | Promise<string | undefined>;
  onStep?(step: LoadBalancerStep): void;
  /** Gives up after this long, milliseconds. Default half an hour. */
  readonly deadlineMs?: number | undefined;
}

/** `gone`: nothing of ours is left, as a read after the last step showed. */
export type RemovalOutcome = { readonly kind: 'gone' } | { readonly kind: 'kept'; readonly why: string };

const retried: ReadonlySet<string> = new Set(['Throttled', 'Conflict', 'NotFound', 'Unavailable', 'Timeout']);
const maxFailures = 8;
/** A plan is applied as a whole, so few are needed. */
const maxAppliesPerRead = 20;
const foreign = 'its tags do not say that it is of this cluster and Service';
const defaultDeadlineMs = 30 * 60_000;

/** The reference by which the cloud finds the resources of a Service that no longer exists. */
function refTo({ cluster, observed, adopt }: Removal): LoadBalancerRef | undefined {
  const { owner } = observed;
  if (owner?.cluster !== cluster.uid) return undefined;
  return {
    owner,
    name: defaultName(owner.service),
    service: observed.service ?? '',
    id: observed.id,
    attachTo: observed.attached ? observed.id : undefined,
    adopt,
  };
}

/**
 * Deletes everything of ours that one Service had, or our parts of what others created, and proves it: by a read of the
 * id, or, where there never was one, by a second search after the settle time of the cloud. It reads before it acts, so
 * it is safe to repeat and to continue after another process. Throws a CloudError that a retry does not resolve, a
 * WithheldError, and the signal's reason.
 */
export async function removeLoadBalancer(removal: Removal): Promise<RemovalOutcome> {
  const { clock, cloud, permit, signal } = removal;
  const { loadBalancers } = cloud;
  const ref = refTo(removal);
  if (ref === undefined) return { kind: 'kept', why: foreign };
  const untilMs = clock.monotonic() + (removal.deadlineMs ?? defaultDeadlineMs);
  let failures = 0;
  let missingSinceMs: number | undefined;
  let changed = false;

  /** Reads and applies the plan. Returns how long to wait before the next read, or how it ended. */
  async function turn(of: LoadBalancerRef): Promise<number | RemovalOutcome> {
    const startedMs = clock.monotonic();
    let observed = await loadBalancers.observe(of, signal);
    if (observed === undefined) {
      if (of.id !== undefined) return { kind: 'gone' };
      missingSinceMs ??= startedMs;
      const restMs = missingSinceMs + loadBalancers.settleMs - startedMs;
      return restMs <= 0 ? { kind: 'gone' } : restMs;
    }
    missingSinceMs = undefined;
    // A released load balancer no longer carries our tags.
    if (!isOf(of.owner, observed)) return changed ? { kind: 'gone' } : { kind: 'kept', why: foreign };
    const why = changed ? undefined : await removal.reasonToKeep?.(observed);
    if (why !== undefined) return { kind: 'kept', why };
    for (let count = 0; ; count += 1) {
      const plan = loadBalancers.planRemoval(of.owner, { retain: removal.retain ?? false });
      if (plan.steps.length === 0) {
        if (plan.waitMs !== undefined) return plan.waitMs;
        if (count > 0) return 0;
        const left = plan.refusals.map(({ message }) => message).join('; ');
        return left === '' ? { kind: 'gone' } : { kind: 'kept', why: left };
      }
      if (count >= maxAppliesPerRead) return 1000;
      observed = await loadBalancers.apply(plan, { permit, signal, onStep: removal.onStep });
      changed = true;
      if (observed === undefined) return 0;
    }
  }

  for (;;) {
    let waitMs: number;
    try {
      const end = await turn(ref);
      if (typeof end !== 'number') return end;
      failures = 0;
      waitMs = end;
    } catch (error) {
      if (!isCloudError(error) || !retried.has(error.kind)) throw error;
      failures += 1;
      if (failures >= maxFailures) throw error;
      waitMs = Math.max(error.retryAfterMs ?? 0, Math.min(60_000, 1000 * 2 ** (failures - 1)));
    }
    if (clock.monotonic() + waitMs >= untilMs) return { kind: 'kept', why: 'the cloud takes too long to remove it' };
    if (waitMs > 0) await sleep(clock, waitMs, signal);
    else signal.throwIfAborted();
  }
}

function isOf(owner: Owner, observed: ObservedLoadBalancer): boolean {
  return observed.owner?.cluster === owner.cluster && observed.owner.service === owner.service;
}
