import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import {
  cluster,
  desiredWith,
  dns,
  does,
  http,
  https,
  membersOf,
  newWorld,
  reach,
  refOf,
  reserve,
} from '../../../test/clouds/simulated/world.ts';
import { type DesiredLoadBalancer, type LoadBalancerPlan, ownerTags } from '../load-balancers.ts';
import { WithheldError } from '../permit.ts';

test('a refused member is named by its providerID, and nothing is changed', async () => {
  const world = newWorld();
  const client = world.connect();
  const [a, b] = membersOf(world, 2);
  const { observed } = await reach(world, client, desiredWith({ members: [a!] }));
  world.network.loadBalancers.members.refuse(b!.providerID.split('/').at(-1)!, true);
  await assert.rejects(
    reach(world, client, desiredWith({ members: [a!, b!] }), observed?.id),
    (error) => isCloudError(error) && error.kind === 'Invalid' && error.subjects.join() === b!.providerID,
  );
  assert.equal((await client.observe(refOf(desiredWith(), observed?.id)))?.members.length, 1);
  const other = desiredWith({ members: [b!], owner: { cluster, service: 'another' } });
  await assert.rejects(reach(world, client, other), (error) => isCloudError(error) && error.subjects.length === 1);
});

test('a failed load balancer is replaced and keeps its address', async () => {
  const world = newWorld({ loadBalancerTimings: { provisioningMs: 100 } });
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith());
  world.network.loadBalancers.setState(observed!.id!, 'failed');
  const { applied, observed: now } = await reach(world, client, desiredWith(), observed!.id);
  assert.deepEqual(does(applied), ['delete load balancer', 'create load balancer']);
  assert.notEqual(now?.id, observed?.id);
  assert.deepEqual([now?.state, now?.ingress], ['active', observed?.ingress]);
  assert.equal(world.network.addresses.store.all().length, 1);
});

test('a failed load balancer whose address would be lost stays until a person consents', async () => {
  const world = newWorld();
  const client = world.connect();
  const address = reserve(world, { [ownerTags.consent]: `${cluster}/default` });
  const { observed } = await reach(world, client, desiredWith({ address }));
  world.network.loadBalancers.setState(observed!.id!, 'failed');
  const refused = await reach(world, client, desiredWith(), observed!.id);
  assert.deepEqual([refused.applied, refused.refusals.map(({ reason }) => reason)], [[], ['AddressWouldChange']]);
  const { observed: now } = await reach(world, client, desiredWith({ mayChangeAddress: true }), observed!.id);
  assert.equal(now?.state, 'active');
  assert.notDeepEqual(now?.ingress, observed?.ingress);
});

test('a resource that a person deleted is created again with its address, and no step fails for it', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith({ ports: [http, https] }));
  world.network.loadBalancers.forget(observed!.id!);
  const { applied, observed: now } = await reach(world, client, desiredWith(), observed!.id);
  assert.deepEqual(does(applied), ['create load balancer']);
  assert.deepEqual(now?.ingress, observed?.ingress);
  world.network.loadBalancers.forget(now!.id!);
  const plan = client.plan(desiredWith({ ports: [https] }));
  assert.ok(does(plan.steps).includes('delete listener'), 'it has yet to hear of it');
  const after = await world.during(client.apply(plan, world.permitted));
  assert.deepEqual([after?.state, after?.ingress], ['active', observed?.ingress]);
});

test('a call without a permit is never sent', async () => {
  const world = newWorld();
  const client = world.connect();
  const withheld = new WithheldError('Fenced', 'the lease ends too soon');
  const permit = () => {
    throw withheld;
  };
  await assert.rejects(world.during(client.apply(client.plan(desiredWith()), { permit })), withheld);
  assert.equal(world.calls.total('addresses.create') + world.calls.total('load-balancers.create'), 0);
});

