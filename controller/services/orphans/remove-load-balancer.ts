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
  /** Its Service asks that the load balancer stays: our tags go, and nothing else. Default false. */
  readonly retain?: boolean | undefined;
  /** What proves that it is of its Service as long as it does not carry our tags. Default: its tags alone do. */
  readonly adopt?: LoadBalancerRef['adopt'];
  /** Asked after every look until something has been changed: undefined = go on, otherwise why it stays. May throw. */
  mayGo?(observed: ObservedLoadBalancer): string | undefined | Promise<string | undefined>;
  onStep?(step: LoadBalancerStep): void;
  /** Gives up after this long, milliseconds. Default half an hour. */
  readonly deadlineMs?: number | undefined;
}

/** `gone`: nothing of ours is left, as a read after the last step showed. */
export type RemovalOutcome = { readonly kind: 'gone' } | { readonly kind: 'kept'; readonly why: string };

const retried: ReadonlySet<string> = new Set(['Throttled', 'Conflict', 'NotFound', 'Unavailable', 'Timeout']);
const maxFailures = 8;
/** More than any plan has. */
const maxStepsPerLook = 100;
const foreign = 'its tags do not say that it is of this cluster and Service';
const defaultDeadlineMs = 30 * 60_000;

/** How the cloud is asked for what a Service of that UID has, when no reconciler knows of it. */
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
 * Removes everything of ours that one Service had, or gives up our parts of what somebody else made, and proves it: by a read of the id, or, where there never was
 * one, by a second search after the time that the cloud needs to show things. Looks before it acts, so that it is safe to repeat and to take up where another process
 * ended. Throws a CloudError that waiting does not mend, a WithheldError, and the signal's reason.
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

  /** Looks, and applies what is planned then; answers how long to wait before the next look, or how it ended. */
  async function turn(asked: LoadBalancerRef): Promise<number | RemovalOutcome> {
    const startedMs = clock.monotonic();
    let observed = await loadBalancers.observe(asked, signal);
    if (observed === undefined) {
      if (asked.id !== undefined) return { kind: 'gone' };
      missingSinceMs ??= startedMs;
      const restMs = missingSinceMs + loadBalancers.settleMs - startedMs;
      return restMs <= 0 ? { kind: 'gone' } : restMs;
    }
    missingSinceMs = undefined;
    // What has been given up carries our tags no more.
    if (!isOf(asked.owner, observed)) return changed ? { kind: 'gone' } : { kind: 'kept', why: foreign };
    const why = changed ? undefined : await removal.mayGo?.(observed);
    if (why !== undefined) return { kind: 'kept', why };
    for (let count = 0; ; count += 1) {
      const plan = loadBalancers.planRemoval(observed, { retain: removal.retain ?? false });
      const [step] = plan.steps;
      if (step === undefined) {
        if (plan.waitMs !== undefined) return plan.waitMs;
        return count === 0 ? { kind: 'gone' } : 0;
      }
      if (count >= maxStepsPerLook) return 1000;
      if (!loadBalancers.appliesAll?.(step)) removal.onStep?.(step);
      observed = await loadBalancers.apply(step, observed, { permit, signal, onStep: removal.onStep });
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
