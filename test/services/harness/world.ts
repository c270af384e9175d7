import { createLog, silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry, type MetricRegistry } from '../../../common/process/metrics.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { metricValue } from '../../../common/testing/metric-value.ts';
import type { LoadBalancers } from '../../../controller/clouds/load-balancers.ts';
import type { KubeApi, KubeCall } from '../../../controller/kube/api.ts';
import type { EventTarget, KubeEvent } from '../../../controller/kube/event-sink.ts';
import { fencedApi } from '../../../controller/kube/fence.ts';
import { createListWatch } from '../../../controller/kube/list-watch.ts';
import { memoryLeadership, memoryLease } from '../../../controller/kube/testing/memory-leadership.ts';
import { loopApi } from '../../../controller/kube/write-api.ts';
import { createBudgetKeeper } from '../../../controller/model/budget-keeper.ts';
import type { ConfiguredCloud } from '../../../controller/model/configured-cloud.ts';
import { type NodeView, viewNode } from '../../../controller/model/node-view.ts';
import type { ServiceView } from '../../../controller/model/service-view.ts';
import { createLookupBatcher } from '../../../controller/nodes/lookup-batcher.ts';
import { createVisibilityCheck } from '../../../controller/services/credential-visibility.ts';
import { createMemberSets } from '../../../controller/services/members/member-sets.ts';
import { withMembers } from '../../../controller/services/members/member-task.ts';
import { memberMetrics } from '../../../controller/services/members/metrics.ts';
import { serviceMetrics } from '../../../controller/services/metrics.ts';
import { strictPolicy } from '../../../controller/services/operator-policy.ts';
import { createPodSource } from '../../../controller/services/pods/pod-source.ts';
import { serviceViewFor } from '../../../controller/services/service-context.ts';
import {
  createServiceTask,
  type ServiceTask,
  type ServiceTaskOptions,
} from '../../../controller/services/service-task.ts';
import { servingClouds } from '../../../controller/services/serving-cloud.ts';
import { openSimulated } from '../../clouds/simulated/open.ts';
import { createSimulatedCloud, type SimulatedCloud } from '../../kit/cloud/cloud.ts';
import { inProcessHttp } from '../../kit/cloud/in-process.ts';
import type { SimulatedInstance } from '../../kit/cloud/instance.ts';
import type { SimulatedLoadBalancer } from '../../kit/cloud/load-balancer.ts';
import { createKubeApiCore, type KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import { type Cluster, createCluster } from '../../nodes/harness/cluster.ts';
import { type InProcessKube, inProcessKube } from '../../nodes/harness/kube-in-process.ts';
import { createLife, type Death, type Life } from './mortal.ts';
import { type ServiceBook, serviceBook } from './service-book.ts';

export interface WorldOptions {
  readonly seed?: number;
  /** Regions that are configured. Default: sim-1. */
  readonly regions?: readonly string[];
  readonly task?: Partial<ServiceTaskOptions>;
  readonly provisioningMs?: number;
  readonly deletingMs?: number;
  /** The embedded API is single stack: every Service is shown with these families instead. */
  readonly families?: readonly string[];
  readonly logLevel?: 'debug';
  /** Another cloud than the simulated one, for each process. Its Nodes and VMs are of whoever asks for it. */
  readonly configured?: (life: Life, clock: FakeClock) => ConfiguredCloud;
  /** What stands between the controller and the load balancers of the cloud. */
  readonly through?: (loadBalancers: LoadBalancers) => LoadBalancers;
}

export interface EmittedEvent extends KubeEvent {
  readonly service: string;
}

export interface ReplicaOptions {
  readonly death?: Death;
  readonly task?: Partial<ServiceTaskOptions>;
}

/** One controller process, as far as Services go. */
export interface Replica {
  readonly kube: InProcessKube;
  readonly task: ServiceTask;
  readonly events: EmittedEvent[];
  readonly registry: MetricRegistry;
  readonly life: Life;
  readonly logged: string[];
  paused: boolean;
  /** Lease time left, milliseconds. */
  leaseMs: number;
  start(): Promise<void>;
  /** Ends the term, the process stays. */
  stopLeading(): Promise<void>;
  /** Of the cache of EndpointSlices. */
  slicesStaleMs(): number | undefined;
  stop(): Promise<void>;
  gauge(metric: string, labels?: string): Promise<number>;
  reasons(service: string): string[];
  /** The text of the last event about it. */
  lastEvent(service: string): string | undefined;
}

export interface World {
  readonly clock: FakeClock;
  readonly core: KubeApiCore;
  readonly cluster: Cluster;
  readonly services: ServiceBook;
  readonly cloud: SimulatedCloud;
  /** Of the first region. */
  readonly scope: string;
  readonly clusterUid: string;
  replica(options?: ReplicaOptions): Replica;
  /** How long a credential takes, from now on: a call is held back for so long before it is sent. */
  holdCalls(ms: number): void;
  /** An initialised Node with its VM. */
  node(name: string): SimulatedInstance;
  loadBalancers(): readonly SimulatedLoadBalancer[];
  loadBalancerOf(service: string): SimulatedLoadBalancer | undefined;
  /** Calls of the cloud's API that change something, so far, by operation. */
  mutations(): Readonly<Record<string, number>>;
  mutationCount(): number;
  readCount(): number;
  close(): Promise<void>;
}

/** The same API with these families on every Service it shows. */
function withFamilies(inner: KubeApi, ipFamilies: readonly string[]): KubeApi {
  function shown(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    if ('items' in value && Array.isArray(value.items)) return { ...value, items: value.items.map(shown) };
    if (!('spec' in value) || typeof value.spec !== 'object' || value.spec === null || !('clusterIP' in value.spec))
      return value;
    return { ...value, spec: { ...value.spec, ipFamilies } };
  }
  return {
    call: async <T>(call: KubeCall) => shown(await inner.call(call)) as T,
    watch: (call) =>
      inner.watch({ ...call, onEvent: ({ type, object }) => call.onEvent({ type, object: shown(object) }) }),
  };
}

const endpoint = 'http://cloud';
const readOperations = /\.(list|get|find|lookup)$/;

export function createWorld(options: WorldOptions = {}): World {
  const clock = fakeClock(undefined, 2);
  const random = seededRandom(options.seed ?? 1);
  const core = createKubeApiCore({ clock, random, historyLimit: 100_000 });
  const cluster = createCluster(core, clock);
  const { provisioningMs = 0, deletingMs = 0 } = options;
  const cloud = createSimulatedCloud({ clock, random, loadBalancerTimings: { provisioningMs, deletingMs } });
  const services = serviceBook(core);
  const regions = options.regions ?? ['sim-1'];
  const clusterUid = 'cluster-1';
  const replicas: Replica[] = [];
  const lease = memoryLease();
  const held = { credentialMs: 0 };

  function open(region: string, life: Life): ConfiguredCloud {
    const api = openSimulated({
      config: { endpoint, project: 'demo', region, credential: { text: cloud.credential } },
      context: { clock, random, log: silentLog, env: {}, onCall: () => {} },
      http: life.http(inProcessHttp(cloud.api, clock)),
      async credential() {
        if (held.credentialMs > 0) await new Promise<void>((resolve) => clock.setTimer(held.credentialMs, resolve));
        return cloud.credential;
      },
    });
    const { loadBalancers } = api;
    const through = loadBalancers && options.through?.(loadBalancers);
    return {
      name: 'simulated',
      scope: api.scope,
      accepts: (id) => api.accepts(id),
      selector: undefined,
      api: through === undefined ? api : { ...api, loadBalancers: through },
    };
  }

  function replica({ death, task: changes }: ReplicaOptions = {}): Replica {
    const life = createLife(death);
    const kube = inProcessKube(core, clock);
    const api = life.kube(options.families === undefined ? kube : withFamilies(kube, options.families));
    const registry = createMetricRegistry();
    const events: EmittedEvent[] = [];
    const logged: string[] = [];
    const log = createLog({
      clock,
      level: 'debug',
      format: 'text',
      write: (line) => {
        logged.push(line);
        if (options.logLevel) process.stderr.write(line);
      },
    });
    const configured = options.configured
      ? [options.configured(life, clock)]
      : regions.map((region) => open(region, life));
    const clouds = servingClouds(configured);
    const lookups = new Map(
      configured.flatMap(({ api, scope }) =>
        api ? [[scope, createLookupBatcher({ cloud: api, clock })] as const] : [],
      ),
    );
    const fence = { timeLeftMs: () => (life.dead ? 0 : self.leaseMs) };
    const common = { clock, random, log: silentLog };
    const nodes = createListWatch<NodeView>({ api, path: '/api/v1/nodes', trim: (raw) => viewNode(raw), ...common });
    const cache = createListWatch<ServiceView>({
      api,
      path: '/api/v1/services',
      trim: serviceViewFor(clouds),
      ...common,
    });
    const sets = createMemberSets({
      nodes,
      clouds: configured,
      clock,
      log,
      metrics: registry.define(memberMetrics),
      budget: createBudgetKeeper({ limit: { share: 1 }, windowMs: 600_000 }, memoryLeadership(lease, fence), clock),
      liveNodes: async () => nodes.values(),
      paused: () => self.paused,
    });
    const pods = createPodSource({ api, ...common });
    const task = createServiceTask(
      {
        api: loopApi(fencedApi(api, fence), () => self.paused),
        fence,
        clock,
        random,
        log,
        services: cache,
        clouds,
        members: sets,
        pods,
        checkVisibility: createVisibilityCheck({
          nodes,
          resolver: { configured, lookupsOf: (scope) => lookups.get(scope) },
          clock,
        }),
        events: {
          emit: (target: EventTarget, event: KubeEvent) => {
            if (!life.dead) events.push({ service: target.name, ...event });
          },
        },
        metrics: registry.define(serviceMetrics),
        paused: () => self.paused,
      },
      {
        clusterUid: async () => clusterUid,
        clusterName: 'blue',
        loadBalancerClasses: [],
        policy: { ...strictPolicy, retain: [{ to: 'all' }] },
        concurrentServiceSyncs: 32,
        auditMs: 600_000,
        ...options.task,
        ...changes,
      },
    );
    const led = withMembers(task, sets, nodes);
    let leading: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
    const self: Replica = {
      kube,
      task,
      events,
      registry,
      life,
      logged,
      paused: false,
      leaseMs: 15_000,
      async start() {
        nodes.start();
        cache.start();
        const stop = new AbortController();
        leading = { stop, done: led.lead(stop.signal) };
        await clock.advance(0);
      },
      async stopLeading() {
        const { stop, done } = leading ?? {};
        stop?.abort();
        leading = undefined;
        if (done && !life.dead) await advanceDuring(clock, done, 250);
        else await clock.advance(0);
      },
      async stop() {
        await self.stopLeading();
        life.end();
        void nodes.stop();
        void cache.stop();
        void pods.stop();
      },
      gauge: (metric, labels) => metricValue(registry, metric, labels),
      slicesStaleMs: pods.stalenessMs,
      lastEvent: (service) => events.findLast((event) => event.service === service)?.message,
      reasons: (service) => events.filter((event) => event.service === service).map(({ reason }) => reason),
    };
    replicas.push(self);
    return self;
  }

  function counts(which: (operation: string) => boolean): Record<string, number> {
    const found: Record<string, number> = {};
    for (const [operation, codes] of Object.entries(cloud.calls.snapshot())) {
      if (which(operation)) found[operation] = Object.values(codes).reduce((sum, each) => sum + each, 0);
    }
    return found;
  }
  const total = (found: Record<string, number>) => Object.values(found).reduce((sum, each) => sum + each, 0);

  return {
    clock,
    core,
    cluster,
    services,
    cloud,
    scope: `${endpoint}/demo/${regions[0]}`,
    clusterUid,
    holdCalls(ms) {
      held.credentialMs = ms;
    },
    replica,
    node(name) {
      const vm = cloud.model.create({ name, region: regions[0]! });
      const [first] = vm.interfaces;
      cluster.register(name, {
        tainted: false,
        providerID: `simulated://${vm.region}/${vm.id}`,
        labels: { 'topology.kubernetes.io/zone': vm.zone },
        annotations: { 'mooring.dev/instance': `${endpoint}/demo/${vm.region} ${vm.incarnation}` },
        addresses: (first?.internal ?? []).map((address) => ({ type: 'InternalIP', address })),
      });
      return vm;
    },
    loadBalancers: () => [...cloud.network.loadBalancers.store.all()],
    loadBalancerOf(service) {
      const uid = services.get(service)?.metadata.uid ?? service;
      return [...cloud.network.loadBalancers.store.all()].find(({ tags }) => tags['mooring.dev/service-uid'] === uid);
    },
    mutations: () => counts((operation) => !readOperations.test(operation)),
    mutationCount: () => total(counts((operation) => !readOperations.test(operation))),
    readCount: () => total(counts((operation) => readOperations.test(operation))),
    async close() {
      for (const each of replicas) await each.stop();
      cloud.close();
    },
  };
}
