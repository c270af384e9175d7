import { createLog, silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry, type MetricRegistry } from '../../../common/process/metrics.ts';
import { seededRandom } from '../../../common/process/random.ts';
import type { Report, ReportedInstance } from '../../../common/report.ts';
import { advanceDuring, type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { metricValue } from '../../../common/testing/metric-value.ts';
import { createSimulatedCloud as openSimulated } from '../../../controller/clouds/simulated/simulated-cloud.ts';
import type { EventTarget, KubeEvent } from '../../../controller/kube/event-sink.ts';
import { createListWatch, type ListWatch } from '../../../controller/kube/list-watch.ts';
import { type MemoryLease, memoryLeadership, memoryLease } from '../../../controller/kube/testing/memory-leadership.ts';
import { createBudgetKeeper } from '../../../controller/model/budget-keeper.ts';
import type { ConfiguredCloud } from '../../../controller/model/configured-cloud.ts';
import { type Budget, parseBudget } from '../../../controller/model/deletion-budget.ts';
import { type NodeView, viewNode } from '../../../controller/model/node-view.ts';
import { reportScope } from '../../../controller/model/scope-record.ts';
import { parseSelector } from '../../../controller/model/selector.ts';
import { createLookupBatcher } from '../../../controller/nodes/lookup-batcher.ts';
import { nodeMetrics } from '../../../controller/nodes/metrics.ts';
import type { NodeContext } from '../../../controller/nodes/node-context.ts';
import { createNodeTask, type NodeTask, type NodeTaskOptions } from '../../../controller/nodes/node-task.ts';
import type { Judgement } from '../../../controller/reports/attestation/verdict.ts';
import { createReportStore, type ReportStore } from '../../../controller/reports/store.ts';
import { createSimulatedCloud, type SimulatedCloud } from '../../kit/cloud/cloud.ts';
import { inProcessHttp } from '../../kit/cloud/in-process.ts';
import type { SimulatedInstance } from '../../kit/cloud/instance.ts';
import { createKubeApiCore, type KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import { type Cluster, createCluster } from './cluster.ts';
import { type InProcessKube, inProcessKube } from './kube-in-process.ts';

export interface CloudSpec {
  /** The region this configuration reaches. Default `sim-1`. */
  readonly region?: string;
  readonly project?: string;
  readonly selector?: string;
  /** A cloud without an API of its own here: its name. */
  readonly reportOnly?: string;
  readonly requireAttestation?: boolean;
  /** As older versions recorded it. Default: none. */
  readonly formerScopes?: readonly string[];
  /** It does not tell its account: why. Default: it does. */
  readonly unidentified?: string;
  /** As `--bind-by-name`. Default: no. */
  readonly bindsByName?: boolean;
  /** A cloud that the test has opened itself. */
  readonly opened?: ConfiguredCloud;
}

export interface WorldOptions {
  readonly seed?: number;
  /** Default: one simulated cloud in region sim-1. */
  readonly clouds?: readonly CloudSpec[];
  readonly budget?: string;
  /** Default 50%/10m. */
  readonly announcedBudget?: string;
  readonly task?: Partial<NodeTaskOptions>;
  readonly geography?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  readonly logLevel?: 'debug';
  /** Default: no routes. */
  readonly routesEnabled?: (scope: string, node: NodeView) => boolean;
  readonly tagLabels?: NodeContext['tagLabels'];
}

export interface EmittedEvent extends KubeEvent {
  readonly node: string;
}

/** One controller process, as far as Nodes go. */
export interface Replica {
  /** What its node task works with. */
  readonly context: NodeContext;
  readonly kube: InProcessKube;
  readonly task: NodeTask;
  readonly nodes: ListWatch<NodeView>;
  readonly reports: ReportStore;
  readonly events: EmittedEvent[];
  readonly registry: MetricRegistry;
  paused: boolean;
  /** How far its own wall clock is ahead of everybody else's. */
  wallAheadMs: number;
  /** Kept from deletion by a person. */
  readonly pausedNodes: Set<string>;
  /** Begins to lead. Resolves when synced and the first work is under way. */
  start(): Promise<void>;
  /** Ends the term, the process stays. */
  stopLeading(): Promise<void>;
  /** Ends the process. */
  stop(): Promise<void>;
  /** A report as the report API would keep it. */
  report(nodeName: string, changes?: Partial<Report>, judgement?: Judgement): void;
  /** A report of this VM with its evidence, which was verified. */
  attest(nodeName: string, vm: SimulatedInstance): void;
  gauge(metric: string, labels?: string): Promise<number>;
}

export interface World {
  readonly clock: FakeClock;
  readonly core: KubeApiCore;
  readonly cluster: Cluster;
  readonly cloud: SimulatedCloud;
  readonly scope: string;
  /** Every call to the cluster and the clouds by any replica, one line each. */
  readonly trace: string[];
  /** What stands in the annotations of the Lease. */
  readonly lease: MemoryLease;
  replica(): Replica;
  /** Calls of the cloud's API so far. */
  cloudCalls(): number;
  /** A VM, and a Node tainted as its kubelet registers it. */
  join(name: string, spec?: Parameters<SimulatedCloud['model']['create']>[0]): SimulatedInstance;
  /** The whole way until it is initialised. */
  close(): Promise<void>;
}

export const endpoint = 'http://cloud';

export function providerID(vm: { readonly region: string; readonly id: string }): string {
  return `simulated://${vm.region}/${vm.id}`;
}

/** What a VM's agent reads from its metadata service. */
export function reportedOf(vm: SimulatedInstance): ReportedInstance {
  return {
    cloud: 'simulated',
    id: vm.id,
    providerID: providerID(vm),
    incarnation: vm.incarnation,
    name: vm.name,
    zone: vm.zone,
    region: vm.region,
    type: vm.type,
    addresses: vm.interfaces.flatMap(({ internal, external }) => [
      ...internal.map((address) => ({ type: 'InternalIP' as const, address })),
      ...external.map((address) => ({ type: 'ExternalIP' as const, address })),
    ]),
  };
}

function mustBudget(text: string): Budget {
  const budget = parseBudget(text);
  if ('expected' in budget) throw new Error(budget.expected);
  return budget;
}

export function createWorld(options: WorldOptions = {}): World {
  const clock = fakeClock(undefined, 2);
  const random = seededRandom(options.seed ?? 1);
  const core = createKubeApiCore({ clock, random, historyLimit: 100_000 });
  const cluster = createCluster(core, clock);
  const cloud = createSimulatedCloud({ clock, random, ...(options.geography && { projects: options.geography }) });
  const trace: string[] = [];
  const lease = memoryLease();
  const replicas: Replica[] = [];
  const specs = options.clouds ?? [{}];
  const firstProject = [...cloud.model.places.values()][0]!.project;

  function at(): string {
    return (clock.monotonic() / 1000).toFixed(3);
  }

  function open(spec: CloudSpec): ConfiguredCloud {
    const { region = 'sim-1', project = 'demo', selector, reportOnly, requireAttestation, bindsByName = false } = spec;
    const { formerScopes, unidentified, opened } = spec;
    if (opened !== undefined) return opened;
    const credential = project === firstProject ? cloud.credential : `credential-${project}`;
    if (project !== firstProject) cloud.credentials.set(credential, project);
    if (unidentified !== undefined) {
      const accepts = (id: string) => id.startsWith('simulated://');
      const unknown = { scope: reportScope('simulated'), accepts, unidentified: { why: unidentified } };
      return { name: 'simulated', ...unknown, selector: undefined, api: undefined };
    }
    const chosen = selector === undefined ? undefined : parseSelector(selector);
    if (reportOnly !== undefined) {
      const accepts = (id: string) => id.startsWith(`${reportOnly}://`);
      const scope = reportScope(reportOnly);
      return { name: reportOnly, scope, accepts, selector: chosen, requireAttestation, api: undefined };
    }
    const api = openSimulated({
      config: { endpoint, project, region, credential: { text: credential } },
      context: {
        clock,
        random,
        log: silentLog,
        env: {},
        onCall: ({ operation, code }) => trace.push(`${at()} cloud ${region} ${operation} ${code}`),
      },
      http: inProcessHttp(cloud.api, clock),
      credential: async () => credential,
    });
    const accepts = (id: string) => api.accepts(id);
    const claim = { selector: chosen, requireAttestation, bindsByName };
    const { scope, account } = api;
    return { name: 'simulated', scope, account, formerScopes, accepts, ...claim, api };
  }

  function replica(): Replica {
    const kube = inProcessKube(core, clock, ({ verb, path, body }) =>
      trace.push(`${at()} kube ${verb} ${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`),
    );
    const registry = createMetricRegistry();
    const reports = createReportStore(clock);
    const events: EmittedEvent[] = [];
    const nodes = createListWatch<NodeView>({
      api: kube,
      path: '/api/v1/nodes',
      trim: viewNode,
      pageSize: 500,
      clock,
      random,
      log: silentLog,
    });
    const configured = specs.map(open);
    const lookups = new Map(
      configured.flatMap(({ api, scope }) =>
        api ? [[scope, createLookupBatcher({ cloud: api, clock, tagLabels: options.tagLabels })] as const] : [],
      ),
    );
    const leadership = memoryLeadership(lease, {
      onWrite: (changes) => trace.push(`${at()} lease ${JSON.stringify(changes)}`),
    });
    let sequence = 0;
    let leading: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
    const log =
      options.logLevel === undefined
        ? silentLog
        : createLog({ clock, level: options.logLevel, format: 'text', write: (line) => process.stderr.write(line) });
    const context = {
      api: kube,
      clock: {
        now: () => clock.now() + self.wallAheadMs,
        monotonic: () => clock.monotonic(),
        uptime: () => clock.uptime(),
        setTimer: (ms: number, run: () => void) => clock.setTimer(ms, run),
      },
      random,
      log,
      nodes,
      reports,
      resolver: { configured, lookupsOf: (scope: string) => lookups.get(scope) },
      events: {
        emit: (target: EventTarget, event: KubeEvent) => {
          events.push({ node: target.name, ...event });
        },
      },
      metrics: registry.define(nodeMetrics),
      paused: () => self.paused,
      pausedNode: (name: string) => self.pausedNodes.has(name),
      routesEnabled: options.routesEnabled,
      tagLabels: options.tagLabels,
    };
    const task = createNodeTask(context, {
      budget: createBudgetKeeper(mustBudget(options.budget ?? '10%/10m'), leadership, clock, {
        announced: mustBudget(options.announcedBudget ?? '50%/10m'),
      }),
      concurrentNodeSyncs: 16,
      monitorPeriodMs: 5000,
      statusUpdateMs: 300_000,
      outOfServiceTaint: false,
      interruptionTaint: false,
      loops: { node: true, lifecycle: true },
      ...options.task,
    });
    const self: Replica = {
      context,
      kube,
      task,
      nodes,
      reports,
      events,
      registry,
      paused: false,
      wallAheadMs: 0,
      pausedNodes: new Set(),
      async start() {
        nodes.start();
        const stop = new AbortController();
        leading = { stop, done: task.lead(stop.signal) };
        await clock.advance(0);
      },
      async stopLeading() {
        const { stop, done } = leading ?? {};
        stop?.abort();
        leading = undefined;
        // Work under way may wait for the cloud or for its drain; only the clock lets it end.
        if (done) await advanceDuring(clock, done, 250);
      },
      async stop() {
        await self.stopLeading();
        await nodes.stop();
      },
      attest(nodeName, vm) {
        const { id, incarnation, zone, region } = vm;
        const instance = { assurance: 'psat+fresh', cloud: 'simulated', id, incarnation, zone, region } as const;
        const attestation = { instance, agentId: `agent-${nodeName}`, atMs: clock.monotonic() };
        self.report(nodeName, { instance: reportedOf(vm) }, { attestation });
      },
      report(nodeName, changes = {}, judgement) {
        const nodeUid = cluster.mustNode(nodeName).metadata.uid;
        sequence += 1;
        reports.put(
          { nodeName, nodeUid, podUid: `pod-${nodeName}`, credentialId: `credential-${nodeName}` },
          {
            version: 1,
            agentVersion: '0.0.0',
            agentId: `agent-${nodeName}`,
            sequence,
            observedAt: new Date(clock.now()).toISOString(),
            metadata: { ok: true, ageSeconds: 0, failures: 0 },
            ...changes,
          },
          judgement,
        );
      },
      gauge: (metric, labels) => metricValue(registry, metric, labels),
    };
    replicas.push(self);
    return self;
  }

  return {
    clock,
    core,
    cluster,
    cloud,
    scope: `${endpoint}/demo/sim-1`,
    trace,
    lease,
    replica,
    cloudCalls: () => cloud.calls.total(),
    join(name, spec = {}) {
      const vm = cloud.model.create({ name, ...spec });
      cluster.register(name, { systemUuid: vm.smbiosUuid ?? '' });
      return vm;
    },
    async close() {
      for (const each of replicas) await each.stop();
      cloud.close();
    },
  };
}
