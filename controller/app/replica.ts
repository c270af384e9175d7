import type { Clock } from '../../common/process/clock.ts';
import type { HealthCheck } from '../../common/process/health.ts';
import type { MetricRegistry } from '../../common/process/metrics.ts';
import { names } from '../../common/well-known.ts';
import type { Elector } from '../kube/elector.ts';
import { createEventSink } from '../kube/events.ts';
import { createInterner } from '../kube/intern.ts';
import { createListWatch, type ListWatch } from '../kube/list-watch.ts';
import { createShippedObjects, type ShippedObjects } from '../kube/shipped-objects.ts';
import { type LeaderApi, leaderApi, loopApi, writeTimeoutMs } from '../kube/write-api.ts';
import { createBudgetKeeper } from '../model/budget-keeper.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { type NodeView, unreadOfNode, viewNode } from '../model/node-view.ts';
import { createLookupBatcher, type LookupBatcher } from '../nodes/lookup-batcher.ts';
import { nodeMetrics } from '../nodes/metrics.ts';
import type { NodeContext } from '../nodes/node-context.ts';
import { createNodeTask, type NodeTask } from '../nodes/node-task.ts';
import { createReportStore } from '../reports/store.ts';
import { runAll } from '../runtime/leader-task.ts';
import { watchPause } from '../runtime/pause.ts';
import { createLeadership, type LeadershipParts } from './leadership.ts';
import { createNetwork } from './network.ts';
import type { NetworkContext } from './network-context.ts';
import { loopNames } from './options/loops.ts';
import type { RunOptions } from './options/run-options.ts';
import { createLabelledVolumes } from './volumes.ts';

export interface ReplicaParts extends LeadershipParts {
  readonly clouds: readonly ConfiguredCloud[];
  readonly registry: MetricRegistry;
  readonly host: string;
  /** That Mooring is installed in; default kube-system. */
  readonly namespace?: string;
  /** Objects per page of a list; default as in createListWatch. */
  readonly pageSize?: number;
}

export type ReplicaOptions = Pick<
  RunOptions,
  | 'announcedDeletionBudget'
  | 'concurrentNodeSyncs'
  | 'deletionBudget'
  | 'interruptionTaint'
  | 'lease'
  | 'loops'
  | 'monitorPeriodMs'
  | 'network'
  | 'outOfServiceTaint'
  | 'reportUrl'
  | 'statusUpdateMs'
  | 'tagLabels'
>;

/** Caches, election and loops of one process, without sockets and files. */
export interface Replica {
  readonly elector: Elector;
  readonly nodes: ListWatch<NodeView>;
  readonly context: NodeContext;
  readonly task: NodeTask;
  /** Fenced, but not withheld while everything is paused. */
  readonly leading: LeaderApi;
  readonly shipped: ShippedObjects;
  readonly ready: readonly HealthCheck[];
  /** The caches of the API server's objects, by resource. Those that have not begun have no staleness. */
  readonly caches: ReadonlyMap<string, { stalenessMs(): number | undefined }>;
  /** Monotonic time of each loop's last progress, by name; empty while not leading. */
  progress(): ReadonlyMap<string, number>;
  /**
   * Starts the caches and the election, and leads until `stop` aborts. Then it drains and releases the lease. May be
   * called once.
   *
   * @throws the error of a leader task, after the same shutdown
   */
  run(stop: AbortSignal): Promise<void>;
}

