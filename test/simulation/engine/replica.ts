import { createLog, silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry } from '../../../common/process/metrics.ts';
import type { Report } from '../../../common/report.ts';
import { annotations, names } from '../../../common/well-known.ts';
import { createSimulatedCloud as openSimulated } from '../../../controller/clouds/simulated/simulated-cloud.ts';
import { together } from '../../../controller/half.ts';
import { createLookups } from '../../../controller/instances/lookups.ts';
import type { KubeApi } from '../../../controller/kube/api.ts';
import { createElector, type Elector } from '../../../controller/kube/elector.ts';
import { createEventSink } from '../../../controller/kube/events.ts';
import { createListWatch, type ListWatch } from '../../../controller/kube/list-watch.ts';
import { createNetwork } from '../../../controller/network.ts';
import { createBudgetKeeper } from '../../../controller/nodes/budget-keeper.ts';
import type { ConfiguredCloud } from '../../../controller/nodes/configured-cloud.ts';
import { type Budget, parseBudget } from '../../../controller/nodes/deletion-budget.ts';
import { nodeMetrics } from '../../../controller/nodes/metrics.ts';
import { createNodeHalf } from '../../../controller/nodes/node-half.ts';
import { type NodeView, viewNode } from '../../../controller/nodes/node-view.ts';
import { reportScope } from '../../../controller/nodes/scope-record.ts';
import type { NetworkOptions } from '../../../controller/options/network-options.ts';
import { watchPause } from '../../../controller/pause.ts';
import { createReportStore, type Sender } from '../../../controller/reports/store.ts';
import { parseClusterCidrs } from '../../../controller/routes/cluster-cidrs.ts';
import { leaderApi, loopApi, writeTimeoutMs } from '../../../controller/write-api.ts';
import type { SimulatedCloud } from '../../sandbox/cloud/cloud.ts';
import { cloudHttp } from '../wires/cloud-wire.ts';
import { kubeWire } from '../wires/kube-wire.ts';
import type { Wire } from '../wires/wire.ts';
import type { Scenario } from './scenario.ts';

export const endpoint = 'http://cloud';
export const leaseDurationMs = 15_000;

/** One process of the controller, put together as `run.ts` does, with the world where its sockets are. */
export interface Replica {
  readonly identity: string;
  readonly wire: Wire;
  readonly elector: Elector;
  readonly nodes: ListWatch<NodeView>;
  /** What the report API does with a report whose token proved this sender. */
  takeReport(sender: Sender, report: Report): 'kept' | 'stale' | 'refused';
  /** Loops by name, and when each came round last. */
  progress(): ReadonlyMap<string, number>;
  /** SIGTERM: drains, then releases the lease. Resolves when it is done. */
  stop(): Promise<void>;
  /** Why it ended by itself; undefined while it runs. */
  failure(): unknown;
}

