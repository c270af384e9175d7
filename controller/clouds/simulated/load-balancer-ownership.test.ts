import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  remove,
  reserve,
  theirs,
  type World,
} from '../../../test/clouds/simulated/world.ts';
import { type DesiredLoadBalancer, ownerTags } from '../load-balancers.ts';

test('a retained load balancer loses only our tags, and is no orphan', async () => {
  const world = newWorld();
  const client = world.connect();
  const desired = desiredWith({ members: membersOf(world, 1), ports: [http, https] });
  const { observed } = await reach(world, client, desired);
  const { applied } = await remove(world, client, observed!, refOf(desired, observed!.id), true);
  assert.deepEqual(does(applied).toSorted(), [
    'update address',
    'update listener',
    'update listener',
    'update load balancer',
    'update pool',
  ]);
  const [kept] = world.network.loadBalancers.store.all();
  assert.equal(kept?.listeners.length, 2);
  const tags = { [ownerTags.cluster]: cluster, [ownerTags.retained]: 'default/web' };
  for (const piece of [kept!, ...kept!.listeners, ...kept!.pools, ...world.network.addresses.store.all()]) {
    assert.deepEqual(piece.tags, tags);
  }
  const [listed, ...more] = await client.observeAll(cluster);
  assert.deepEqual(more, []);
  assert.deepEqual(
    [listed?.id, listed?.owner, listed?.retained, listed?.service],
    [kept?.id, undefined, true, 'default/web'],
  );
  assert.deepEqual(client.planRemoval(desired.owner, { retain: false }).steps, []);
  const again = await reach(world, client, desired);
  assert.deepEqual(
    again.refusals.map(({ reason }) => reason),
    ['ForeignLoadBalancer'],
  );
  assert.deepEqual([again.applied, again.observed?.retained], [[], true]);
});

test('a load balancer with our name and without our tags is foreign, and a forged id proves nothing', async () => {
  const world = newWorld();
  const client = world.connect();
  const desired = desiredWith();
  const { id } = theirs(world, { name: desired.name });
  for (const recorded of [undefined, id]) {
    const { applied, refusals, observed } = await reach(world, client, desired, recorded);
    assert.deepEqual(applied, []);
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['ForeignLoadBalancer'],
    );
    assert.equal(observed?.owner, undefined);
    assert.deepEqual(observed?.ingress, []);
    assert.deepEqual(client.planRemoval(desired.owner, { retain: false }).steps, []);
  }
  const elsewhere = theirs(world);
  const forged = await client.observe({ ...refOf(desiredWith({ name: 'free' })), id: elsewhere.id });
  assert.deepEqual([forged?.id, forged?.owner, forged?.ingress], [elsewhere.id, undefined, []]);
});

test('a recorded load balancer whose tags were stripped gets them back where its address proves it ours', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith());
  const before = world.network.loadBalancers.store.get(observed!.id!)!;
  world.network.loadBalancers.stripTags(before.id);
  const { refusals, observed: now } = await reach(world, client, desiredWith(), before.id);
  assert.deepEqual([refusals, now?.id, now?.owner], [[], before.id, desiredWith().owner]);
  const { revision: _, ...after } = world.network.loadBalancers.store.get(before.id)!;
  const { revision: __, ...whole } = before;
  assert.deepEqual(after, whole);
});

test('a recorded load balancer whose tags were stripped stays, named, where nothing proves it ours', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith());
  world.network.loadBalancers.stripTags(observed!.id!);
  for (const { id } of world.network.addresses.store.all()) world.network.addresses.setTags(id, {});
  const before = world.network.loadBalancers.store.all();
  const { applied, refusals, observed: now } = await reach(world, client, desiredWith(), observed!.id);
  assert.deepEqual([applied, now?.id, now?.owner], [[], observed!.id, undefined]);
  assert.deepEqual(new Set(refusals.map(({ reason }) => reason)), new Set(['ForeignLoadBalancer']));
  assert.ok(refusals.some(({ message }) => message.includes(observed!.id!)));
  assert.deepEqual(client.planRemoval(desiredWith().owner, { retain: false }).steps, []);
  assert.deepEqual(world.network.loadBalancers.store.all(), before);
});

