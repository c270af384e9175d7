import { isCloudError } from '../../../common/cloud-error.ts';
import { type Clock, sleep } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { MetricsOf } from '../../../common/process/metrics.ts';
import type { Random } from '../../../common/process/random.ts';
import { names } from '../../../common/well-known.ts';
import type { ObservedLoadBalancer } from '../../clouds/load-balancers.ts';
import { type Permit, WithheldError } from '../../clouds/permit.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { EventSink } from '../../kube/event-sink.ts';
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
import { afterLook, orphanLedgerKey, parseSightings, printSightings, scopeKey, sightingKey } from './orphan-ledger.ts';
import { removeLoadBalancer } from './remove-load-balancer.ts';

export interface OrphanSweepContext {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly services: Informer<ServiceView>;
  readonly clouds: readonly ServingCloud[];
  readonly events: EventSink;
  readonly metrics: MetricsOf<typeof orphanMetrics>;
  /** For each mutating call to a cloud. */
  readonly permit: Permit;
  /** True while everything is paused. */
  paused(): boolean;
}

export interface OrphanSweepOptions {
  /** Asked at the start of each term. Throws a KubeError. */
  cluster(): Promise<ClusterIdentity>;
  /** What the last complete read of this cloud showed; undefined while there is none. Costs no call where somebody else reads it anyway. */
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
  /** Undefined where only an address or the like is left. */
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
/** What was made this recently may have a Service that nobody shows us yet. */
const youngMs = 600_000;
/** The wall clock alone is not trusted with a day: this leader must have seen it for so long, too. */
const ownSightMs = 600_000;

/**
 * Finds what no Service accounts for any more: its finalizer was stripped, the API server was restored from a backup, or a cluster was rebuilt. Reported at once. Deleted only
 * with `--delete-orphans`, when sweeps at least a day apart have seen it and a live list of all Services, just before, did not have its UID; within a budget.
 */
export function createOrphanSweep(context: OrphanSweepContext, options: OrphanSweepOptions): OrphanSweep {
  const { api, clock, log, services, clouds, events, metrics, permit } = context;
  const { leadership, budget, periodMs = 600_000, minAgeMs = 86_400_000 } = options;
  /** By scope. */
  const found = new Map<string, readonly Orphan[]>();
  /** By sighting: since when this leader has seen it, monotonic. */
  const ownSight = new Map<string, number>();
  let progressMs: number | undefined;
  let removing = false;

  async function sweep(cloud: ServingCloud, cluster: ClusterIdentity, signal: AbortSignal): Promise<void> {
    const { scope } = cloud;
    const seen = options.observed(cloud);
    if (seen === undefined || !services.synced) return;
    const all = [...seen].filter(({ owner }) => owner?.cluster === cluster.uid);
    const orphaned = await withoutService(all, signal);
    const ledger = await noteSightings(cloud, orphaned);
    const orphans = orphaned.map(({ owner, service, id }): Orphan => {
      const uid = owner?.service ?? '';
      const seconds = ledger.get(sightingKey(scope, uid));
      return { scope, uid, service, id, firstSeenMs: seconds === undefined ? undefined : seconds * 1000 };
    });
    report(cloud, cluster, orphans);
    if (options.deleteOrphans && !context.paused()) await deleteOld(cloud, cluster, orphaned, all.length, signal);
  }

  /** What is ours by its tags and whose Service neither the cache nor a list of this moment has. */
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

  async function noteSightings({ scope }: ServingCloud, orphaned: readonly ObservedLoadBalancer[]) {
    const uids = orphaned.flatMap(({ owner }) => (owner === undefined ? [] : [owner.service]));
    const keys = new Set(uids.map((uid) => sightingKey(scope, uid)));
    const prefix = scopeKey(scope);
    for (const key of ownSight.keys()) if (key.startsWith(prefix) && !keys.has(key)) ownSight.delete(key);
    for (const key of keys) if (!ownSight.has(key)) ownSight.set(key, clock.monotonic());
    const before = parseSightings(leadership.annotations()[orphanLedgerKey]);
    const after = afterLook(before, scope, uids, Math.ceil(clock.now() / 1000));
    if (after === before) return before;
    try {
      await leadership.annotate({ [orphanLedgerKey]: after.size === 0 ? null : printSightings(after) });
      return after;
    } catch (error) {
      log.warn('sightings of orphans not written', errorFields(error));
      return before;
    }
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
      const what = id === undefined ? 'What is left of a load balancer' : `Load balancer ${id}`;
      const message = `${what} in ${scope} belongs to Service ${service ?? 'unknown'} (uid ${uid}), which does not exist`;
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
    const ledger = parseSightings(leadership.annotations()[orphanLedgerKey]);
    const old = orphaned.filter(({ owner }) => isOld(ledger, sightingKey(cloud.scope, owner?.service ?? '')));
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
        await remove(cloud, cluster, observed, signal);
      } finally {
        removing = false;
      }
    }
  }

  function isOld(ledger: ReadonlyMap<string, number>, key: string): boolean {
    const seconds = ledger.get(key);
    const since = ownSight.get(key);
    if (seconds === undefined || since === undefined) return false;
    return clock.now() - seconds * 1000 >= minAgeMs && clock.monotonic() - since >= Math.min(ownSightMs, minAgeMs);
  }

  async function remove(
    cloud: ServingCloud,
    cluster: ClusterIdentity,
    observed: ObservedLoadBalancer,
    signal: AbortSignal,
  ): Promise<void> {
    const { scope } = cloud;
    const { id, service, owner } = observed;
    const fields = { scope, id, service };
    try {
      const outcome = await removeLoadBalancer({
        clock,
        cluster,
        cloud,
        observed,
        permit,
        signal,
        async mayGo(now) {
          if (now.retained) return 'it is retained';
          const live = await liveServiceUids(api, signal);
          return live.has(owner?.service ?? '') ? 'its Service exists' : undefined;
        },
        onStep: ({ summary }) => log.info('deleting an orphan', { ...fields, step: summary }),
      });
      if (outcome.kind === 'kept') {
        log.warn('orphan not deleted', { ...fields, why: outcome.why });
        return;
      }
      metrics.deleted.add({ scope });
      log.info('orphan deleted', fields);
      const target = { apiVersion: 'v1', kind: 'Namespace', name: names.namespace, uid: cluster.uid };
      const message = `Deleted load balancer ${id ?? ''} in ${scope} of Service ${service ?? 'unknown'}, which does not exist`;
      events.emit(target, { type: 'Normal', reason: 'DeletedOrphanedLoadBalancer', message });
    } catch (error) {
      if (signal.aborted) return;
      if (!isCloudError(error) && !(error instanceof WithheldError)) throw error;
      log.warn('orphan not deleted', { ...fields, ...errorFields(error) });
    }
  }

  async function sweepAll(cluster: ClusterIdentity, signal: AbortSignal): Promise<void> {
    for (const cloud of clouds) {
      try {
        await sweep(cloud, cluster, signal);
      } catch (error) {
        if (signal.aborted) return;
        log.warn('orphans not looked for', { scope: cloud.scope, ...errorFields(error) });
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
        ownSight.clear();
        metrics.orphaned.reset();
      }
    },
    progress() {
      if (progressMs === undefined) return new Map();
      // It rests for a period by design, and a removal has a deadline of its own; only what comes after that is lateness.
      const atMs = removing ? clock.monotonic() : Math.min(clock.monotonic(), progressMs + periodMs);
      return new Map([['orphans', atMs]]);
    },
  };
}
