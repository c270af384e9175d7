import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../common/process/clock.ts';
import type { HealthCheck } from '../common/process/health.ts';
import { errorFields, type Log } from '../common/process/log.ts';
import { createMetricRegistry } from '../common/process/metrics.ts';
import type { Random } from '../common/process/random.ts';
import { untilAborted } from '../common/process/until.ts';
import { version } from '../common/version.ts';
import { annotations, names } from '../common/well-known.ts';
import { connectTo } from './connect.ts';
import { together } from './half.ts';
import { createLookups, type Lookups } from './instances/lookups.ts';
import { createKubeClient } from './kube/client.ts';
import { createElector } from './kube/elector.ts';
import { createEventSink } from './kube/events.ts';
import { createInterner } from './kube/intern.ts';
import { createListWatch, type ListWatch } from './kube/list-watch.ts';
import { createSoleLeader } from './kube/sole-leader.ts';
import { createNetwork } from './network.ts';
import { createBudgetKeeper } from './nodes/budget-keeper.ts';
import { nodeMetrics } from './nodes/metrics.ts';
import { createNodeHalf } from './nodes/node-half.ts';
import { unreadOfNode, viewNode } from './nodes/node-view.ts';
import { openClouds } from './open-clouds.ts';
import { type Loops, loopNames } from './options/loops.ts';
import type { RunOptions } from './options/run-options.ts';
import { watchPause } from './pause.ts';
import { createProcessMetrics } from './process-metrics.ts';
import { createReportStore } from './reports/store.ts';
import { serveReports } from './serve-reports.ts';
import { serveSecurely } from './serve-securely.ts';
import { leaderApi, loopApi, unwritten, writeTimeoutMs } from './write-api.ts';

export interface RunDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts on SIGTERM: drain, release the lease, end. */
  readonly stop: AbortSignal;
}

/** A loop that has not come round for this long, though nothing it waits for takes so long, is stuck. */
const stuckMs = 120_000;

/**
 * Runs one replica until `stop` aborts. Resolves when everything has drained and the lease is free. Throws an OptionError or CloudConfigError for a configuration it cannot work with, and what the kubeconfig's
 * reader throws.
 */