test('a foreign listener on our load balancer stays, and its port is refused', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith());
  const { pools } = world.network.loadBalancers.store.get(observed!.id!)!;
  world.network.loadBalancers.addListener(observed!.id!, {
    name: 'theirs',
    tags: {},
    protocol: 'TCP',
    port: 443,
    memberPort: 1,
    sourceRanges: [],
    pool: pools[0]!.id,
    proxyProtocol: false,
    tls: false,
    clientToken: undefined,
  });
  const { applied, refusals } = await reach(world, client, desiredWith({ ports: [http, https] }), observed!.id);
  assert.deepEqual([does(applied), refusals.map(({ reason }) => reason)], [[], ['Conflict']]);
  assert.match(refusals[0]!.message, /TCP 443 of load balancer .* is taken by listener lsn-/);
});

const named: [string, (world: World) => string, string | undefined][] = [
  ['is not reserved', () => '203.0.113.7', 'Unsupported'],
  ['is no address', () => 'web.example', 'Unsupported'],
  ['is reserved without consent', (world) => reserve(world, {}), 'ForeignLoadBalancer'],
  ['is lent', (world) => reserve(world, { [ownerTags.consent]: `${cluster}/default` }), undefined],
  ['is lent to this Service', (world) => reserve(world, { [ownerTags.consent]: `${cluster}/default/web` }), undefined],
  [
    'is lent to the cluster as a whole',
    (world) => reserve(world, { [ownerTags.consent]: cluster }),
    'ForeignLoadBalancer',
  ],
  [
    'is lent to another namespace',
    (world) => reserve(world, { [ownerTags.consent]: `${cluster}/evil` }),
    'ForeignLoadBalancer',
  ],
  [
    'a Service of another namespace has kept',
    (world) => reserve(world, { [ownerTags.cluster]: cluster, [ownerTags.retained]: 'team-a/web' }),
    'ForeignLoadBalancer',
  ],
  [
    'was kept and does not tell for whom',
    (world) => reserve(world, { [ownerTags.cluster]: cluster, [ownerTags.retained]: 'unknown' }),
    'ForeignLoadBalancer',
  ],
  ['is lent to another cluster', (world) => reserve(world, { [ownerTags.consent]: 'x' }), 'ForeignLoadBalancer'],
  [
    'a Service of its namespace has kept',
    (world) => reserve(world, { [ownerTags.cluster]: cluster, [ownerTags.retained]: 'default/old' }),
    undefined,
  ],
  [
    'is of another Service',
    (world) => reserve(world, { [ownerTags.cluster]: cluster, [ownerTags.service]: 'other' }),
    'ForeignLoadBalancer',
  ],
  ['is inside', (world) => reserve(world, { [ownerTags.consent]: `${cluster}/default` }, 'internal'), 'Unsupported'],
];

for (const [what, prepare, refusal] of named) {
  test(`an address that ${what} is ${refusal ? `refused as ${refusal}` : 'used and never released'}`, async () => {
    const world = newWorld();
    const client = world.connect();
    const address = prepare(world);
    const before = world.network.addresses.store.all();
    const desired = desiredWith({ address });
    const { applied, refusals, observed } = await reach(world, client, desired);
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      refusal ? [refusal] : [],
    );
    if (refusal) {
      assert.deepEqual(applied, []);
      assert.ok(refusals[0]!.message.includes(JSON.stringify(address)));
    } else {
      assert.deepEqual(observed?.ingress, [{ ip: address }]);
      await remove(world, client, observed!, refOf(desired, observed!.id));
    }
    assert.deepEqual(world.network.addresses.store.all(), before);
    assert.deepEqual(world.network.loadBalancers.store.all(), []);
  });
}

test('an address of a foreign load balancer is a conflict', async () => {
  const world = newWorld();
  const ip = reserve(world, { [ownerTags.consent]: `${cluster}/default` });
  const first = desiredWith({ address: ip, owner: { cluster, service: 'first' } });
  await reach(world, world.connect(), first);
  const { refusals } = await reach(world, world.connect(), desiredWith({ address: ip }));
  assert.deepEqual(
    refusals.map(({ reason }) => reason),
    ['Conflict'],
  );
});

