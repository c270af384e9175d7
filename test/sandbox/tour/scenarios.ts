import { taints } from '../../../common/well-known.ts';
import { createKubelet } from '../../kit/world/kubelet.ts';
import {
  addressesOf,
  assertThat,
  conditionOf,
  eventsOf,
  nodeNamed,
  type Scenario,
  seconds,
  taintKeys,
  until,
  vm,
} from '../../kit/world/scenario.ts';
import { addressOf, ensured, loadBalancerServices } from '../../kit/world/services.ts';
import { shortened } from '../../kit/world/shortened.ts';
import type { World } from '../../kit/world/world.ts';
import { away, failover, orphan, restarted } from './leader-scenarios.ts';
import { drain, routes, services } from './network-scenarios.ts';

const join: Scenario = {
  name: 'join',
  title: 'nodes register tainted and are initialised',
  waitsFor: 'two controllers that start, one of which leads',
  async run(world) {
    const startedMs = Date.now();
    const names = world.vms.map(({ name }) => name);
    let left = names.length;
    await until(
      'every Node has a providerID, addresses, a zone, and no uninitialized taint',
      120_000 + names.length * 20,
      async () => {
        const { items } = await world.rest.must('GET', '/api/v1/nodes');
        const done = items.filter(
          // biome-ignore lint/suspicious/noExplicitAny: a Node
          (node: any) =>
            node.spec.providerID?.startsWith('simulated://') &&
            !taintKeys(node).includes(taints.uninitialized) &&
            addressesOf(node, 'InternalIP').length > 0 &&
            node.metadata.labels['topology.kubernetes.io/zone'],
        );
        left = names.length - done.length;
        return left === 0;
      },
      () => `${left} of ${names.length} are not`,
    );
    const calls = Object.entries(world.cloud.calls.snapshot()).map(
      ([operation, codes]) => `${operation} ${Object.values(codes).reduce((a, b) => a + b, 0)}`,
    );
    return `${names.length} nodes initialised within ${seconds(startedMs)}; cloud calls so far: ${calls.join(', ')}`;
  },
};

const address: Scenario = {
  name: 'address',
  title: "a VM's address changes and its Node follows",
  async run(world) {
    const { id, name } = vm(world, 0);
    const before = addressesOf(await nodeNamed(world, name), 'InternalIP');
    const startedMs = Date.now();
    world.cloud.model.setAddresses(id, { interfaces: [{ internal: ['10.99.0.7'] }] });
    await until('the new address alone stands on the Node', 30_000, async () => {
      const now = addressesOf(await nodeNamed(world, name), 'InternalIP');
      return now.length === 1 && now[0] === '10.99.0.7';
    });
    return (
      `${name}: ${before.join(', ')} -> 10.99.0.7 within ${seconds(startedMs)} (the agent's long poll hinted, the ` +
      "cloud's API decided)"
    );
  },
};

const stop: Scenario = {
  name: 'stop',
  title: 'a VM is powered off: its Node is tainted, and freed again',
  waitsFor: '20 s without a sign of life',
  async run(world) {
    const { id, name } = vm(world, 1);
    const startedMs = Date.now();
    world.cloud.model.stop(id);
    await world.powerLoss(name);
    await until('the Node carries the shutdown taint', 60_000, async () =>
      taintKeys(await nodeNamed(world, name)).includes(taints.shutdown),
    );
    const took = seconds(startedMs);
    world.cloud.model.start(id);
    await world.kubelets.get(name)?.start();
    await world.agents.restart(vm(world, 1));
    await until('the shutdown taint is gone', 30_000, async () => {
      const node = await nodeNamed(world, name);
      return node && !taintKeys(node).includes(taints.shutdown);
    });
    return (
      `${name}: tainted ${took} after the power went (20 s without a sign of life are waited for), untainted once ` +
      'it was back'
    );
  },
};

const terminate: Scenario = {
  name: 'terminate',
  title: 'a VM is terminated: its Node goes, with the reason',
  waitsFor: '20 s without a sign of life',
  async run(world) {
    const { id, name } = vm(world, 2);
    const startedMs = Date.now();
    await world.shutDown(name);
    world.cloud.model.terminate(id);
    await until('the Node is gone', 60_000, async () => (await nodeNamed(world, name)) === undefined);
    const took = seconds(startedMs);
    const event = await until('an event says why', 5000, async () =>
      (await eventsOf(world, name)).find(({ reason }) => reason === 'DeletingNode'),
    );
    return `${name}: gone ${took} after its orderly end; event: ${event.message}`;
  },
};

