import { finalizers } from '../../common/well-known.ts';
import type { SimulatedLoadBalancer } from '../kit/cloud/load-balancer.ts';
import { ask } from '../kit/data-plane/traffic.ts';
import { audited, restart } from '../kit/world/controllers.ts';
import { assertThat, eventsOf, type Scenario, until, vm } from '../kit/world/scenario.ts';
import {
  addressOf,
  answering,
  balancerCondition,
  balancersOf,
  createService,
  deleteService,
  ensured,
  hasFinalizer,
  livingNodes,
  loadBalancerServices,
  mutatingCalls,
  mutationsSince,
  patchService,
  recordedId,
  recordOf,
  type ServiceObject,
  serviceGone,
  serviceNamed,
  targetOf,
} from '../kit/world/services.ts';
import type { World } from '../kit/world/world.ts';

const name = 'life';
const two = [
  { name: 'http', port: 80 },
  { name: 'https', port: 443 },
];

async function only(world: World): Promise<{ service: ServiceObject; balancer: SimulatedLoadBalancer }> {
  const service = await serviceNamed(world, name);
  const [balancer, ...more] = balancersOf(world, service);
  assertThat(balancer && more.length === 0, `${name} has ${more.length + (balancer ? 1 : 0)} load balancers`);
  return { service, balancer };
}

/** Waits until the one load balancer of the Service is so. */
async function becomes(world: World, what: string, held: (balancer: SimulatedLoadBalancer) => boolean): Promise<void> {
  let last = '';
  await until(
    what,
    20_000,
    async () => {
      const { balancer } = await only(world);
      last = JSON.stringify(balancer);
      return balancer.state === 'active' && held(balancer);
    },
    () => last,
  );
}

const listened = ({ listeners }: SimulatedLoadBalancer) =>
  listeners
    .map(({ port }) => port)
    .sort((a, b) => a - b)
    .join();

const created: Scenario = {
  name: 'created',
  title: 'a Service gets finalizer, record, load balancer, address and condition, and both its ports carry traffic',
  async run(world) {
    await createService(world, { name, ports: two });
    const service = await ensured(world, name);
    const { balancer } = await only(world);
    assertThat(hasFinalizer(service), 'it has no finalizer');
    assertThat(recordedId(service) === balancer.id, `its record is ${recordOf(service)}, not ${balancer.id}`);
    assertThat(addressOf(service) === balancer.addresses[0]?.ip, 'its address is not that of its load balancer');
    for (const { port, nodePort } of service.spec.ports) {
      const listener = balancer.listeners.find((each) => each.port === port);
      assertThat(listener?.memberPort === nodePort, `port ${port} leads to ${listener?.memberPort}, not ${nodePort}`);
    }
    const everyone = await livingNodes(world);
    await answering(targetOf(world, service, 80), everyone);
    await answering(targetOf(world, service, 443), everyone);
    const reasons = (await eventsOf(world, name)).map(({ reason }) => reason);
    assertThat(reasons.includes('EnsuredLoadBalancer'), `events: ${reasons.join(', ')}`);
    return `${balancer.id} at ${addressOf(service)}`;
  },
};

const portsChanged: Scenario = {
  name: 'ports-changed',
  title: 'ports come and go under the same address',
  async run(world) {
    const before = await only(world);
    const ports = [
      { name: 'http', port: 80 },
      { name: 'other', port: 8080 },
    ];
    await patchService(world, name, { spec: { ports } });
    await becomes(world, 'it listens on 80 and 8080', (balancer) => listened(balancer) === '80,8080');
    const after = await only(world);
    assertThat(after.balancer.id === before.balancer.id, 'it is another load balancer');
    assertThat(addressOf(after.service) === addressOf(before.service), 'it has another address');
    await answering(targetOf(world, after.service, 8080), await livingNodes(world));
    const closed = await ask(targetOf(world, after.service, 443)).then(
      () => false,
      () => true,
    );
    assertThat(closed, 'the port that went still answers');
    return listened(after.balancer);
  },
};

const restartedBetween: Scenario = {
  name: 'restarted-between',
  title: 'a restart in between changes nothing, and a change made meanwhile is caught up with',
  async run(world) {
    const before = mutatingCalls(world);
    await audited(world, await restart(world), 1);
    assertThat(mutationsSince(world, before) === '', `after the restart: ${mutationsSince(world, before)}`);
    const leader = await restart(world, async () => {
      await patchService(world, name, { spec: { ports: [{ name: 'http', port: 80 }] } });
    });
    await becomes(world, 'it listens on 80 alone', (balancer) => listened(balancer) === '80');
    await audited(world, leader, 1);
    const changes = mutationsSince(world, before);
    assertThat(changes === '1 listeners.delete', `one port less cost: ${changes}`);
    return changes;
  },
};

