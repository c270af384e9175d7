import type { Clock } from '../../../common/process/clock.ts';
import type { Log } from '../../../common/process/log.ts';
import type { MetricsOf } from '../../../common/process/metrics.ts';
import type { Random } from '../../../common/process/random.ts';
import { untilAborted } from '../../../common/process/until.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { EventSink } from '../../kube/event-sink.ts';
import type { Informer } from '../../kube/informer.ts';
import { isPaused, type ServiceView, viewService } from '../../model/service-view.ts';
import type { LeaderTask } from '../../runtime/leader-task.ts';
import { createWorkQueue, type QueueMetrics } from '../../runtime/work-queue.ts';
import { createConditionReporter } from '../condition-reporter.ts';
import type { serviceMetrics } from '../metrics.ts';
import type { LoadBalancerCondition, ServiceChange } from '../service-patches.ts';
import { createServiceStates } from '../service-state.ts';
import { writeService } from '../write-service.ts';
import { judgeService } from './unserved-service.ts';

export interface UnservedContext {
  /** Fenced, and withheld while everything is paused. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** All Services, or those of type LoadBalancer. */
  readonly services: Informer<ServiceView>;
  readonly events: EventSink;
  readonly metrics: MetricsOf<typeof serviceMetrics>;
  paused(): boolean;
}

export interface UnservedOptions {
  /** From `whyUnserved`. */
  readonly why: LoadBalancerCondition | undefined;
  readonly loadBalancerClasses: readonly string[];
  readonly queueMetrics?: QueueMetrics | undefined;
}

/** How long a controller beside this one has to give an address before the condition says that no cloud serves it. */
const graceMs = 60_000;
const pausedAgainMs = 5000;

/**
 * The leader task that tells about Services of type LoadBalancer that no configured cloud serves: a condition, an event
 * and a metric; and an event, once a term, about those whose class is left to another controller. It removes its
 * condition when the Service gets an address or asks for no load balancer any more.
 */
export function createUnservedTask(context: UnservedContext, options: UnservedOptions): LeaderTask {
  const { api, clock, random, log, services, events, metrics } = context;
  const { why, loadBalancerClasses } = options;
  const writer = { api, clock, view: (raw: unknown) => viewService(raw, () => false) };
  let term: ReturnType<typeof startTerm> | undefined;

  services.subscribe((event) => {
    if (term === undefined) return;
    if (event.type === 'deleted') term.forget(event.old);
    else if (concerns(event.object)) term.queue.enqueue(event.key);
  });

  function concerns(service: ServiceView): boolean {
    return service.type === 'LoadBalancer' || isOurCondition(service) || term?.knows(service) === true;
  }

  /** With a cloud that serves, the condition is the service task's. */
  function isOurCondition({ condition }: ServiceView): boolean {
    return why !== undefined && condition?.status === 'False';
  }

  function startTerm() {
    const states = createServiceStates(metrics.services);
    const reporter = createConditionReporter(states, events);
    const firstSeenMs = new Map<string, number>();
    const ofOtherClass = new Set<string>();

    function countOtherClass(uid: string, isOne: boolean): void {
      if (isOne) ofOtherClass.add(uid);
      else ofOtherClass.delete(uid);
      metrics.otherClass.set(ofOtherClass.size);
    }

    function forget({ uid }: ServiceView): void {
      firstSeenMs.delete(uid);
      states.forget(uid);
      countOtherClass(uid, false);
    }

    function graceLeftMs({ uid }: ServiceView): number {
      const now = clock.monotonic();
      const seenMs = firstSeenMs.get(uid) ?? now;
      firstSeenMs.set(uid, seenMs);
      return seenMs + graceMs - now;
    }

    async function write(service: ServiceView, change: ServiceChange): Promise<void> {
      const verdict = JSON.stringify(judgeService(service, why, loadBalancerClasses));
      const holds = (now: ServiceView) =>
        !isPaused(now) && JSON.stringify(judgeService(now, why, loadBalancerClasses)) === verdict;
      const { kind } = await writeService(writer, service, change, holds);
      if (kind !== 'written') return;
      if (change.condition) log.info('no cloud serves a Service', { service: service.key, ...change.condition });
      else log.info('condition removed: no longer needed', { service: service.key });
    }

    async function reconcile(key: string): Promise<{ requeueAfterMs: number } | undefined> {
      const service = services.get(key);
      if (service === undefined || isPaused(service)) return undefined;
      if (context.paused()) return { requeueAfterMs: pausedAgainMs };
      const verdict = judgeService(service, why, loadBalancerClasses);
      if (verdict.kind === 'none') {
        forget(service);
        if (isOurCondition(service)) await write(service, { condition: null });
        return undefined;
      }
      const requeueAfterMs = service.condition === undefined ? graceLeftMs(service) : 0;
      if (requeueAfterMs > 0) return { requeueAfterMs };
      if (verdict.kind === 'unserved') {
        const { condition } = verdict;
        reporter.note(service, condition);
        await write(service, { condition });
      } else if (!ofOtherClass.has(service.uid)) {
        countOtherClass(service.uid, true);
        reporter.emit(service, 'OtherLoadBalancerClass', otherClass(service));
      }
      return undefined;
    }

    function otherClass({ loadBalancerClass }: ServiceView): string {
      const ours = loadBalancerClasses.join(', ') || 'none';
      return (
        `spec.loadBalancerClass ${loadBalancerClass} is left to another controller, which gave no address yet; ` +
        `classes of this one (--load-balancer-class): ${ours}`
      );
    }

    const queue = createWorkQueue({
      name: 'unserved-service',
      clock,
      random,
      log,
      concurrency: 4,
      reconcile,
      ...(options.queueMetrics && { metrics: options.queueMetrics }),
    });
    return { queue, forget, knows: ({ uid }: ServiceView) => firstSeenMs.has(uid) };
  }

  async function lead(signal: AbortSignal): Promise<void> {
    await Promise.race([services.whenSynced(), untilAborted(signal)]);
    if (signal.aborted) return;
    if (why !== undefined) log.info('no Service is served', { ...why });
    const current = startTerm();
    term = current;
    for (const service of services.values()) if (concerns(service)) current.queue.enqueue(service.key);
    current.queue.start();
    await untilAborted(signal);
    term = undefined;
    await current.queue.stop();
    metrics.services.reset();
    metrics.otherClass.reset();
  }

  return {
    lead,
    progress: () => new Map(term ? [['unserved-service', term.queue.lastProgressAt]] : []),
  };
}