test('a foreign change in between is observed, and our own is made on the new state', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith());
  const { loadBalancers } = world.network;
  loadBalancers.update(observed!.id!, { tags: { ...loadBalancers.store.get(observed!.id!)!.tags, x: 'y' } });
  const plan = client.plan(desiredWith({ ports: [{ ...http, nodePort: 31_000 }] }));
  await world.during(client.apply(plan, world.permitted));
  const now = loadBalancers.store.get(observed!.id!)!;
  assert.deepEqual([now.tags['x'], now.listeners[0]?.memberPort], ['y', 31_000]);
  assert.equal(world.calls.snapshot()['listeners.update']?.[409], 1);
});

test('every step can be sent again after it took effect', async () => {
  const world = newWorld();
  const client = world.connect();
  const members = membersOf(world, 2);
  const applied = (plan: LoadBalancerPlan) => world.during(client.apply(plan, world.permitted));
  const twice = async (desired: DesiredLoadBalancer) => {
    let observed = await client.observe(refOf(desired));
    for (;;) {
      const plan = client.plan(desired);
      if (plan.steps.length === 0) return observed;
      const first = await applied(plan);
      const second = await applied(plan);
      assert.deepEqual(second && { ...second, pieces: undefined }, first && { ...first, pieces: undefined });
      observed = second;
    }
  };
  await twice(desiredWith({ members, ports: [http, https] }));
  await twice(
    desiredWith({
      members: members.slice(1),
      ports: [{ ...https, nodePort: 1 }, dns],
      families: ['IPv4', 'IPv6'],
      sessionAffinity: { timeoutSeconds: 5 },
      service: 'default/other',
    }),
  );
  let observed = await client.observe(refOf(desiredWith()));
  for (;;) {
    const plan = observed && client.planRemoval(observed.owner!, { retain: false });
    if (!plan?.steps.length) break;
    await applied(plan);
    observed = await applied(plan);
  }
  assert.equal(observed, undefined);
  assert.deepEqual(world.network.addresses.store.all(), []);
});

const failures = [
  ['quota-exceeded', 403, 'QuotaExceeded'],
  ['forbidden', 403, 'Forbidden'],
  ['unauthorized', 401, 'Unauthorized'],
  ['simulated-fault', 500, 'Unavailable'],
  ['path-not-found', 404, 'Invalid'],
  ['not-ready', 409, 'Busy'],
] as const;

for (const [code, status, kind] of failures) {
  test(`${status} ${code} is ${kind}`, async () => {
    const world = newWorld();
    world.sandbox.faults.add({ operation: 'addresses.create', effect: { kind: 'error', status, code } });
    await assert.rejects(
      world.during(reach(world, world.connect(), desiredWith())),
      (error) => isCloudError(error) && error.kind === kind && error.operation === 'addresses.create',
    );
  });
}

test('an answer that the cloud does not document is Invalid and names the field', async () => {
  const world = newWorld();
  const { observed } = await reach(world, world.connect(), desiredWith());
  for (const field of ['id', 'state', 'listeners', 'tags', 'revision', 'addresses', 'createdAt']) {
    world.sandbox.faults.add({ operation: 'load-balancers.*', effect: { kind: 'missing-fields', fields: [field] } });
    for (const look of [
      () => world.connect().observeAll(cluster),
      () => world.connect().observe(refOf(desiredWith(), observed?.id)),
    ]) {
      await assert.rejects(
        look(),
        (error) => isCloudError(error) && error.kind === 'Invalid' && error.message.includes(`${field}: missing`),
      );
    }
    world.sandbox.faults.clear();
  }
});

test('a list whose pages lead in a circle is an error', async () => {
  const world = newWorld();
  await reach(world, world.connect(), desiredWith());
  world.sandbox.faults.add({ operation: 'load-balancers.list', effect: { kind: 'chain-loops' } });
  await assert.rejects(world.connect().observeAll(cluster), /pages lead in a circle/);
});
