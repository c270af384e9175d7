import { taints } from '../../../common/well-known.ts';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import type { SimulatedLoadBalancer } from '../../kit/cloud/load-balancer.ts';
import { startTraffic } from '../../kit/data-plane/traffic.ts';
import { audited, restart, sumOf } from '../../kit/world/controllers.ts';
import type { Replica } from '../../kit/world/replica.ts';
import { assertThat, eventsOf, nodeNamed, type Scenario, seconds, taintKeys, until } from '../../kit/world/scenario.ts';
import {
  answering,
  balancersOf,
  createService,
  deleteService,
  ensured,
  haveService,
  livingNodes,
  loadBalancerServices,
  mutatingCalls,
  mutationsSince,
  patchService,
  serviceNamed,
  targetOf,
} from '../../kit/world/services.ts';
import { shortened } from '../../kit/world/shortened.ts';
import type { World } from '../../kit/world/world.ts';

/** Kills the process at the moment when the cloud has created this Service's load balancer and has not answered yet. */
function killOnCreation(world: World, replica: Replica, service: string): { readonly done: () => boolean } {
  let done = false;
  const unsubscribe = world.cloud.network.loadBalancers.onChange(({ before, after }) => {
    if (before || after?.tags[ownerTags.serviceName] !== service) return;
    unsubscribe();
    void replica.child.kill();
    done = true;
  });
  return { done: () => done };
}

export const failover: Scenario = {
  name: 'failover',
  title:
    'the leader is killed in the middle of making load balancers: the other one takes over and ends with exactly ' +
    'one each',
  waitsFor: `the Lease of ${shortened.leaseDuration}`,
  async run(world) {
    const { faults } = world.cloud;
    const killed = await until('a replica leads', 20_000, () => world.leader());
    const power = () => [...mutatingCalls(world)].filter(([operation]) => operation.startsWith('instances.'));
    const powerBefore = JSON.stringify(power());
    const kill = killOnCreation(world, killed, 'default/just-made');
    // One creation is on its way and never answered; another is done and not yet answered.
    const hung = faults.add({
      operation: 'load-balancers.create',
      times: 1,
      effect: { kind: 'latency', ms: 60_000 },
    });
    await createService(world, { name: 'on-its-way' });
    await until('its creation has reached the cloud', 20_000, async () =>
      faults.list().every(({ number }) => number !== hung),
    );
    await createService(world, { name: 'just-made' });
    await until('the leader has been killed', 20_000, async () => kill.done());
    const startedMs = Date.now();
    const next = await until('the other replica leads', 30_000, async () => {
      const leader = await world.leader();
      return leader && leader.name !== killed.name ? leader : undefined;
    });
    const took = seconds(startedMs);
    const late = await world.boot('late-1');
    const [onItsWay, justMade] = await Promise.all(
      ['on-its-way', 'just-made'].map((name) => ensured(world, name, 40_000)),
    );
    await until('a node that joins now is initialised', 30_000, async () => {
      const node = await nodeNamed(world, late.name);
      return node?.spec?.providerID && !taintKeys(node).includes(taints.uninitialized);
    });
    for (const service of [onItsWay, justMade]) {
      const count = balancersOf(world, service).length;
      assertThat(count === 1, `${service.metadata.name} has ${count} load balancers`);
      const reserved = world.cloud.network.addresses.store
        .all()
        .filter(({ tags }) => tags[ownerTags.service] === service.metadata.uid).length;
      assertThat(reserved <= 1, `${service.metadata.name} has ${reserved} addresses`);
    }
    assertThat(JSON.stringify(power()) === powerBefore, 'the change of leader changed instances');
    await answering(targetOf(world, justMade), await livingNodes(world));
    return (
      `${killed.name} killed with one creation on its way and one done but unanswered; ${next.name} leads after ` +
      `${took} (lease ${shortened.leaseDuration}); 1 load balancer each after ${seconds(startedMs)}, late-1 initialised`
    );
  },
};

/** A load balancer whose Service is gone. */
function orphaned(world: World): SimulatedLoadBalancer | undefined {
  return world.cloud.network.loadBalancers.store
    .all()
    .find(({ tags }) => tags[ownerTags.serviceName] === 'default/stripped');
}

