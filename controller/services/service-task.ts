import { isCloudError } from '../../common/cloud-error.ts';
import { backoffMs } from '../../common/process/backoff.ts';
import { errorFields } from '../../common/process/log.ts';
import { restOrAbort, untilAborted } from '../../common/process/until.ts';
import type { InformerEvent } from '../kube/informer.ts';
import type { ServiceView } from '../model/service-view.ts';
import { firstRead } from '../runtime/first-read.ts';
import type { LeaderTask } from '../runtime/leader-task.ts';
import { createWorkQueue, type QueueMetrics, type WorkQueue } from '../runtime/work-queue.ts';
import { endsBackOff, serviceBackOff } from './back-off.ts';
import { adoptableOf, type ClusterIdentity } from './desired.ts';
import { unrecordedIn } from './gone-services.ts';
import { intentOf } from './intent.ts';
import { needsReconcile } from './needs-reconcile.ts';
import { createObservations, type Observations } from './observations.ts';
import type { OperatorPolicy } from './operator-policy.ts';
import { takesPods } from './pods/pod-members.ts';
import type { ServiceContext } from './service-context.ts';
import { createServiceReconciler, type ServiceReconciler } from './service-reconciler.ts';
import { createServiceStates } from './service-state.ts';
import { chooseCloud, type ServingCloud } from './serving-cloud.ts';

export interface ServiceTaskOptions {
  /** Read at the start of each term; cloud resources of this cluster carry it. Throws a KubeError. */
  clusterUid(): Promise<string>;
  /** `--cluster-name`. */
  readonly clusterName: string;
  /** `--load-balancer-class`: classes that are ours beside Services without one. */
  readonly loadBalancerClasses: readonly string[];
  readonly policy: OperatorPolicy;
  /** `--adopt`. Default: no. */
  readonly adopts?: boolean;
  /** `--concurrent-service-syncs`. */
  readonly concurrentServiceSyncs: number;
  /** `--load-balancer-audit-period`. */
  readonly auditMs: number;
  readonly queueMetrics?: QueueMetrics | undefined;
}

/** The leader task that keeps the load balancers of Services. */
export interface ServiceTask extends LeaderTask {
  /** The observed load balancers, for the orphan sweep; undefined while not leading. */
  observations(): Observations | undefined;
}

interface Term {
  readonly cluster: ClusterIdentity;
  readonly reconciler: ServiceReconciler;
  readonly queue: WorkQueue;
  readonly observations: Observations;
  auditedMs: number;
  /** Services that were not reconciled yet since the members changed. */
  pass: { readonly startedMs: number; readonly remaining: Set<string> } | undefined;
}

const auditRetry = { firstMs: 2000, maxMs: 60_000 };