test('one port of a foreign load balancer is used with consent, and only our parts are deleted', async () => {
  const world = newWorld();
  const client = world.connect();
  const before = theirs(world, { tags: { [ownerTags.consent]: `${cluster}/default` } });
  const attach = { id: before.id, allowed: false };
  const desired = desiredWith({ attach, ports: [https], members: membersOf(world, 2) });
  const { applied, observed } = await reach(world, client, desired);
  assert.deepEqual(does(applied), ['create pool', 'create listener']);
  assert.deepEqual([observed?.attached, observed?.id], [true, before.id]);
  assert.deepEqual([observed?.owner, observed?.members.length], [desired.owner, 2]);
  const other = desiredWith({ attach, ports: [{ ...dns }], owner: { cluster, service: 'other' } });
  await reach(world, client, other);
  const listed = await world.connect().observeAll(cluster);
  assert.deepEqual(new Set(listed.map(({ owner }) => owner?.service)), new Set([desired.owner.service, 'other']));
  for (const one of listed) {
    const { request: _, ...rest } = client.plan(one.owner?.service === 'other' ? other : desired);
    assert.deepEqual(rest, { steps: [], refusals: [], waitMs: undefined });
  }
  const { left, applied: removed } = await remove(world, client, observed!, refOf(desired, observed!.id));
  assert.deepEqual([does(removed), left?.owner], [['delete listener', 'delete pool'], undefined]);
  await remove(world, client, (await client.observe(refOf(other)))!, refOf(other));
  const { listeners, pools, tags, name } = world.network.loadBalancers.store.get(before.id)!;
  assert.deepEqual({ listeners, pools, tags, name }, { ...pick(before), tags: before.tags, name: before.name });
});

function pick({ listeners, pools }: ReturnType<typeof theirs>) {
  return { listeners, pools };
}

test("a record never makes a load balancer that the operator lends the Service's own", async () => {
  const world = newWorld();
  const { id } = theirs(world);
  const desired = desiredWith({ attach: { id, allowed: true }, ports: [https], members: membersOf(world, 1) });
  await reach(world, world.connect(), desired);
  for (const name of ['load%20balancer/main', 'load%20balancer/other']) {
    const client = world.connect();
    client.declare([], true, new Set([id]));
    await client.observe({ ...refOf(desired, id), notes: `ids:${name}=${id}` });
    const { steps } = client.planRemoval(desired.owner, { retain: false });
    assert.deepEqual(steps.map(({ action, resource }) => `${action} ${resource}`).toSorted(), [
      'delete listener',
      'delete pool',
    ]);
  }
});

test('attaching needs consent or the allow-list, a port that is free, and a load balancer that is there', async () => {
  const world = newWorld();
  const client = world.connect();
  const { id } = theirs(world);
  const refusalsOf = async (changes: Partial<DesiredLoadBalancer>) =>
    (await reach(world, client, desiredWith(changes))).refusals.map(({ reason }) => reason);
  assert.deepEqual(await refusalsOf({ attach: { id, allowed: false }, ports: [https] }), ['ForeignLoadBalancer']);
  assert.deepEqual(world.permits, []);
  assert.deepEqual(await refusalsOf({ attach: { id: 'lb-none', allowed: true } }), ['Unsupported']);
  assert.deepEqual(await refusalsOf({ attach: { id, allowed: true }, ports: [http, https] }), ['Conflict']);
  const [own] = world.network.loadBalancers.store.get(id)!.listeners.filter(({ port }) => port === 443);
  assert.equal(own?.memberPort, 30443);
  const six = { attach: { id, allowed: true }, ports: [https], families: ['IPv6'] as const };
  assert.deepEqual(await refusalsOf(six), ['Unsupported']);
});

test('requires consent to another address to attach to another load balancer, and to come back', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith({ ports: [https] }));
  const { id } = theirs(world);
  const moved = desiredWith({ ports: [https, dns], attach: { id, allowed: true } });
  const refused = await reach(world, client, moved, observed!.id);
  assert.deepEqual(
    [does(refused.applied), refused.refusals.map(({ reason }) => reason)],
    [['create listener'], ['AddressWouldChange']],
  );
  const { applied, observed: now } = await reach(world, client, { ...moved, mayChangeAddress: true }, observed!.id);
  assert.deepEqual(does(applied), [
    'create pool',
    'create listener',
    'create listener',
    'delete load balancer',
    'delete address',
  ]);
  assert.deepEqual([now?.id, now?.attached], [id, true]);
  const back = desiredWith({ ports: [https, dns] });
  const kept = await reach(world, client, back, id);
  assert.deepEqual([kept.applied, kept.refusals.map(({ reason }) => reason)], [[], ['AddressWouldChange']]);
  const home = await reach(world, client, { ...back, mayChangeAddress: true }, id);
  assert.equal(home.observed?.attached, false);
  assert.equal(world.network.loadBalancers.store.get(id)!.listeners.length, 1);
});