const policies: Scenario = {
  name: 'policies',
  title: 'traffic policy, source ranges and session affinity follow the Service, there and back',
  async run(world) {
    const { service } = await only(world);
    const target = targetOf(world, service);
    const everyone = await livingNodes(world);
    const pods = [vm(world, 1).name];
    world.dataPlane.placePods(`default/${name}`, pods);
    const local = await patchService(world, name, { spec: { externalTrafficPolicy: 'Local' } });
    const healthPort = local.spec.healthCheckNodePort;
    await becomes(
      world,
      'it asks the health-check node port',
      ({ pools }) => pools[0]?.healthCheck?.port === healthPort,
    );
    await answering(target, pods);
    await patchService(world, name, { spec: { externalTrafficPolicy: 'Cluster' } });
    await becomes(world, "it asks kube-proxy's port", ({ pools }) => pools[0]?.healthCheck?.port === 10_256);
    await answering(target, everyone);
    const friend = world.dataPlane.clientAddress('e2e-friend');
    await patchService(world, name, { spec: { loadBalancerSourceRanges: [`${friend}/32`] } });
    await becomes(
      world,
      'it admits the friend alone',
      ({ listeners }) => listeners[0]?.sourceRanges.join() === `${friend}/32`,
    );
    await ask({ ...target, from: friend });
    const turnedAway = await ask(target).then(
      () => false,
      () => true,
    );
    assertThat(turnedAway, 'a client outside the range got an answer');
    await patchService(world, name, { spec: { loadBalancerSourceRanges: null, sessionAffinity: 'ClientIP' } });
    await becomes(
      world,
      'it keeps clients where they are, three hours by default',
      ({ listeners, pools }) =>
        listeners[0]?.sourceRanges.length === 0 && pools[0]?.sessionAffinity?.timeoutSeconds === 10_800,
    );
    await patchService(world, name, { spec: { sessionAffinity: 'None', sessionAffinityConfig: null } });
    await becomes(world, 'it does not any more', ({ pools }) => pools[0]?.sessionAffinity === undefined);
    await answering(target, everyone);
    return 'Cluster, Local, Cluster; one client, everybody; affinity, none';
  },
};

const repaired: Scenario = {
  name: 'repaired',
  title:
    'a wiped status, a stripped finalizer and a load balancer deleted at the console are mended; an unrelated ' +
    'annotation costs nothing',
  async run(world) {
    const { service, balancer } = await only(world);
    const path = `/api/v1/namespaces/default/services/${name}`;
    const mutations = mutatingCalls(world);
    await world.rest.must(
      'PATCH',
      `${path}/status`,
      { status: { loadBalancer: { ingress: null }, conditions: null } },
      { type: 'application/merge-patch+json' },
    );
    await until('its status is back', 15_000, async () => {
      const now = await serviceNamed(world, name);
      return addressOf(now) === addressOf(service) && balancerCondition(now)?.status === 'True';
    });
    await patchService(world, name, { metadata: { finalizers: null, annotations: { 'example.com/note': 'hello' } } });
    await until('its finalizer is back', 15_000, async () => hasFinalizer(await serviceNamed(world, name)));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assertThat(mutationsSince(world, mutations) === '', `the cloud was changed: ${mutationsSince(world, mutations)}`);
    world.cloud.network.loadBalancers.forget(balancer.id);
    await until('another one stands in its place', 40_000, async () => {
      const [now] = balancersOf(world, service);
      return now !== undefined && now.id !== balancer.id && now.state === 'active';
    });
    await until('the Service says so', 20_000, async () => {
      const now = await serviceNamed(world, name);
      const [other] = balancersOf(world, service);
      return recordedId(now) === other?.id && balancerCondition(now)?.status === 'True';
    });
    const after = await only(world);
    await answering(targetOf(world, after.service), await livingNodes(world));
    return `${balancer.id} was replaced by ${after.balancer.id}`;
  },
};

const deleted: Scenario = {
  name: 'deleted',
  title: 'a deleted Service goes when all it had is gone',
  async run(world) {
    const { service } = await only(world);
    let early = false;
    const unsubscribe = world.cloud.network.loadBalancers.onChange(() => {
      // While anything of it stands, the finalizer has to.
      void serviceNamed(world, name).then((now) => {
        if (now === undefined && balancersOf(world, service).length > 0) early = true;
      });
    });
    await deleteService(world, name);
    await serviceGone(world, name);
    unsubscribe();
    assertThat(!early, 'the Service went before its load balancer');
    assertThat(balancersOf(world, service).length === 0, 'its load balancer is still there');
    const left = world.cloud.network.addresses.store.all().length;
    assertThat(left === 0, `${left} addresses are left`);
    const reasons = await until('an event says so', 10_000, async () => {
      const all = (await eventsOf(world, name)).map(({ reason }) => reason);
      return all.includes('DeletedLoadBalancer') ? all : undefined;
    });
    return [...new Set(reasons)].join(', ');
  },
};

const deletedMeanwhile: Scenario = {
  name: 'deleted-meanwhile',
  title: 'Services that are deleted without a controller are removed by the next leader',
  async run(world) {
    for (const each of ['gone-1', 'gone-2']) await createService(world, { name: each });
    for (const each of ['gone-1', 'gone-2']) await ensured(world, each);
    await restart(world, async () => {
      for (const each of ['gone-1', 'gone-2']) await deleteService(world, each);
      const [kept] = await loadBalancerServices(world);
      assertThat(kept?.metadata.finalizers?.includes(finalizers.loadBalancerCleanup), 'they did not wait');
    });
    await until('they are gone', 30_000, async () => (await loadBalancerServices(world)).length === 0);
    const { loadBalancers, addresses } = world.cloud.network;
    const left = loadBalancers.store.all().length + addresses.store.all().length;
    assertThat(left === 0, `${left} things are left in the cloud`);
    return '2 Services';
  },
};

/** One Service's life, in order: each begins where the one before it ended. */
export const serviceLife: readonly Scenario[] = [
  created,
  portsChanged,
  restartedBetween,
  policies,
  repaired,
  deleted,
  deletedMeanwhile,
];
