import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  desiredWith,
  dns,
  does,
  http,
  https,
  membersOf,
  newWorld,
  place,
  reach,
  refOf,
  remove,
} from './testing/world.ts';

test('a Service gets an address and a load balancer in two calls, and nothing more while nothing changes', async () => {
  const world = newWorld();
  const client = world.connect();
  const desired = desiredWith({ ports: [http, dns], members: membersOf(world, 3), sourceRanges: ['10.0.0.0/8'] });
  const { applied, observed, refusals } = await reach(world, client, desired);
  assert.deepEqual(does(applied), ['reserve address', 'create load balancer']);
  assert.deepEqual(refusals, []);
  assert.equal(world.permits.length, 2);
  assert.equal(observed?.state, 'active');
  assert.deepEqual(observed?.owner, desired.owner);
  assert.deepEqual(observed?.ingress, [{ ip: '198.19.0.1' }]);
  assert.deepEqual(
    new Set(observed?.members.map(({ providerID }) => providerID)),
    new Set(desired.members.map(({ providerID }) => providerID)),
  );
  const [made] = world.network.loadBalancers.store.inPlace(place);
  assert.deepEqual(
    made?.listeners.map(({ protocol, port, memberPort, sourceRanges }) => [protocol, port, memberPort, sourceRanges]),
    [
      ['TCP', 80, 30080, ['10.0.0.0/8']],
      ['UDP', 53, 30053, ['10.0.0.0/8']],
    ],
  );
  assert.deepEqual((await reach(world, world.connect(), desired, observed?.id)).applied, []);
  const [listed, ...more] = await world.connect().observeAll(desired.owner.cluster);
  assert.deepEqual(more, []);
  assert.deepEqual(client.plan(desired, listed).steps, []);
});

test('removal deletes the load balancer, waits until it is gone and releases its address', async () => {
  const world = newWorld({ loadBalancerTimings: { provisioningMs: 300, deletingMs: 2000 } });
  const client = world.connect();
  const desired = desiredWith({ members: membersOf(world, 2), ports: [https] });
  const { observed } = await reach(world, client, desired);
  const { applied, left } = await remove(world, client, observed!, refOf(desired, observed!.id));
  assert.deepEqual(does(applied), ['delete load balancer', 'release address']);
  assert.equal(left, undefined);
  assert.deepEqual(world.network.loadBalancers.store.all(), []);
  assert.deepEqual(world.network.addresses.store.all(), []);
});