export function createServiceTask(context: ServiceContext, options: ServiceTaskOptions): ServiceTask {
  const { clock, random, log, services, clouds, members, metrics } = context;
  const { adopts = false } = options;
  let term: Term | undefined;

  services.subscribe((event) => {
    if (term) observe(term, event);
  });
  members.onChange(({ scope }) => {
    if (!term) return;
    const served = [...services.values()].filter(isServed);
    if (served.length === 0) return;
    const remaining = new Set(served.map(({ key }) => key));
    term.pass = { startedMs: term.pass?.startedMs ?? clock.monotonic(), remaining };
    for (const service of served) {
      const choice = chooseCloud(service, clouds);
      if ('cloud' in choice && choice.cloud.scope === scope) enqueueMembers(term, service);
      else term.queue.enqueue(service.key);
    }
  });

  context.pods.onChange((key) => {
    const service = services.get(key);
    if (!term || service === undefined || !isServed(service)) return;
    const choice = chooseCloud(service, clouds);
    if ('cloud' in choice && takesPods(service, choice.cloud)) enqueueMembers(term, service);
  });

  function enqueueMembers({ reconciler, queue }: Term, service: ServiceView): void {
    reconciler.membersChanged(service);
    queue.enqueue(service.key);
  }

  function isServed(service: ServiceView): boolean {
    return intentOf(service, options.loadBalancerClasses) === 'ensure';
  }

  function concerns(service: ServiceView): boolean {
    const isMarked = term !== undefined && unrecordedIn(service, clouds, term.observations) !== undefined;
    return intentOf(service, options.loadBalancerClasses, isMarked) !== 'none';
  }

  function observe({ reconciler, queue }: Term, event: InformerEvent<ServiceView>): void {
    if (event.type === 'deleted') {
      if (reconciler.departed(event.old)) queue.enqueue(event.key, { priority: 'high' });
      return;
    }
    if (event.type === 'added') {
      if (concerns(event.object)) queue.enqueue(event.key, { priority: 'high' });
      return;
    }
    const { old, object } = event;
    if (reconciler.latest.isEcho(object) || !needsReconcile(old, object)) return;
    if (endsBackOff(old, object)) queue.forget(event.key);
    // A Service that no longer concerns us is reconciled once more, to forget its state.
    if (concerns(object) || concerns(old)) queue.enqueue(event.key, { priority: 'high' });
  }

  function startTerm(cluster: ClusterIdentity): Term {
    const states = createServiceStates(metrics.services);
    const observations = createObservations(cluster.uid, () => clock.monotonic(), states);
    const reconciler = createServiceReconciler(context, {
      cluster,
      states,
      observations,
      loadBalancerClasses: options.loadBalancerClasses,
      policy: options.policy,
      adopts,
    });
    const queue = createWorkQueue({
      name: 'service',
      clock,
      random,
      log,
      backoff: serviceBackOff,
      concurrency: options.concurrentServiceSyncs,
      async reconcile(key, signal) {
        try {
          return await reconciler.reconcile(key, signal);
        } finally {
          passed(key);
        }
      },
      ...(options.queueMetrics === undefined ? {} : { metrics: options.queueMetrics }),
    });
    return { cluster, reconciler, queue, observations, auditedMs: clock.monotonic(), pass: undefined };
  }

  function passed(key: string): void {
    const pass = term?.pass;
    if (!term || !pass?.remaining.delete(key) || pass.remaining.size > 0) return;
    metrics.nodeSyncLatency.observe((clock.monotonic() - pass.startedMs) / 1000);
    term.pass = undefined;
  }

  /** Reads everything of one scope, periodically. */
  async function auditLoop(current: Term, cloud: ServingCloud, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        const adoptable = adoptableOf(current.cluster, services.values(), clouds, cloud.scope, adopts);
        await current.observations.refresh(cloud, signal, adoptable);
        failures = 0;
        metrics.audits.add({ outcome: 'ok' });
        if (!signal.aborted) audited(current, cloud);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        metrics.audits.add({ outcome: isCloudError(error) ? error.kind : 'error' });
        // Before the first complete read no Service can be served; their conditions say why.
        if (!current.observations.ready(cloud.scope) && current.reconciler.audits.failed(cloud, error))
          enqueueWaiting(current);
        log.warn('load balancers not read', { scope: cloud.scope, failures, ...errorFields(error) });
      }
      current.auditedMs = clock.monotonic();
      const pauseMs =
        failures === 0 ? options.auditMs : Math.min(options.auditMs, backoffMs(failures, { ...auditRetry, random }));
      await restOrAbort(clock, pauseMs, signal);
    }
  }

  function audited(current: Term, cloud: ServingCloud): void {
    for (const key of current.reconciler.audits.ended(cloud)) current.queue.enqueue(key);
    for (const service of services.values()) {
      if (!concerns(service)) continue;
      // New Services come first.
      const isNew = isServed(service) && service.condition === undefined;
      current.queue.enqueue(service.key, { priority: isNew ? 'high' : 'low' });
    }
  }

  function enqueueWaiting({ queue }: Term): void {
    for (const service of services.values()) if (concerns(service)) queue.enqueue(service.key, { priority: 'low' });
  }

  async function lead(signal: AbortSignal): Promise<void> {
    await Promise.race([services.whenSynced(), untilAborted(signal)]);
    if (signal.aborted) return;
    const uid = await firstRead('namespace kube-system', options.clusterUid, context, signal);
    if (uid === undefined || signal.aborted) return;
    const current = startTerm({ uid, name: options.clusterName });
    term = current;
    for (const service of services.values())
      if (concerns(service)) current.queue.enqueue(service.key, { priority: 'low' });
    current.queue.start();
    try {
      await Promise.all(clouds.map((cloud) => auditLoop(current, cloud, signal)));
    } finally {
      term = undefined;
      await current.queue.stop();
      metrics.services.reset();
      metrics.orphans.reset();
      metrics.retained.reset();
    }
  }

  function progress(): ReadonlyMap<string, number> {
    const loops = new Map<string, number>();
    if (term) {
      loops.set('service', term.queue.lastProgressAt);
      // It sleeps for a period by design; only after that it is late.
      loops.set('load-balancer-audit', Math.min(clock.monotonic(), term.auditedMs + options.auditMs));
    }
    return loops;
  }

  return { lead, progress, observations: () => term?.observations };
}