/** Creates one replica. Makes no call before `run`. */
export function createReplica(parts: ReplicaParts, options: ReplicaOptions): Replica {
  const { api, clouds, clock, random, log, registry, metrics } = parts;
  const { lease, tagLabels } = options;
  const intern = createInterner();
  const nodes = createListWatch({
    api,
    path: '/api/v1/nodes',
    trim: (raw) => viewNode(raw, intern),
    unread: unreadOfNode,
    clock,
    random,
    log,
    ...(parts.pageSize === undefined ? {} : { pageSize: parts.pageSize }),
  });
  const shipped = createShippedObjects(parts.namespace ?? names.namespace, { log, missing: metrics.shippedMissing });
  const pause = watchPause({ api, clock, random, log, shipped });
  const reports = createReportStore(clock);
  const lookupsByScope = new Map<string, LookupBatcher>();
  for (const { scope, api: cloud } of clouds)
    if (cloud)
      lookupsByScope.set(
        scope,
        createLookupBatcher({ cloud, clock, tagLabels, seen: (instance) => network.seen(scope, instance) }),
      );
  const resolver = { configured: clouds, lookupsOf: (scope: string) => lookupsByScope.get(scope) };

  const leadership = createLeadership(
    parts,
    options,
    () => pause.whenSynced(),
    (signal) => leaderTask.lead(signal),
  );
  const { elector } = leadership;
  const leading = leaderApi(api, elector, writeTimeoutMs(lease.durationMs));
  const writing = loopApi(leading, pause.paused);
  const events = createEventSink({
    api: writing,
    clock,
    random,
    log,
    component: names.controller,
    host: parts.host,
    onDropped: (why) => metrics.eventsDropped.add({ why }),
  });
  const budget = createBudget(options, elector, clock);
  const shared: NetworkContext = {
    readApi: api,
    api: writing,
    fence: elector,
    clock,
    random,
    log,
    nodes,
    resolver,
    events,
    registry,
    shipped,
    queueMetrics: metrics.queue,
    leadership: elector,
    budget,
    loops: options.loops,
    pageSize: parts.pageSize,
    paused: pause.paused,
  };
  const network = createNetwork(shared, options.network);
  const volumes = createLabelledVolumes(shared);
  const context: NodeContext = {
    api: writing,
    clock,
    random,
    log: log.with({ controller: loopNames.node }),
    nodes,
    reports,
    resolver,
    events,
    metrics: registry.define(nodeMetrics),
    paused: pause.paused,
    pausedNode: pause.pausedNode,
    routesEnabled: network.routesEnabled,
    tagLabels,
  };
  const task = createNodeTask(context, {
    ...options,
    budget,
    lifecycleLog: log.with({ controller: loopNames.lifecycle }),
    deleting: network.deleting,
    queueMetrics: metrics.queue,
  });
  const leaderTask = runAll([task, ...network.tasks, ...volumes.tasks]);

  async function run(stop: AbortSignal): Promise<void> {
    nodes.start();
    network.start();
    volumes.start();
    pause.start();
    await leadership.run(stop);
    await events.stop();
    // Each write has a deadline well within the lease.
    await leading.settled();
    await elector.release();
    await Promise.all([nodes.stop(), network.stop(), volumes.stop(), pause.stop()]);
    leadership.assertUnfailed();
  }

  return {
    elector,
    nodes,
    context,
    task,
    leading,
    shipped,
    ready: [
      { name: 'nodes-synced', check: () => (nodes.synced ? undefined : 'the cache of Nodes is not filled yet') },
      { name: 'config-synced', check: () => (pause.synced() ? undefined : 'the ConfigMap has not been read yet') },
      { name: 'clouds', check: () => undefined, note: () => noteOf(clouds) },
      ...network.ready,
      ...volumes.ready,
    ],
    caches: new Map<string, { stalenessMs(): number | undefined }>([
      ['nodes', nodes],
      ['configmaps', pause],
      ...network.caches,
      ...(volumes.cache === undefined ? [] : ([['persistentvolumes', volumes.cache]] as const)),
    ]),
    progress: () => leaderTask.progress(),
    run,
  };
}

/** One for all kinds: they share the annotation of the Lease. */
function createBudget(
  { deletionBudget, announcedDeletionBudget, network }: ReplicaOptions,
  elector: Elector,
  clock: Clock,
) {
  const { removalBudget } = network;
  return createBudgetKeeper(deletionBudget, elector, clock, {
    announced: announcedDeletionBudget,
    member: removalBudget,
    route: removalBudget,
    orphan: removalBudget,
    tag: removalBudget,
  });
}

/** Which clouds are report-only for want of a credential. Readable without credentials: the log has the reason. */
function noteOf(clouds: readonly ConfiguredCloud[]): string | undefined {
  const without = clouds.filter(({ reportOnly }) => reportOnly !== undefined).map(({ name }) => name);
  return without.length === 0 ? undefined : `report-only without a credential: ${without.join(', ')}`;
}
