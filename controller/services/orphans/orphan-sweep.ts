import { sleep } from '../../../common/process/clock.ts';
import { errorFields } from '../../../common/process/log.ts';
import type { MetricsOf } from '../../../common/process/metrics.ts';
import type { Random } from '../../../common/process/random.ts';
import { names } from '../../../common/well-known.ts';
import type { ObservedLoadBalancer } from '../../clouds/load-balancers.ts';
import type { Informer } from '../../kube/informer.ts';
import type { Leadership } from '../../kube/leadership.ts';
import type { BudgetKeeper } from '../../model/budget-keeper.ts';
import type { ServiceView } from '../../model/service-view.ts';
import { firstRead } from '../../runtime/first-read.ts';
import type { LeaderTask } from '../../runtime/leader-task.ts';
import type { ClusterIdentity } from '../desired.ts';
import type { ServingCloud } from '../serving-cloud.ts';
import { liveServiceUids } from './live-services.ts';
import type { orphanMetrics } from './metrics.ts';
import { deleteOrphan, type OrphanDeletionContext } from './orphan-deletion.ts';
import { sightingKey } from './orphan-ledger.ts';
import { createOrphanSightings } from './orphan-sightings.ts';

export interface OrphanSweepContext extends OrphanDeletionContext {
  readonly random: Random;
  readonly services: Informer<ServiceView>;
  readonly clouds: readonly ServingCloud[];
  readonly metrics: MetricsOf<typeof orphanMetrics>;
  /** True while everything is paused. */
  paused(): boolean;
}

export interface OrphanSweepOptions {
  /** Asked at the start of each term. Throws a KubeError. */
  cluster(): Promise<ClusterIdentity>;
  /** From the last complete read of this cloud; undefined before the first. */
  observed(cloud: ServingCloud): Iterable<ObservedLoadBalancer> | undefined;
  readonly leadership: Pick<Leadership, 'annotations' | 'annotate'>;
  /** Kind `orphan`. */
  readonly budget: BudgetKeeper;
  /** `--delete-orphans`. */
  readonly deleteOrphans: boolean;
  /** Between two sweeps; default ten minutes, the first after a minute. */
  readonly periodMs?: number | undefined;
  /** How long something must have been an orphan before it is deleted; default a day. */
  readonly minAgeMs?: number | undefined;
}

/** A load balancer of this cluster whose Service does not exist. */
export interface Orphan {
  readonly scope: string;
  /** UID of the Service. */
  readonly uid: string;
  /** `namespace/name`, as tagged. */
  readonly service: string | undefined;
  /** Undefined where only other resources, such as an address, are left. */
  readonly id: string | undefined;
  /** Milliseconds since 1970, as the Lease has it; undefined while it could not be written. */
  readonly firstSeenMs: number | undefined;
}

export interface OrphanSweep extends LeaderTask {
  /** One sweep of one cloud. Throws a KubeError. */
  sweep(cloud: ServingCloud, cluster: ClusterIdentity, signal: AbortSignal): Promise<void>;
  /** As of the last sweeps. */
  orphans(): readonly Orphan[];
}

const firstSweepMs = 60_000;
/** What was created more recently may have a Service that is not visible yet. */
const youngMs = 600_000;
/**
 * Finds load balancers of this cluster whose Service does not exist: its finalizer was stripped, the API server was
 * restored from a backup, or the cluster was rebuilt. They are reported at once. They are deleted only with
 * `--delete-orphans`, when sweeps at least a day apart have seen them and a list of all Services right before did not
 * have the UID; within a budget.
 */
