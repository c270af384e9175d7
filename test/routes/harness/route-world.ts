import type { Http } from '../../../common/process/http.ts';
import { createLog, silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry } from '../../../common/process/metrics.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring } from '../../../common/testing/fake-clock.ts';
import { metricValue } from '../../../common/testing/metric-value.ts';
import { annotations, conditions } from '../../../common/well-known.ts';
import type { Permit } from '../../../controller/clouds/permit.ts';
import type { Routes } from '../../../controller/clouds/routes.ts';
import { createSimulatedCloud as openSimulated } from '../../../controller/clouds/simulated/simulated-cloud.ts';
import type { KubeApi } from '../../../controller/kube/api.ts';
import { isMutating } from '../../../controller/kube/fence.ts';
import { createShippedObjects, shippedObjectsIn } from '../../../controller/kube/shipped-objects.ts';
import { memoryLeadership } from '../../../controller/kube/testing/memory-leadership.ts';
import { createBudgetKeeper } from '../../../controller/model/budget-keeper.ts';
import { parseClusterCidrs } from '../../../controller/model/cluster-cidrs.ts';
import type { ConfiguredCloud } from '../../../controller/model/configured-cloud.ts';
import { parseBudget } from '../../../controller/model/deletion-budget.ts';
import type { RouteBounds } from '../../../controller/model/route-bounds.ts';
import { createLookupBatcher } from '../../../controller/nodes/lookup-batcher.ts';
import { routeMetrics } from '../../../controller/routes/metrics.ts';
import type { RouteContext } from '../../../controller/routes/route-context.ts';
import { createRouteTask, type RouteTask } from '../../../controller/routes/route-task.ts';
import { createPermit } from '../../../controller/runtime/leader-permit.ts';
import { inProcessHttp } from '../../kit/cloud/in-process.ts';
import type { SimulatedInstance } from '../../kit/cloud/instance.ts';
import type { SimulatedRoute } from '../../kit/cloud/route-model.ts';
import { admin } from '../../kit/kube-api/auth/user.ts';
import { shipObject } from '../../nodes/harness/shipped-objects.ts';
import {
  createWorld,
  endpoint,
  providerID,
  type Replica,
  type World,
  type WorldOptions,
} from '../../nodes/harness/world.ts';

export interface BoundsOptions {
  /** Default `10.244.0.0/16,fd00:10::/48`. */
  readonly clusterCidr?: string;
  /** Default: not known. */
  readonly serviceCidr?: string;
  readonly masks?: RouteBounds['masks'];
}

export interface RouteWorldOptions extends WorldOptions, BoundsOptions {
  readonly enabled?: boolean;
  readonly concurrentRoutes?: number;
  /** Runs the node task too; otherwise Nodes are registered as an initialised cluster has them. */
  readonly nodeTask?: boolean;
  /** Wraps the cloud's routes, to make them like another cloud's. */
  readonly like?: (routes: Routes) => Routes;
}

export interface RouteReplica {
  readonly base: Replica;
  readonly task: RouteTask;
  readonly logged: string[];
  start(): Promise<void>;
  stopLeading(): Promise<void>;
  stop(): Promise<void>;
  /** Changes of the Kubernetes API by this replica. */
  writes(): string[];
  fenced: boolean;
  /**
   * Ends the process at its nth change (1 = the first) of the cloud or of Kubernetes: before it is sent, or after it
   * took effect and before the answer.
   */
  crashAt: { readonly change: number; readonly when: 'before' | 'after' } | undefined;
  readonly crashed: boolean;
  /** Changes sent so far. */
  changes(): number;
  metric(name: string, labels?: string): Promise<number>;
}

export interface RouteWorld extends World {
  /** @param flags what its flags say otherwise */
  routeReplica(flags?: BoundsOptions): RouteReplica;
  /** A VM and its initialised Node. */
  add(
    name: string,
    podCIDRs: readonly string[],
    changes?: { readonly ready?: 'True' | 'False' | 'Unknown' },
  ): SimulatedInstance;
  /** Nodes `n0`, `n1` ... with `10.244.0.0/24`, `10.244.1.0/24` ... */
  addMany(count: number): SimulatedInstance[];
  /** The first Nodes of `addMany` are deleted, and their VMs stay. */
  removeMany(count: number): void;
  /** Every route goes from the table by a foreign change. */
  loseRoutes(): void;
  setPodCIDRs(name: string, podCIDRs: readonly string[]): void;
  routes(): SimulatedRoute[];
  /** Of all routes, sorted. */
  destinations(): string[];
  /** `destination -> node name`, sorted. */
  table(): string[];
  /** A route that is not the controller's. */
  foreignRoute(destination: string, vm: SimulatedInstance): SimulatedRoute;
  network(name: string): string | undefined;
  /** Mutating calls of the cloud so far. */
  mutations(): number;
  reads(): number;
  /** The data of a ConfigMap in our namespace. */
  configMap(name: string): Record<string, string> | undefined;
}

