import type { Cloud, CloudCall, InstanceRef } from '../../../controller/clouds/cloud.ts';
import type {
  DesiredLoadBalancer,
  LoadBalancerPlan,
  LoadBalancerRef,
  LoadBalancers,
  ObservedLoadBalancer,
} from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, memberOf, newOwner, port } from './desired.ts';
import type { CloudVm, CloudWorld } from './world.ts';

/** A cloud under test that tells of every call of its clients. */
export interface CountedWorld {
  readonly world: CloudWorld;
  /** All calls that the clients have reported so far; grows. */
  readonly calls: readonly CloudCall[];
}

export interface Size {
  readonly nodes: number;
  /** TCP ports of each Service. */
  readonly ports: number;
  readonly services: number;
}

/** What one thing that the controller does costs. */
export interface OperationCost {
  readonly what: OperationName;
  /** Without waits. */
  readonly calls: number;
  /** Repeated questions whether something is done: how many depends on how long the cloud takes. */
  readonly waits: number;
  /** All of them by the cloud's own word for the call, in the order of first use. */
  readonly byOperation: ReadonlyMap<string, number>;
}

export type OperationName =
  | 'first ensure'
  | 'first ensure, each further Service'
  | 'nothing changed, all Services'
  | 'one node more, one Service'
  | RemovalName
  | `${RemovalName}: proof that nothing is left`
  | 'check of all nodes'
  | 'route table read'
  | 'route made'
  | 'route removed';

type RemovalName = 'deletion' | 'deletion, each further Service';

const isRead = /^GET |\.(get|list)$|^Describe|^list/i;
const isWait = /\(poll\)$|Operations\.wait$|^GET \/actions$|^queryAsyncJobResult$|^GetJobStatus$/;
/** Only a load balancer itself shows there whether it is active. */
const showsState = 'GET /v2/load_balancers/{id}';
const permit = () => {};
const maxRounds = 200;
/** A read is no ground for a deletion after this time. */
const longAgoMs = 61_000;
/** The same leader all the time. */
const term = new AbortController().signal;

/** Does each thing once, as the controller does it, with a client that has nothing left to learn about its account. */
export async function countOperations({ world, calls }: CountedWorld, size: Size): Promise<OperationCost[]> {
  const costs: OperationCost[] = [];
  const cloud = await world.open();

  async function counted<T>(what: OperationName, run: () => Promise<T>): Promise<T> {
    const from = calls.length;
    const result = await run();
    costs.push(costOf(what, calls.slice(from)));
    return result;
  }
  async function countedRemoval(what: RemovalName, run: () => Promise<void>): Promise<void> {
    const from = calls.length;
    await run();
    const made = calls.slice(from);
    const lastChange = made.findLastIndex(({ operation }) => !isRead.test(operation) && !isWait.test(operation));
    const after = made.slice(lastChange + 1);
    const isPolled = ({ operation }: CloudCall) => isWait.test(operation);
    costs.push(costOf(what, [...made.slice(0, lastChange + 1), ...after.filter(isPolled)]));
    costs.push(
      costOf(
        `${what}: proof that nothing is left`,
        after.filter((call) => !isPolled(call)),
      ),
    );
  }

  const vms: CloudVm[] = [];
  for (let made = 0; made <= size.nodes; made += 1) vms.push(await world.createVm());
  const spare = vms.pop()!;
  await warmUp(cloud, world, [...vms, spare]);
  if (cloud.loadBalancers)
    await countBalancers(cloud.loadBalancers, { world, size, vms, spare, counted, countedRemoval });
  const refs = vms.map(({ providerID }): InstanceRef => ({ by: 'providerID', providerID }));
  await counted('check of all nodes', () => world.during(cloud.instances.lookup(refs)));
  if (cloud.routes) {
    const { routes } = cloud;
    const [vm] = vms as [CloudVm];
    await counted('route table read', () => world.during(routes.observe(world.cluster)));
    const desired = { cluster: world.cluster, node: vm.name, nodeUid: 'uid', destination: '10.200.1.0/24', ...vm };
    const made = await counted('route made', () => world.during(routes.create(desired, { permit })));
    await counted('route removed', () => world.during(routes.remove(made, { permit })));
  }
  return costs;
}

function costOf(what: OperationName, calls: readonly CloudCall[]): OperationCost {
  const byOperation = new Map<string, number>();
  for (const { operation } of calls) byOperation.set(operation, (byOperation.get(operation) ?? 0) + 1);
  const waitsOf = ([operation, times]: [string, number]) =>
    isWait.test(operation) ? times : operation === showsState ? times - 1 : 0;
  const waits = [...byOperation].reduce((sum, one) => sum + waitsOf(one), 0);
  return { what, calls: calls.length - waits, waits, byOperation };
}

