import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { silentLog } from '../common/process/log.ts';
import { createMetricRegistry } from '../common/process/metrics.ts';
import { annotations, conditions, labels } from '../common/well-known.ts';
import { ownerTags } from '../controller/clouds/load-balancers.ts';
import { memoizedCidrParser } from '../controller/model/cidr.ts';
import { parseClusterCidrs } from '../controller/model/cluster-cidrs.ts';
import { instanceOf } from '../controller/model/instance-claims.ts';
import { nodesOfScope } from '../controller/routes/route-context.ts';
import { planRoutes } from '../controller/routes/route-planner.ts';
import { createMemberSets } from '../controller/services/members/member-sets.ts';
import { memberMetrics } from '../controller/services/members/metrics.ts';
import type { SimulatedInstance } from '../test/kit/cloud/instance.ts';
import { adminClient } from '../test/kit/kube-api/testing/admin-client.ts';
import { providerID, reportedOf } from '../test/nodes/harness/world.ts';
import { clusterUid, createRouteWorld, place, type RouteReplica } from '../test/routes/harness/route-world.ts';

/** What one size costs. Processor time is of this process, the servers' share of a step included. */
export interface ManyNodesResult {
  readonly nodes: number;
  /** A leader starts, lists all Nodes, reads all instances and the route table, and plans. */
  readonly takeoverMs: number;
  /** The same again, by the next leader. */
  readonly passMs: number;
  /** One Node joins a region in which everything else is as desired, until it is initialised and has its route. */
  readonly joinMs: number;
  /** The members of 500 Services, 250 each. */
  readonly membersMs: number;
  /** One plan of the routes of all Nodes, which each change of a Node asks for. */
  readonly planMs: number;
  /** What the leader holds, after a collection of garbage. */
  readonly heldMiB: number;
  /** Patches and calls that change something: none is needed but those of the join. */
  readonly changes: number;
}

const clusterCidr = 'fd00:10::/32';
const services = 500;
const maxMembers = 250;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heldMiB(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

/** @returns milliseconds of processor time */
async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function measure(count: number): Promise<ManyNodesResult> {
  const world = createRouteWorld({ nodeTask: true, clusterCidr });
  const { clock, cloud, core } = world;
  const ask = adminClient(core, 'bench');
  const rangeOf = (at: number) => `fd00:10:${(at >> 16).toString(16)}:${(at & 0xffff).toString(16)}::/64`;
  const stamp = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime: stamp,
    lastHeartbeatTime: stamp,
  });

  /** A Node as an earlier leader left it, with its route. */
  function initialised(vm: SimulatedInstance, at: number): void {
    const podCIDRs = [rangeOf(at)];
    ask('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: vm.name,
        labels: {
          'kubernetes.io/hostname': vm.name,
          [labels.zone]: vm.zone,
          [labels.region]: vm.region,
          [labels.instanceType]: vm.type,
        },
        annotations: { [annotations.instance]: `${world.scope} ${vm.incarnation}` },
      },
      spec: { providerID: providerID(vm), podCIDR: podCIDRs[0], podCIDRs },
      status: {
        addresses: [
          ...reportedOf(vm).addresses,
          { type: 'Hostname', address: vm.name },
          { type: 'InternalDNS', address: `${vm.name}.${vm.zone}.simulated.internal` },
        ],
        nodeInfo: { systemUUID: vm.smbiosUuid ?? '' },
        conditions: [
          condition('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'),
          condition(conditions.cloudInitialized, 'True', 'Initialized', 'up to date with the cloud'),
          condition(conditions.networkUnavailable, 'False', 'RouteCreated', 'RouteController created a route'),
        ],
      },
    });
    cloud.network.routes.create(place, {
      destination: podCIDRs[0]!,
      instanceId: vm.id,
      description: '',
      clientToken: undefined,
      tags: { [ownerTags.cluster]: clusterUid },
    });
  }

  const mutating = (replica: RouteReplica) => replica.writes().length + world.mutations();
  const routesBefore = world.mutations();
  cloud.model.createMany(count, { name: 'n' }).forEach(initialised);

  const empty = heldMiB();
  const first = world.routeReplica();
  const takeoverMs = await costOf(async () => {
    await first.start();
    await clock.advance(5000);
  });
  const held = heldMiB() - empty;
  let changes = mutating(first) - routesBefore;
  await first.stop();

  const next = world.routeReplica();
  const passMs = await costOf(async () => {
    await next.start();
    await clock.advance(5000);
  });
  changes += next.writes().length;

  const { nodes, context } = next.base;
  const sets = createMemberSets({
    nodes,
    clouds: context.resolver.configured,
    clock,
    log: silentLog,
    paused: () => false,
    metrics: createMetricRegistry().define(memberMetrics),
    budget: { take: async () => 0 },
    liveNodes: async () => nodes.values(),
  });
  const membersMs = await costOf(() => {
    sets.start();
    for (let at = 0; at < services; at += 1)
      sets.membersFor({
        scope: world.scope,
        service: `service-${at}`,
        trafficPolicy: 'Cluster',
        observed: undefined,
        maxMembers,
        drains: true,
      });
  });
  sets.stop();

  const clusterCidrs = parseClusterCidrs(clusterCidr);
  if ('expected' in clusterCidrs) throw new Error(clusterCidrs.expected);
  const table = await context.resolver.configured[0]!.api!.routes!.observe(clusterUid);
  const parse = memoizedCidrParser();
  const plan = () =>
    planRoutes({
      cluster: clusterUid,
      bounds: { clusterCidrs, serviceCidrs: [], masks: {} },
      vmAddresses: [],
      table,
      parse,
      ...nodesOfScope(nodes.values(), context.resolver.configured, world.scope),
      instanceOf: (id) => instanceOf('simulated', id),
      recorded: () => false,
      mayReplaceBlackhole: () => false,
    });
  if (plan().keep.length !== count) throw new Error('the plan does not keep every route');
  const planMs = await costOf(plan);

  const joinMs = await costOf(async () => {
    const vm = world.join('joiner');
    world.setPodCIDRs(vm.name, [rangeOf(count)]);
    await clock.advance(5000);
  });
  if (world.network('joiner') !== 'False RouteCreated') throw new Error(`joiner: ${world.network('joiner')}`);
  await world.close();
  return { nodes: count, takeoverMs, passMs, joinMs, membersMs, planMs, heldMiB: held, changes };
}

process.once('disconnect', () => process.exit(0));
process.send?.(await measure(Number(process.argv[2])));