export function startReplica(wire: Wire, cloud: SimulatedCloud, scenario: Scenario, log = silentLog): Replica {
  const { clock } = wire;
  const { random } = wire.dice;
  const { identity } = wire.process;
  const api: KubeApi = kubeWire(wire);
  const registry = createMetricRegistry();
  const configured = scenario.clouds.map((spec) => openCloud(spec));
  const nodes = createListWatch<NodeView>({
    api,
    path: '/api/v1/nodes',
    trim: viewNode,
    pageSize: scenario.pageSize,
    clock,
    random,
    log,
  });
  const pause = watchPause({ api, clock, random, log });
  const reports = createReportStore(clock);
  const lookups = new Map(
    configured.flatMap(({ api: opened, scope }) =>
      opened ? [[scope, createLookups({ cloud: opened, clock })] as const] : [],
    ),
  );
  let terms: Promise<void> = Promise.resolve();
  let failure: unknown;
  const ending = new AbortController();
  const elector = createElector({
    api,
    clock,
    random,
    log,
    identity,
    namespace: names.namespace,
    name: names.lease,
    leaseDurationMs,
    annotations: { [annotations.reportUrl]: `https://${identity}` },
    onStartedLeading(signal) {
      terms = pause
        .whenSynced()
        .then(() => half.lead(signal))
        .catch((error: unknown) => {
          if (signal.aborted) return;
          failure ??= error;
          ending.abort();
        });
    },
    onStoppedLeading: () => terms,
  });
  const leading = leaderApi(api, elector, writeTimeoutMs(leaseDurationMs));
  const writing = loopApi(leading, pause.paused, false, log);
  const events = createEventSink({ api: writing, clock, random, log, component: names.controller, host: identity });
  const budget = createBudgetKeeper(mustBudget(scenario.budget), elector, clock);
  const resolver = { configured, lookupsOf: (scope: string) => lookups.get(scope) };
  const network = createNetwork(
    {
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
      queueMetrics: { added() {}, depth() {}, waited() {}, worked() {}, retried() {} },
      leadership: elector,
      budget: createBudgetKeeper(mustBudget(scenario.removalBudget), elector, clock),
      loops: { node: true, lifecycle: true, service: true, route: true, ipam: false },
      dryRun: false,
      paused: pause.paused,
    },
    networkOptions(scenario),
  );
  const nodeContext = {
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
  const nodeHalf = createNodeHalf(nodeContext, {
    budget,
    concurrentNodeSyncs: 16,
    monitorPeriodMs: 5000,
    statusUpdateMs: 60_000,
    outOfServiceTaint: scenario.outOfServiceTaint,
    interruptionTaint: scenario.interruptionTaint,
    loops: { node: true, lifecycle: true },
    deleting: network.deleting,
  });
  const half = together([nodeHalf, ...network.halves]);

  nodes.start();
  network.start();
  pause.start();
  const electing = elector.run(ending.signal);

  function openCloud({ region, reportOnly }: Scenario['clouds'][number]): ConfiguredCloud {
    if (reportOnly !== undefined) {
      const accepts = (id: string) => id.startsWith(`${reportOnly}://`);
      return { name: reportOnly, scope: reportScope(reportOnly), accepts, selector: undefined, api: undefined };
    }
    const opened = openSimulated({
      config: { endpoint, project: 'demo', region, credential: { text: cloud.credential } },
      context: {
        clock,
        random,
        log,
        env: {},
        mutationTimeoutMs: writeTimeoutMs(leaseDurationMs),
        onCall: () => {},
      },
      http: cloudHttp(wire, cloud),
      credential: async () => cloud.credential,
    });
    return {
      name: 'simulated',
      scope: opened.scope,
      accepts: (id) => opened.accepts(id),
      selector: undefined,
      api: opened,
    };
  }

  return {
    identity,
    wire,
    elector,
    nodes,
    progress: () => half.progress(),
    failure: () => failure,
    takeReport(sender, report) {
      // As the report API proves a sender: its token was issued to this very Node, which must still be there.
      if (!nodes.synced || nodes.get(sender.nodeName)?.uid !== sender.nodeUid) return 'refused';
      return reports.put(sender, report);
    },
    async stop() {
      ending.abort();
      await electing;
      await terms;
      await events.stop();
      await leading.settled();
      await elector.release();
      await Promise.all([nodes.stop(), network.stop(), pause.stop()]);
      for (const { api: opened } of configured) opened?.close();
    },
  };
}

/** Where the pods of all Nodes are. */
export const clusterCidr = '10.244.0.0/16';

function networkOptions(scenario: Scenario): NetworkOptions {
  const clusterCidrs = parseClusterCidrs(clusterCidr);
  if ('expected' in clusterCidrs) throw new Error(clusterCidrs.expected);
  return {
    clusterName: 'simulated',
    loadBalancerClasses: [],
    attachable: [],
    clusterCidrs,
    routes: true,
    concurrentServiceSyncs: 10,
    drainMs: scenario.drainMs,
    removalBudget: mustBudget(scenario.removalBudget),
    loadBalancerAuditMs: 60_000,
    deleteOrphans: false,
    routeAuditMs: 60_000,
    concurrentRoutes: 32,
    ipam: undefined,
  };
}

function mustBudget(text: string): Budget {
  const budget = parseBudget(text);
  if ('expected' in budget) throw new Error(`${text}: expected ${budget.expected}`);
  return budget;
}

/** For a readable trace: what the process itself says. */
export function traceLog(wire: Wire, trace: (line: string) => void) {
  return createLog({
    clock: wire.clock,
    level: 'debug',
    format: 'text',
    write: (line) => trace(`${wire.process.identity}  log ${line.slice(25).trimEnd()}`),
  });
}