/** What every Service shows as its address, in one line. */
async function serviceAddresses(world: World): Promise<string> {
  const shown = (await loadBalancerServices(world)).map((service) => `${service.metadata.name} ${addressOf(service)}`);
  return shown.sort().join(', ');
}

const credentials: Scenario = {
  name: 'credentials',
  title: 'with wrong credentials the cloud says that nothing exists: nothing is deleted, and it says why',
  waitsFor: '20 s without a sign of life',
  async run(world) {
    const { name } = vm(world, 3);
    const { items: before } = await world.rest.must('GET', '/api/v1/nodes');
    const addressesBefore = await serviceAddresses(world);
    const balancersBefore = world.cloud.network.loadBalancers.store.all().map(({ id }) => id);
    world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
    await world.powerLoss(name);
    const shown = await until('the Node says why it is kept', 40_000, async () => {
      const missing = conditionOf(await nodeNamed(world, name), 'CloudInstanceMissing');
      return missing?.status === 'True' && missing.reason === 'CanaryNotFound' ? missing : undefined;
    });
    const { items: during } = await world.rest.must('GET', '/api/v1/nodes');
    assertThat(during.length === before.length, `${before.length - during.length} Nodes were deleted`);
    assertThat((await serviceAddresses(world)) === addressesBefore, 'a Service lost its address');
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    await world.kubelets.get(name)?.start();
    await world.agents.restart(vm(world, 3));
    await until(
      'the Node is well again',
      90_000,
      async () => conditionOf(await nodeNamed(world, name), 'CloudInstanceMissing')?.status === 'False',
    );
    const services = await loadBalancerServices(world);
    for (const { metadata } of services) await ensured(world, metadata.name, 60_000);
    const balancers = world.cloud.network.loadBalancers.store.all().map(({ id }) => id);
    assertThat(balancers.join() === balancersBefore.join(), `load balancers ${balancersBefore} became ${balancers}`);
    assertThat((await serviceAddresses(world)) === addressesBefore, 'a Service has another address');
    return (
      `all ${during.length} Nodes and ${balancers.length} load balancers kept while the cloud denied every ` +
      `instance; ${name} said ${shown.reason}: ${shown.message}`
    );
  },
};

const foreign: Scenario = {
  name: 'foreign',
  title: 'a foreign node stays untouched',
  waitsFor: `${shortened.monitorGraceMs / 1000} s until the Node is not Ready`,
  async run(world) {
    const name = 'foreign-1';
    const kubelet = createKubelet({
      rest: world.rest,
      name,
      token: world.nodeToken(name),
      systemUuid: 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee',
      providerID: 'othercloud:///zone/vm-1',
      uninitialized: true,
      leaseRenewMs: shortened.kubeletLeaseMs,
    });
    await kubelet.start();
    kubelet.stop();
    await until(
      'the Node is not Ready',
      30_000,
      async () => conditionOf(await nodeNamed(world, name), 'Ready')?.status === 'Unknown',
    );
    const before = await nodeNamed(world, name);
    await new Promise((resolve) => setTimeout(resolve, 4000));
    const after = await nodeNamed(world, name);
    assertThat(after, 'the foreign Node was deleted');
    assertThat(after.metadata.resourceVersion === before.metadata.resourceVersion, 'the foreign Node was written');
    assertThat(taintKeys(after).includes(taints.uninitialized), 'its taint was lifted');
    assertThat(conditionOf(after, 'CloudInitialized') === undefined, 'a condition was put on it');
    return `${name} (providerID othercloud:///zone/vm-1) is NotReady and uninitialized, and got no write`;
  },
};

/** In the order of the tour. Those that wait for silence run side by side: each has its own VM. */
export const tour: readonly (readonly Scenario[])[] = [
  [join],
  [routes, services],
  [address, drain],
  [stop, terminate, foreign],
  [credentials],
  [failover],
  [restarted],
  [orphan],
  [away],
];
export const scenarios: ReadonlyMap<string, Scenario> = new Map(
  tour.flat().map((scenario) => [scenario.name, scenario]),
);