export async function runController(options: RunOptions, { clock, random, log, env, stop }: RunDeps): Promise<void> {
  const registry = createMetricRegistry();
  const metrics = createProcessMetrics(registry);
  metrics.buildInfo.set({ version }, 1);
  const connection = await connectTo(options.kubeconfig, { clock, log, env });
  const mutationTimeoutMs = writeTimeoutMs(options.lease.durationMs);
  const clouds = await openClouds(options.clouds, {
    clock,
    random,
    log,
    env,
    mutationTimeoutMs,
    onCall: metrics.onCloudCall,
  });
  const client = createKubeClient({ config: connection, clock, log, onCall: metrics.onApiCall });
  const identity = `${hostname()}_${randomUUID()}`;

  const intern = createInterner();
  const nodes = createListWatch({
    api: client.api,
    path: '/api/v1/nodes',
    trim: (raw) => viewNode(raw, intern),
    unread: unreadOfNode,
    clock,
    random,
    log,
  });
  const pause = watchPause({ api: client.api, clock, random, log });
  const reports = createReportStore(clock);
  const lookupsByScope = new Map<string, Lookups>();
  for (const { scope, api } of clouds) if (api) lookupsByScope.set(scope, createLookups({ cloud: api, clock }));

  let terms: Promise<void> = Promise.resolve();
  let failure: unknown;
  const ending = new AbortController();
  if (stop.aborted) ending.abort();
  stop.addEventListener('abort', () => ending.abort(), { once: true });
  const electionOptions = {
    api: client.api,
    clock,
    random,
    log,
    identity,
    namespace: options.lease.namespace,
    name: options.lease.name,
    leaseDurationMs: options.lease.durationMs,
    renewDeadlineMs: options.lease.renewDeadlineMs,
    retryPeriodMs: options.lease.retryPeriodMs,
    annotations: { [annotations.reportUrl]: options.reportUrl },
    onStartedLeading(signal: AbortSignal) {
      service?.wake();
      terms = pause
        .whenSynced()
        .then(() => leaderHalf.lead(signal))
        .catch((error: unknown) => {
          if (signal.aborted) return;
          // A leader that does nothing keeps every other from acting: better to make way and be started anew.
          log.error('leading failed', errorFields(error));
          failure ??= error;
          ending.abort();
        });
    },
    onStoppedLeading: () => terms,
    metrics: {
      leading: (value: boolean) => metrics.leading.set({ name: options.lease.name }, value ? 1 : 0),
      slowPath: () => metrics.slowPath.add({ name: options.lease.name }),
    },
  };
  const elector = options.lease.elect ? createElector(electionOptions) : createSoleLeader(electionOptions);

  const leading = leaderApi(client.api, elector, mutationTimeoutMs);
  const writing = loopApi(leading, pause.paused, options.dryRun, log);
  const events = createEventSink({
    api: writing,
    clock,
    random,
    log,
    component: names.controller,
    host: hostname(),
    onDropped: (why) => metrics.eventsDropped.add({ why }),
  });
  const resolver = { configured: clouds, lookupsOf: (scope: string) => lookupsByScope.get(scope) };
  const ledger = options.dryRun ? unwritten(elector) : elector;
  const { removalBudget } = options.network;
  // One for all: they share the annotation of the Lease.
  const budget = createBudgetKeeper(options.deletionBudget, ledger, clock, {
    member: removalBudget,
    route: removalBudget,
    orphan: removalBudget,
  });
  const network = createNetwork(
    {
      readApi: client.api,
      api: writing,
      fence: elector,
      clock,
      random,
      log,
      nodes,
      resolver,
      events,
      registry,
      queueMetrics: metrics.queue,
      leadership: ledger,
      budget,
      loops: options.loops,
      dryRun: options.dryRun,
      paused: pause.paused,
    },
    options.network,
  );
  const context = {
    api: writing,
    clock,
    random,
    log,
    nodes,
    reports,
    resolver,
    events,
    metrics: registry.define(nodeMetrics),
    paused: pause.paused,
    routesRun: network.routesRun,
  };
  const half = createNodeHalf(context, {
    budget,
    concurrentNodeSyncs: options.concurrentNodeSyncs,
    monitorPeriodMs: options.monitorPeriodMs,
    statusUpdateMs: options.statusUpdateMs,
    outOfServiceTaint: options.outOfServiceTaint,
    interruptionTaint: options.interruptionTaint,
    loops: options.loops,
    deleting: network.deleting,
    queueMetrics: metrics.queue,
  });
  const leaderHalf = together([half, ...network.halves]);
  // The report API writes its certificates and who the replicas are, which a dry run must not.
  const service = options.dryRun
    ? undefined
    : serveReports(
        context,
        { api: client.api, fencedApi: leading, leadership: elector, nodes, half, registry },
        { ...options.reports, url: options.reportUrl, identity },
      );
  if (options.dryRun) log.info('dry run: nothing but the Lease is written, and no reports are taken');

  const live: HealthCheck[] = [
    {
      name: 'loops',
      check() {
        for (const [loop, at] of leaderHalf.progress()) {
          const age = clock.monotonic() - at;
          if (age > stuckMs) return `${loop} has not come round for ${Math.round(age / 1000)} s`;
        }
        return undefined;
      },
    },
  ];
  const ready: HealthCheck[] = [
    { name: 'nodes-synced', check: () => (nodes.synced ? undefined : 'the cache of Nodes is not filled yet') },
    { name: 'config-synced', check: () => (pause.synced() ? undefined : 'the ConfigMap has not been read yet') },
    ...network.ready,
  ];
  metrics.reportApi.collect(() =>
    metrics.reportApi.set(service !== undefined && service.problem() === undefined ? 1 : 0),
  );
  metrics.loopAge.collect(() => {
    for (const [loop, at] of leaderHalf.progress()) metrics.loopAge.set({ loop }, (clock.monotonic() - at) / 1000);
    metrics.cacheAge.set({ resource: 'nodes' }, nodes.stalenessMs() / 1000);
  });
  for (const [loop, name] of Object.entries(loopNames)) {
    const runs = options.loops[loop as keyof Loops];
    metrics.loops.set({ name, manager: 'cloud-controller-manager' }, runs ? 1 : 0);
  }
  const secure = await serveSecurely(options.secure, {
    api: client.api,
    clock,
    log,
    live,
    ready,
    registry,
    configz: () => options.shown,
  });

  log.info('started', { version, identity, clouds: clouds.map(({ scope }) => scope) });
  nodes.start();
  network.start();
  pause.start();
  const electing = elector.run(ending.signal);
  await untilAborted(ending.signal);
  log.info('stopping: draining, then releasing the lease');
  await electing;
  await terms;
  await events.stop();
  // Each has a deadline well within the lease.
  await leading.settled();
  await elector.release();
  await Promise.all([service?.stop(), nodes.stop(), network.stop(), pause.stop(), secure?.close()]);
  for (const { api } of clouds) api?.close();
  client.close();
  log.info('stopped');
  if (failure !== undefined) throw failure;
}

export type NodeListWatch = ListWatch<ReturnType<typeof viewNode>>;