/** Tokens, clusters, subnets and what else a process learns once. */
async function warmUp(
  cloud: Pick<Cloud, 'instances' | 'loadBalancers' | 'routes'>,
  world: CloudWorld,
  vms: readonly CloudVm[],
): Promise<void> {
  const { cluster } = world;
  if (cloud.loadBalancers) await world.during(cloud.loadBalancers.observeAll(cluster, term));
  // A Node is looked up before it is a member.
  const refs = vms.map(({ providerID }): InstanceRef => ({ by: 'providerID', providerID }));
  await world.during(cloud.instances.lookup(refs));
  if (cloud.routes) await world.during(cloud.routes.observe(cluster));
}

interface BalancerParts {
  readonly world: CloudWorld;
  readonly size: Size;
  readonly vms: readonly CloudVm[];
  readonly spare: CloudVm;
  counted<T>(what: OperationName, run: () => Promise<T>): Promise<T>;
  countedRemoval(what: RemovalName, run: () => Promise<void>): Promise<void>;
}

/** The controller's memory of a Service: its load balancer and notes, as its record has them. */
type Records = Map<string, Pick<ObservedLoadBalancer, 'id' | 'notes'>>;

async function countBalancers(balancers: LoadBalancers, parts: BalancerParts): Promise<void> {
  const { world, size, vms, spare, counted, countedRemoval } = parts;
  const ports = Array.from({ length: size.ports }, (_, index) => port(80 + index, 30_080 + index));
  const all = Array.from({ length: size.services }, () => desiredFor(newOwner(world.cluster), vms, { ports }));
  const [first, second, ...others] = all as [DesiredLoadBalancer, ...DesiredLoadBalancer[]];
  const records: Records = new Map();
  const context = { balancers, world, records };
  await counted('first ensure', () => ensure(context, first));
  // What a process learns with the first load balancer of all is known from then on.
  if (second) await counted('first ensure, each further Service', () => ensure(context, second));
  for (const desired of others) await ensure(context, desired);
  await counted('nothing changed, all Services', async () => {
    await world.during(balancers.observeAll(world.cluster, term));
    for (const desired of all) {
      const { steps } = balancers.plan(desired);
      if (steps.length > 0) throw new Error(`something is to be changed though nothing is: ${steps[0]?.summary}`);
    }
  });
  const grown = { ...first, members: [...vms, spare].map((vm) => memberOf(vm)) };
  await counted('one node more, one Service', () => ensure(context, grown));
  await countedRemoval('deletion', () => remove(context, first));
  if (second) await countedRemoval('deletion, each further Service', () => remove(context, second));
  for (const desired of others) await remove(context, desired);
}

interface Context {
  readonly balancers: LoadBalancers;
  readonly world: CloudWorld;
  readonly records: Records;
}

/** From what is known: the controller asks only where it has to. */
const ensure = (context: Context, desired: DesiredLoadBalancer) =>
  settle(context, desired, false, () => context.balancers.plan(desired));

/** Long after the last read, so that the engine reads again before it deletes. The Service goes after a last read. */
async function remove(context: Context, desired: DesiredLoadBalancer): Promise<void> {
  const { balancers, world } = context;
  await world.pass(longAgoMs);
  const plan = () => balancers.planRemoval(desired.owner, { retain: false });
  const { isRead } = await settle(context, desired, true, plan);
  const left = isRead ? undefined : await world.during(balancers.observe(refOf(context, desired, true)));
  if (left?.owner) throw new Error('it is there after it was removed');
}

function refOf({ records }: Context, desired: DesiredLoadBalancer, removing: boolean): LoadBalancerRef {
  const { owner, name, service } = desired;
  const { id, notes } = records.get(owner.service) ?? {};
  return { owner, name, service, id, notes, attachTo: undefined, removing };
}

/** `isRead`: the last that was done is a read, and it shows nothing of this Service. */
async function settle(
  context: Context,
  desired: DesiredLoadBalancer,
  removing: boolean,
  planFor: () => LoadBalancerPlan,
): Promise<{ readonly isRead: boolean }> {
  const { balancers, world, records } = context;
  let isRead = false;
  for (let round = 0; round < maxRounds; round += 1) {
    const plan = planFor();
    const { waitMs, refusals } = plan;
    let observed: ObservedLoadBalancer | undefined;
    if (plan.steps.length > 0) observed = await world.during(balancers.apply(plan, { permit }));
    else if (waitMs === undefined) {
      if (refusals.length > 0) throw new Error(refusals.map(({ message }) => message).join('; '));
      return { isRead };
    } else {
      await world.pass(waitMs);
      observed = await world.during(balancers.observe(refOf(context, desired, removing)));
    }
    isRead = plan.steps.length === 0 && observed?.owner === undefined;
    if (observed?.owner !== undefined) records.set(desired.owner.service, observed);
  }
  throw new Error(`no end after ${maxRounds} rounds`);
}