export function createOrphanSweep(context: OrphanSweepContext, options: OrphanSweepOptions): OrphanSweep {
  const { api, clock, log, services, clouds, events, metrics } = context;
  const { leadership, budget, periodMs = 600_000, minAgeMs = 86_400_000 } = options;
  /** By scope. */
  const found = new Map<string, readonly Orphan[]>();
  const sightings = createOrphanSightings({ clock, log, leadership, minAgeMs });
  let progressMs: number | undefined;
  let removing = false;

  async function sweep(cloud: ServingCloud, cluster: ClusterIdentity, signal: AbortSignal): Promise<void> {
    const { scope } = cloud;
    const seen = options.observed(cloud);
    if (seen === undefined || !services.synced) return;
    const all = [...seen].filter(({ owner }) => owner?.cluster === cluster.uid);
    const orphaned = await withoutService(all, signal);
    const ledger = await sightings.note(scope, orphaned.map(uidOf));
    const orphans = orphaned.map((one): Orphan => {
      const { service, id } = one;
      const uid = uidOf(one);
      const seconds = ledger.get(sightingKey(scope, uid));
      return { scope, uid, service, id, firstSeenMs: seconds === undefined ? undefined : seconds * 1000 };
    });
    report(cloud, cluster, orphans);
    if (options.deleteOrphans && !context.paused()) await deleteOld(cloud, cluster, orphaned, all.length, signal);
  }

  /** Those whose Service neither the cache nor a list of this moment has. */
  async function withoutService(
    all: readonly ObservedLoadBalancer[],
    signal: AbortSignal,
  ): Promise<readonly ObservedLoadBalancer[]> {
    const cached = new Set<string>();
    for (const { uid } of services.values()) cached.add(uid);
    const isYoung = ({ createdAtMs }: ObservedLoadBalancer) =>
      createdAtMs !== undefined && clock.now() - createdAtMs < youngMs;
    const suspects = all.filter(
      (one) => !one.retained && one.state !== 'deleting' && !cached.has(one.owner?.service ?? '') && !isYoung(one),
    );
    if (suspects.length === 0) return [];
    const live = await liveServiceUids(api, signal);
    return suspects.filter(({ owner }) => owner !== undefined && !live.has(owner.service));
  }

  function report({ scope }: ServingCloud, cluster: ClusterIdentity, orphans: readonly Orphan[]): void {
    const before = new Set((found.get(scope) ?? []).map(({ uid }) => uid));
    found.set(scope, orphans);
    metrics.orphaned.set({ scope }, orphans.length);
    const target = { apiVersion: 'v1', kind: 'Namespace', name: names.namespace, uid: cluster.uid };
    for (const { uid, service, id, firstSeenMs } of orphans) {
      if (before.has(uid)) continue;
      const since = firstSeenMs === undefined ? undefined : new Date(firstSeenMs).toISOString();
      log.warn('orphaned load balancer', { scope, service, uid, id, since });
      const what = id === undefined ? 'A remainder of a load balancer' : `Load balancer ${id}`;
      const of = `Service ${service ?? 'unknown'} (uid ${uid}), which does not exist`;
      const atMs = firstSeenMs !== undefined && options.deleteOrphans ? firstSeenMs + minAgeMs : undefined;
      const then = atMs === undefined ? '' : `; it is deleted on ${new Date(atMs).toISOString()} at the earliest`;
      const message = `${what} in ${scope} belongs to ${of}${then}`;
      events.emit(target, { type: 'Warning', reason: 'OrphanedLoadBalancer', message });
    }
  }

  async function deleteOld(
    cloud: ServingCloud,
    cluster: ClusterIdentity,
    orphaned: readonly ObservedLoadBalancer[],
    total: number,
    signal: AbortSignal,
  ): Promise<void> {
    const old = orphaned.filter((one) => sightings.isOld(cloud.scope, uidOf(one)));
    if (old.length === 0) return;
    let granted: number;
    try {
      granted = await budget.take('orphan', old.length, total);
    } catch (error) {
      log.warn('budget not written, so no orphan is deleted', errorFields(error));
      return;
    }
    if (granted < old.length)
      log.warn('orphans wait for the budget', { scope: cloud.scope, waiting: old.length - granted });
    for (const observed of old.slice(0, granted)) {
      if (signal.aborted) return;
      removing = true;
      try {
        await deleteOrphan(context, cloud, cluster, observed, signal);
      } finally {
        removing = false;
      }
    }
  }

  async function sweepAll(cluster: ClusterIdentity, signal: AbortSignal): Promise<void> {
    for (const cloud of clouds) {
      try {
        await sweep(cloud, cluster, signal);
      } catch (error) {
        if (signal.aborted) return;
        log.warn('orphans not swept', { scope: cloud.scope, ...errorFields(error) });
      }
    }
    progressMs = clock.monotonic();
  }

  return {
    sweep,
    orphans: () => [...found.values()].flat(),
    async lead(signal) {
      const cluster = await firstRead('namespace kube-system', options.cluster, context, signal);
      if (cluster === undefined || signal.aborted) return;
      progressMs = clock.monotonic();
      try {
        for (let restMs = Math.min(firstSweepMs, periodMs); !signal.aborted; restMs = periodMs) {
          await sleep(clock, restMs, signal).catch(() => {});
          if (!signal.aborted) await sweepAll(cluster, signal);
        }
      } finally {
        progressMs = undefined;
        found.clear();
        sightings.clear();
        metrics.orphaned.reset();
      }
    },
    progress() {
      if (progressMs === undefined) return new Map();
      // It sleeps for a period by design, and a deletion has its own deadline: only after that it is late.
      const atMs = removing ? clock.monotonic() : Math.min(clock.monotonic(), progressMs + periodMs);
      return new Map([['orphans', atMs]]);
    },
  };
}

function uidOf({ owner }: ObservedLoadBalancer): string {
  return owner?.service ?? '';
}
