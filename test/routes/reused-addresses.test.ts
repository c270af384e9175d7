import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Routes } from '../../controller/clouds/routes.ts';
import { shippedObjectsIn } from '../../controller/kube/shipped-objects.ts';
import { deleteObject, shipObject } from '../nodes/harness/shipped-objects.ts';
import { providerID } from '../nodes/harness/world.ts';
import { a4, b4, c4, type RouteStage, routeStage } from './harness/route-stage.ts';
import { untagged } from './harness/route-world.ts';

const { routeRecords } = shippedObjectsIn('kube-system');

/** A cloud that routes to addresses: a route leads to whichever VM has its address now. */
function addresses() {
  const holders = new Map<string, string>();
  const hops = new Map<string, string>();
  const give = (address: string, providerID: string) => {
    for (const [had, holder] of holders) if (holder === providerID) holders.delete(had);
    holders.set(address, providerID);
  };
  const like = (routes: Routes): Routes => {
    const bare = untagged(routes);
    const shown = <R extends { readonly destination: string }>(route: R) => {
      const via = hops.get(route.destination);
      const providerID = via === undefined ? undefined : holders.get(via);
      return { ...route, via, providerID, blackhole: providerID === undefined };
    };
    return {
      ...bare,
      async observe(cluster, signal) {
        const table = await bare.observe(cluster, signal);
        return { ...table, routes: table.routes.map(shown) };
      },
      async create(route, options) {
        const [hop] = [...holders].find(([, holder]) => holder === route.providerID) ?? assert.fail();
        const made = await bare.create(route, options);
        hops.set(route.destination, hop);
        return shown(made);
      },
    };
  };
  return { give, hops, like };
}

describe('routes to an address that another VM has got', () => {
  const begin = routeStage();

  function stage() {
    const cloud = addresses();
    const staged = begin({ like: cloud.like });
    const add = (name: string, range: string, address: string) => {
      const vm = staged.world.add(name, [range]);
      cloud.give(address, providerID(vm));
      return vm;
    };
    return { ...cloud, ...staged, add };
  }

  async function lose({ world }: RouteStage, vm: { readonly id: string }) {
    world.cloud.model.terminate(vm.id);
    await world.clock.advance(1000);
  }

  it('deletes a route with the Node that it was made for, and gives a later Node the range', async () => {
    const staged = stage();
    const { world, replica, hops, add } = staged;
    const vm = add('a', a4, '10.0.0.4');
    add('x', c4, '10.0.0.9');
    await replica.start();
    await world.clock.advance(5000);
    await lose(staged, vm);
    add('b', b4, '10.0.0.4');
    await world.clock.advance(60_000);
    world.cluster.remove('a');
    await world.clock.advance(1_800_000);
    assert.deepEqual([world.destinations(), hops.get(b4)], [[b4, c4], '10.0.0.4']);
    add('c', a4, '10.0.0.7');
    await world.clock.advance(60_000);
    assert.deepEqual(
      [hops.get(a4), world.network('c'), world.network('b')],
      ['10.0.0.7', ...Array(2).fill('False RouteCreated')],
    );
  });

  it('replaces a route whose Node lives on with another address', async () => {
    const { world, replica, give, hops, add } = stage();
    const vm = add('a', a4, '10.0.0.4');
    add('x', c4, '10.0.0.9');
    await replica.start();
    await world.clock.advance(5000);
    give('10.0.0.20', providerID(vm));
    add('b', b4, '10.0.0.4');
    await world.clock.advance(600_000);
    assert.deepEqual([hops.get(a4), hops.get(b4), world.network('a')], ['10.0.0.20', '10.0.0.4', 'False RouteCreated']);
  });

  it('adds addresses to records of an older version, without a change of the cloud', async () => {
    const staged = stage();
    const { world, replica: older, add } = staged;
    const vm = add('a', a4, '10.0.0.4');
    add('x', c4, '10.0.0.9');
    await older.start();
    await world.clock.advance(5000);
    await older.stop();
    const [[key, lines] = assert.fail()] = Object.entries(world.configMap('mooring-routes') ?? {});
    const instances = lines.split('\n').filter((line) => !line.includes(' via '));
    assert.equal(instances.length, 3);
    deleteObject(world.core, routeRecords);
    shipObject(world.core, routeRecords, { [key]: instances.join('\n') });
    const before = world.mutations();
    await world.routeReplica().start();
    await world.clock.advance(5000);
    assert.equal(world.mutations(), before);
    assert.equal(world.configMap('mooring-routes')?.[key], lines);
    await lose(staged, vm);
    add('b', b4, '10.0.0.4');
    await world.clock.advance(60_000);
    world.cluster.remove('a');
    await world.clock.advance(600_000);
    assert.deepEqual(world.destinations(), [b4, c4]);
  });

  it('keeps a route of others, also when a Node of ours gets or had the address', async () => {
    const staged = stage();
    const { world, replica, hops, add, give } = staged;
    const theirs = world.cloud.model.create({ name: 'of-others' });
    give('10.0.0.4', providerID(theirs));
    world.foreignRoute(a4, theirs);
    hops.set(a4, '10.0.0.4');
    add('x', c4, '10.0.0.9');
    await replica.start();
    await world.clock.advance(600_000);
    await lose(staged, theirs);
    const vm = add('b', b4, '10.0.0.4');
    await world.clock.advance(600_000);
    await lose(staged, vm);
    world.cluster.remove('b');
    await world.clock.advance(900_000);
    assert.deepEqual(world.destinations(), [a4, c4]);
  });
});