function boundsOf({ clusterCidr = '10.244.0.0/16,fd00:10::/48', serviceCidr = '', masks = {} }: BoundsOptions) {
  const [clusterCidrs, serviceCidrs] = [clusterCidr, serviceCidr].map(parseClusterCidrs);
  if (!clusterCidrs || !serviceCidrs || 'expected' in clusterCidrs || 'expected' in serviceCidrs)
    throw new Error('bad ranges');
  return { clusterCidrs, serviceCidrs, masks };
}

/** A cloud that cannot tag routes. */
export function untagged(routes: Routes): Routes {
  return {
    tagged: false,
    async observe(cluster, signal) {
      const table = await routes.observe(cluster, signal);
      return { ...table, routes: table.routes.map((route) => ({ ...route, ours: undefined })) };
    },
    create: async (route, options) => ({ ...(await routes.create(route, options)), ours: undefined }),
    remove: (route, options) => routes.remove(route, options),
  };
}

export const place = 'demo/sim-1';
export const clusterUid = 'cluster-uid';

export function createRouteWorld(options: RouteWorldOptions = {}): RouteWorld {
  const { like = (routes) => routes, nodeTask = false, ...rest } = options;
  let leading: RouteTask | undefined;
  const world = createWorld({
    ...rest,
    task: { ...rest.task, ...(nodeTask ? {} : { loops: { node: false, lifecycle: false } }) },
    ...(nodeTask ? { routesEnabled: (scope, node) => leading?.routesEnabled(scope, node) ?? false } : {}),
  });
  const { clock, cluster, cloud, lease, trace } = world;
  shipObject(world.core, shippedObjectsIn('kube-system').routeRecords);
  const random = seededRandom(options.seed ?? 1);
  const budget = parseBudget(options.budget ?? '10%/10m');
  if ('expected' in budget) throw new Error('bad options');
  const limit = budget;
  const replicas: RouteReplica[] = [];

  function open(through: <T>(mutating: boolean, send: () => Promise<T>) => Promise<T>): ConfiguredCloud {
    const wire = inProcessHttp(cloud.api, clock);
    const http: Http = (request) => through((request.method ?? 'GET') !== 'GET', () => wire(request));
    const api = openSimulated({
      config: { endpoint, project: 'demo', region: 'sim-1', credential: { text: cloud.credential } },
      context: {
        clock,
        random,
        log: silentLog,
        env: {},
        onCall: ({ operation, code }) => trace.push(`${clock.monotonic() / 1000} cloud ${operation} ${code}`),
      },
      http,
      credential: async () => cloud.credential,
    });
    const own = api.routes;
    if (!own) throw new Error('the simulated cloud has no routes');
    const routed = { ...api, routes: like(own) };
    return { name: 'simulated', scope: api.scope, accepts: (id) => api.accepts(id), selector: undefined, api: routed };
  }

  function routeReplica(flags: BoundsOptions = {}): RouteReplica {
    const base = world.replica();
    const registry = createMetricRegistry();
    const logged: string[] = [];
    let changes = 0;
    let crashed = false;
    const never = () => new Promise<never>(() => {});

    /** Everything that leaves the process goes through here; of a process that ended nothing does. */
    async function through<T>(mutating: boolean, send: () => Promise<T>): Promise<T> {
      if (crashed) return never();
      if (!mutating) return send();
      changes += 1;
      const hit = self.crashAt?.change === changes ? self.crashAt.when : undefined;
      if (hit === 'before') {
        crashed = true;
        return never();
      }
      const answer = send();
      if (hit === 'after') {
        await answer.catch(() => {});
        crashed = true;
      }
      const got = await answer;
      return crashed ? never() : got;
    }

    const api: KubeApi = {
      call: (call) => through(isMutating(call), () => base.kube.call(call)),
      watch: (call) => base.kube.watch(call),
    };
    const configured = [open(through)];
    const lookups = createLookupBatcher({ cloud: configured[0]!.api!, clock });
    const leadership = memoryLeadership(lease, { timeLeftMs: () => (self.fenced ? 0 : 15_000) });
    const context: RouteContext = {
      api,
      clock,
      random,
      log: createLog({ clock, level: 'info', format: 'text', write: (line) => logged.push(line.trimEnd()) }),
      nodes: base.nodes,
      resolver: { configured, lookupsOf: () => lookups },
      events: {
        emit: (target, event) => void base.events.push({ ...event, node: target.name }),
      },
      metrics: registry.define(routeMetrics),
      shipped: createShippedObjects('kube-system'),
      paused: () => base.paused,
      permit: (paused: () => boolean = () => false): Permit =>
        createPermit({ fence: leadership, paused: () => base.paused || paused() }),
      clusterUid: async () => clusterUid,
    };
    const task = createRouteTask(context, {
      bounds: boundsOf({ ...options, ...flags }),
      enabled: options.enabled ?? true,
      auditMs: 300_000,
      budget: createBudgetKeeper(limit, leadership, clock),
      ...(options.concurrentRoutes === undefined ? {} : { concurrentRoutes: options.concurrentRoutes }),
    });
    let term: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
    const self: RouteReplica = {
      base,
      task,
      logged,
      fenced: false,
      crashAt: undefined,
      get crashed() {
        return crashed;
      },
      changes: () => changes,
      async start() {
        leading = task;
        const stop = new AbortController();
        term = { stop, done: task.lead(stop.signal) };
        await base.start();
      },
      async stopLeading() {
        const { stop, done } = term ?? {};
        stop?.abort();
        term = undefined;
        if (done) await advanceDuring(clock, done, 250);
        await base.stopLeading();
      },
      async stop() {
        if (!crashed) await self.stopLeading();
        else await base.stopLeading();
        await base.stop();
      },
      writes: () => base.kube.calls.filter(isMutating).map(({ verb, path }) => `${verb} ${path}`),
      metric: (name, labels) => metricValue(registry, name, labels),
    };
    replicas.push(self);
    return self;
  }

  function setPodCIDRs(name: string, podCIDRs: readonly string[]): void {
    cluster.mergePatch(name, { spec: { podCIDR: podCIDRs[0], podCIDRs } });
  }

  function routes(): SimulatedRoute[] {
    return [...cloud.network.routes.store.inPlace(place)];
  }

  const add: RouteWorld['add'] = (name, podCIDRs, { ready = 'True' } = {}) => {
    const vm = cloud.model.create({ name });
    const internal = vm.interfaces.flatMap((each) => each.internal);
    cluster.register(name, {
      tainted: false,
      ready,
      providerID: providerID(vm),
      annotations: { [annotations.instance]: `${world.scope} ${vm.incarnation}` },
      addresses: internal.map((address) => ({ type: 'InternalIP', address })),
    });
    if (podCIDRs.length > 0) setPodCIDRs(name, podCIDRs);
    return vm;
  };

  const calls = (operation: string) => cloud.calls.total(operation);
  return {
    ...world,
    routeReplica,
    add,
    addMany: (count) => Array.from({ length: count }, (_, at) => add(`n${at}`, [`10.244.${at}.0/24`])),
    removeMany(count) {
      for (let at = 0; at < count; at += 1) cluster.remove(`n${at}`);
    },
    loseRoutes() {
      for (const { id } of routes()) cloud.network.routes.delete(id);
    },
    setPodCIDRs,
    routes,
    destinations: () =>
      routes()
        .map(({ destination }) => destination)
        .sort(),
    table: () =>
      routes()
        .map(({ destination, instanceId }) => `${destination} -> ${cloud.model.get(instanceId)?.name ?? '?'}`)
        .sort(),
    foreignRoute: (destination, vm) =>
      cloud.network.routes.create(place, {
        destination,
        instanceId: vm.id,
        description: 'of others',
        tags: {},
        clientToken: undefined,
      }).route,
    network(name) {
      const shown = cluster.condition(name, conditions.networkUnavailable);
      return shown && `${shown.status} ${shown.reason}`;
    },
    mutations: () => calls('routes.create') + calls('routes.delete'),
    reads: () => calls('routes.list') + calls('routes.get'),
    configMap(name) {
      const answer = world.core.handle({
        method: 'GET',
        path: `/api/v1/namespaces/kube-system/configmaps/${name}`,
        query: new URLSearchParams(),
        headers: { accept: 'application/json' },
        body: undefined,
        user: admin,
      });
      if (answer.watch !== undefined || answer.status !== 200) return undefined;
      return (JSON.parse(answer.body) as { data?: Record<string, string> }).data;
    },
    async close() {
      for (const each of replicas) await each.stop();
      await world.close();
    },
  };
}