/** How a person removes a Service at once while no controller runs. */
async function strip(world: World): Promise<void> {
  await patchService(world, 'stripped', { metadata: { finalizers: [] } });
  await deleteService(world, 'stripped');
  assertThat((await serviceNamed(world, 'stripped')) === undefined, 'the Service is still there');
}

export const restarted: Scenario = {
  name: 'restart',
  title: 'both controllers restart with everything in place: not one mutating call to the cloud, and traffic goes on',
  async run(world) {
    const service = await haveService(world, { name: 'web' });
    await haveService(world, { name: 'stripped' });
    const target = targetOf(world, service);
    await answering(target, await livingNodes(world));
    const traffic = startTraffic({ target: () => target, everyMs: 25, kept: 5, keptMs: 2000 });
    try {
      const before = mutatingCalls(world);
      const reads = world.cloud.calls.total();
      const startedMs = Date.now();
      const leader = await restart(world, () => strip(world));
      const took = seconds(startedMs);
      await audited(world, leader, 2);
      const changed = mutationsSince(world, before);
      assertThat(changed === '', `after the restart: ${changed}`);
      const { short, kept, failures } = await traffic.stop();
      assertThat(failures.length === 0, `${failures.length} connections failed: ${failures[0]}`);
      const count = (await loadBalancerServices(world)).length;
      return (
        `${leader.name} leads ${took} after both were stopped; ${count} Services and ` +
        `${world.cloud.network.routes.store.all().length} routes looked at with ` +
        `${world.cloud.calls.total() - reads} reads, 0 mutating calls; ${short + kept} connections meanwhile, 0 failed`
      );
    } finally {
      await traffic.stop();
    }
  },
};

export const orphan: Scenario = {
  name: 'orphan',
  title:
    'a Service whose finalizer was stripped by hand is gone: the sweep finds its load balancer and deletes nothing',
  async run(world) {
    if (orphaned(world) === undefined) {
      await haveService(world, { name: 'stripped' });
      await restart(world, () => strip(world));
    }
    const leader = await until('a replica leads', 20_000, () => world.leader());
    const before = mutatingCalls(world);
    let seen = 0;
    await until(
      'the sweep counts it',
      30_000,
      async () => {
        seen = sumOf(await leader.metrics().catch(() => new Map()), 'mooring_orphaned_load_balancers');
        return seen === 1;
      },
      () => `${seen}`,
    );
    const event = await until('an event names it', 10_000, async () =>
      (await eventsOf(world, 'kube-system')).find(({ reason }) => reason === 'OrphanedLoadBalancer'),
    );
    assertThat(event.message.includes('default/stripped'), event.message);
    await audited(world, leader, 2);
    const changed = mutationsSince(world, before);
    assertThat(changed === '', `something was changed: ${changed}`);
    const balancer = orphaned(world);
    assertThat(balancer, 'the load balancer was deleted');
    world.cloud.network.loadBalancers.delete(balancer.id);
    return (
      'stripped and deleted while no controller ran; mooring_orphaned_load_balancers = 1, event: ' +
      `${event.message}; it still stands, 0 mutating calls`
    );
  },
};

export const away: Scenario = {
  name: 'away',
  title: 'the Services are deleted: nothing of theirs is left in the cloud',
  async run(world) {
    const startedMs = Date.now();
    const names: string[] = (await loadBalancerServices(world)).map(({ metadata }) => metadata.name);
    await Promise.all(names.map((name) => deleteService(world, name)));
    await until('the Services are gone', 40_000, async () => (await loadBalancerServices(world)).length === 0);
    const took = seconds(startedMs);
    const { loadBalancers, addresses } = world.cloud.network;
    const left = [...loadBalancers.store.all(), ...addresses.store.all()].filter(
      ({ tags }) => tags[ownerTags.cluster] !== undefined && tags[ownerTags.serviceName] !== 'default/stripped',
    );
    assertThat(left.length === 0, `left: ${left.map(({ id }) => id).join(', ')}`);
    return `${names.length} Services and all that they had in the cloud were gone after ${took}`;
  },
};
