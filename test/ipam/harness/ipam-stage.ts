import { afterEach } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry } from '../../../common/process/metrics.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring } from '../../../common/testing/fake-clock.ts';
import { metricValue } from '../../../common/testing/metric-value.ts';
import { parseCloudRangeOptions, parseRangeOptions } from '../../../controller/ipam/ipam-options.ts';
import { createIpamTask } from '../../../controller/ipam/ipam-task.ts';
import { ipamMetrics } from '../../../controller/ipam/metrics.ts';
import type { KubeCall } from '../../../controller/kube/api.ts';
import { withholdingApi } from '../../../controller/kube/fence.ts';
import { createWorld, type Replica, type World, type WorldOptions } from '../../nodes/harness/world.ts';

/** A replica with the node IPAM task. */
export interface IpamReplica {
  readonly base: Replica;
  start(): Promise<void>;
  stop(): Promise<void>;
  metric(name: string, labels?: string): Promise<number>;
  /** `reason node` of each event. */
  reasons(): readonly string[];
  /** What goes wrong with its calls. */
  fault: ((call: KubeCall, send: () => Promise<unknown>) => Promise<unknown>) | undefined;
}

export interface IpamStage {
  readonly world: World;
  readonly replica: IpamReplica;
  /** Another one with the same ranges. */
  another(): IpamReplica;
  /** Of one Node. */
  ranges(name: string): readonly string[];
  /** `name range ...` of all Nodes. */
  all(): string[];
  /** Registers a Node that needs no initialisation any more. */
  initialised(name: string, podCIDRs?: readonly string[]): void;
  /** Also done after the test. Safe to repeat. */
  close(): Promise<void>;
}

export interface StageOptions {
  /** As `--cidr-allocator-type`. Default: RangeAllocator. */
  readonly allocator?: 'RangeAllocator' | 'CloudAllocator';
  readonly world?: WorldOptions;
}

function replicaIn(world: World, clusterCidr: string, services: string, { allocator }: StageOptions): IpamReplica {
  const parse = allocator === 'CloudAllocator' ? parseCloudRangeOptions : parseRangeOptions;
  const options = parse({
    clusterCidr,
    serviceClusterIpRange: services,
    nodeCidrMaskSize: 0,
    nodeCidrMaskSizeIpv4: 24,
    nodeCidrMaskSizeIpv6: 64,
  });
  if ('flag' in options) throw new Error(options.expected);
  const base = world.replica();
  const registry = createMetricRegistry();
  const api = {
    ...base.kube,
    call: <T>(call: KubeCall) =>
      (self.fault ? self.fault(call, () => base.kube.call(call)) : base.kube.call(call)) as Promise<T>,
    watch: base.kube.watch,
  };
  const task = createIpamTask(
    {
      api: withholdingApi(api, { allowed: () => (base.paused ? 'paused' : true) }),
      clock: world.clock,
      random: seededRandom(1),
      log: silentLog,
      nodes: base.nodes,
      resolver: base.context.resolver,
      events: { emit: (target, event) => void base.events.push({ ...event, node: target.name }) },
      metrics: registry.define(ipamMetrics),
      paused: () => base.paused,
    },
    options,
  );
  let term: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  const self: IpamReplica = {
    base,
    fault: undefined,
    async start() {
      const stop = new AbortController();
      term = { stop, done: task.lead(stop.signal) };
      base.nodes.start();
      await world.clock.advance(0);
    },
    async stop() {
      const { stop, done } = term ?? {};
      term = undefined;
      stop?.abort();
      if (done) await advanceDuring(world.clock, done, 250);
      await base.stop();
    },
    reasons: () => base.events.map(({ node, reason }) => `${reason} ${node}`),
    metric: (name, labels) => metricValue(registry, name, labels),
  };
  return self;
}

/** Called where the suite is described; the answer sets the stage, which is closed after the test. */
export function ipamStage(stageOptions: StageOptions = {}): (clusterCidr?: string, services?: string) => IpamStage {
  const stages: IpamStage[] = [];
  afterEach(async () => {
    for (const stage of stages.splice(0)) await stage.close();
  });
  return (clusterCidr = '10.244.0.0/16', services = '') => {
    const world = createWorld(stageOptions.world);
    const replicas: IpamReplica[] = [];
    let closed = false;
    const another = () => {
      const replica = replicaIn(world, clusterCidr, services, stageOptions);
      replicas.push(replica);
      return replica;
    };
    const ranges = (name: string) => {
      const spec = world.cluster.node(name)?.spec as { podCIDR?: string; podCIDRs?: readonly string[] } | undefined;
      return spec?.podCIDRs ?? (spec?.podCIDR === undefined ? [] : [spec.podCIDR]);
    };
    const stage: IpamStage = {
      world,
      replica: another(),
      another,
      ranges,
      all: () => world.cluster.names().map((name) => `${name} ${ranges(name).join(' ')}`),
      initialised(name, podCIDRs = []) {
        world.cluster.register(name, { tainted: false, providerID: `simulated://sim-1/i-${name}` });
        if (podCIDRs.length > 0) world.cluster.mergePatch(name, { spec: { podCIDR: podCIDRs[0], podCIDRs } });
      },
      async close() {
        if (closed) return;
        closed = true;
        for (const replica of replicas) await replica.stop();
        await world.close();
      },
    };
    stages.push(stage);
    return stage;
  };
}
