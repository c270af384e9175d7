import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  annotation,
  cluster,
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
} from '../../../test/clouds/simulated/world.ts';
import type { DesiredLoadBalancer } from '../load-balancers.ts';

test('a Service gets an address and a load balancer in two calls, and no call while nothing changes', async () => {
  const world = newWorld();
  const client = world.connect();
  const desired = desiredWith({ ports: [http, dns], members: membersOf(world, 3), sourceRanges: ['10.0.0.0/8'] });
  const { applied, observed, refusals } = await reach(world, client, desired);
  assert.deepEqual(does(applied), ['create address', 'create load balancer']);
  assert.deepEqual(refusals, []);
  assert.deepEqual(world.permits, [8000, 8000]);
  assert.equal(observed?.state, 'active');
  assert.deepEqual(observed?.owner, desired.owner);
  assert.deepEqual(observed?.ingress, [{ ip: '198.19.0.1' }]);
  assert.equal(observed?.service, 'default/web');
  assert.equal(observed?.createdAtMs, world.clock.now());
  assert.deepEqual(
    new Set(observed?.members),
    new Set(desired.members.map(({ providerID }) => ({ providerID, draining: false, healthy: undefined }))),
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
  assert.equal((await world.connect().observeAll(cluster)).length, 1);
  const { request: _, ...rest } = client.plan(desired);
  assert.deepEqual(rest, { steps: [], refusals: [], waitMs: undefined });
});

const updates: [string, Partial<DesiredLoadBalancer>, Partial<DesiredLoadBalancer>, string[]][] = [
  ['another node port', { ports: [http] }, { ports: [{ ...http, nodePort: 31000 }] }, ['update listener']],
  ['no node port any more', { ports: [http] }, { ports: [{ ...http, nodePort: 0 }] }, ['update listener']],
  ['one port more', { ports: [http] }, { ports: [http, https] }, ['create listener']],
  ['one port less', { ports: [http, https] }, { ports: [https] }, ['delete listener']],
  [
    'another port: the new one comes first',
    { ports: [http] },
    { ports: [https] },
    ['create listener', 'delete listener'],
  ],
  [
    'another protocol on the same port',
    { ports: [{ ...dns, protocol: 'TCP' }] },
    { ports: [dns] },
    ['create listener', 'delete listener'],
  ],
  [
    'everything about the ports: what is missing, what differs, what goes',
    { ports: [http, https] },
    { ports: [{ ...https, nodePort: 31000 }, dns] },
    ['update listener', 'create listener', 'delete listener'],
  ],
  ['another name of a port', { ports: [http] }, { ports: [{ ...http, name: 'web' }] }, []],
  ['other source ranges', { sourceRanges: [] }, { sourceRanges: ['192.0.2.0/24'] }, ['update listener']],
  ['affinity on', {}, { sessionAffinity: { timeoutSeconds: 10_800 } }, ['update pool']],
  ['affinity off', { sessionAffinity: { timeoutSeconds: 60 } }, {}, ['update pool']],
  ['another health check', {}, { healthCheck: { port: 30999, path: '/healthz' } }, ['update pool']],
  ['PROXY protocol on', {}, { annotations: { [annotation('proxy-protocol')]: 'true' } }, ['update listener']],
  ['a second family', {}, { families: ['IPv4', 'IPv6'] }, ['create address', 'update load balancer']],
  ['a family less', { families: ['IPv4', 'IPv6'] }, { families: ['IPv4'] }, ['update load balancer', 'delete address']],
  ['another name of the Service', {}, { service: 'default/renamed' }, ['update load balancer']],
  [
    'an internal one instead, with consent',
    {},
    { annotations: { [annotation('internal')]: 'true' }, mayChangeAddress: true },
    ['create address', 'delete load balancer', 'create load balancer', 'delete address'],
  ],
];

for (const [what, before, after, expected] of updates) {
  test(`${what}: ${expected.join(', ') || 'no call'}`, async () => {
    const world = newWorld();
    const client = world.connect();
    const members = membersOf(world, 2);
    const { observed } = await reach(world, client, desiredWith({ members, ...before }));
    const desired = desiredWith({ members, ...after });
    const { applied, refusals } = await reach(world, client, desired, observed?.id);
    assert.deepEqual([does(applied), refusals], [expected, []]);
    const again = await reach(world, world.connect(), desired, observed?.id);
    assert.deepEqual(again.applied, []);
    for (const { summary } of applied) assert.match(summary, /^[\x20-\x7e]{10,200}$/);
  });
}

test('members come, go and drain in one call for the whole set', async () => {
  const world = newWorld();
  const client = world.connect();
  const [a, b, c] = membersOf(world, 3);
  const { observed } = await reach(world, client, desiredWith({ members: [a!, b!] }));
  const members = [{ ...b!, draining: true }, c!];
  const { applied, observed: now } = await reach(world, client, desiredWith({ members }), observed?.id);
  assert.deepEqual(does(applied), ['update pool']);
  assert.match(applied[0]!.summary, /1 added, 1 removed, 1 of another weight, 2 in all/);
  assert.equal(now?.members.find(({ providerID }) => providerID === b!.providerID)?.draining, true);
  const [member] = now?.members ?? [];
  const id = world.network.loadBalancers.store.get(now!.id!)!.pools[0]!.id;
  world.network.loadBalancers.health.set(id, member!.providerID.slice('simulated://sim-1/'.length), false);
  const fresh = await client.observe(refOf(desiredWith(), now?.id));
  assert.equal(fresh?.members.find(({ providerID }) => providerID === member!.providerID)?.healthy, false);
});

test('a member of another place is left out and reported', async () => {
  const world = newWorld();
  const [a] = membersOf(world, 1);
  const stranger = { ...a!, node: 'far', providerID: 'simulated://sim-2/i-1' };
  const { observed, refusals } = await reach(world, world.connect(), desiredWith({ members: [a!, stranger] }));
  assert.equal(observed?.members.length, 1);
  assert.deepEqual(
    refusals.map(({ reason }) => reason),
    ['Unsupported'],
  );
  assert.match(refusals[0]!.message, /member far: providerID "simulated:\/\/sim-2\/i-1"/);
});

test('removal deletes the load balancer, waits until it is gone and releases its address', async () => {
  const world = newWorld({ loadBalancerTimings: { provisioningMs: 300, deletingMs: 2000 } });
  const client = world.connect();
  const desired = desiredWith({ members: membersOf(world, 2), ports: [https] });
  const { observed } = await reach(world, client, desired);
  const { applied, left } = await remove(world, client, observed!, refOf(desired, observed!.id));
  assert.deepEqual(does(applied), ['delete load balancer', 'delete address']);
  assert.equal(left, undefined);
  assert.deepEqual(world.network.loadBalancers.store.all(), []);
  assert.deepEqual(world.network.addresses.store.all(), []);
});

test('a change of the address is refused without consent, and the rest goes on', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith());
  const internal = { [annotation('internal')]: 'true' };
  const desired = desiredWith({ annotations: internal, ports: [http, https] });
  const { applied, refusals, observed: now } = await reach(world, client, desired, observed!.id);
  assert.deepEqual(does(applied), ['create listener']);
  assert.deepEqual(
    refusals.map(({ reason }) => reason),
    ['AddressWouldChange'],
  );
  assert.deepEqual(now?.ingress, observed?.ingress);
});

test('an invalid annotation creates nothing and changes nothing of its kind', async () => {
  const world = newWorld();
  const client = world.connect();
  for (const [name, value] of [
    ['internal', 'yes'],
    ['proxy-protocol', '1'],
    ['tls', 'no-such-port'],
    ['health-check-path', 'healthz'],
    ['health-check-port', '70000'],
    ['node-selector', 'pool=a=b'],
  ]) {
    const annotations = { [annotation(name!)]: value! };
    const { applied, refusals } = await reach(world, client, desiredWith({ annotations }));
    assert.deepEqual(applied, []);
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['Unsupported'],
    );
    assert.ok(refusals[0]!.message.startsWith(`${annotation(name!)}: "${value}", expected `), refusals[0]!.message);
  }
  const { observed } = await reach(world, client, desiredWith({ annotations: { [annotation('internal')]: 'true' } }));
  const annotations = { [annotation('internal')]: 'maybe' };
  const { applied } = await reach(world, client, desiredWith({ annotations, ports: [http, https] }), observed?.id);
  assert.deepEqual(does(applied), ['create listener']);
  assert.deepEqual(
    client.annotations.map(({ key }) => key),
    ['internal', 'proxy-protocol', 'tls', 'health-check-path', 'health-check-port', 'node-selector'].map(annotation),
  );
});

test('ipMode says that connections end at the load balancer', async () => {
  for (const annotations of [{ [annotation('proxy-protocol')]: 'true' }, { [annotation('tls')]: 'https' }]) {
    const world = newWorld();
    const desired = desiredWith({ annotations, ports: [https, dns] });
    const { observed } = await reach(world, world.connect(), desired);
    assert.deepEqual(observed?.ingress, [{ ip: '198.19.0.1', ipMode: 'Proxy' }]);
    const [tcp, udp] = world.network.loadBalancers.store.all()[0]!.listeners;
    assert.equal(tcp?.proxyProtocol || tcp?.tls, true);
    assert.equal(udp?.proxyProtocol || udp?.tls, false);
  }
});

test('five hundred Services are observed in two calls, and a large set of members is read once', async () => {
  const world = newWorld();
  const client = world.connect();
  const members = membersOf(world, 300);
  const all = Array.from({ length: 500 }, (_, at) => desiredWith({ members, owner: { cluster, service: `s-${at}` } }));
  for (const desired of all) await reach(world, client, desired);
  world.calls.reset();
  const listed = await client.observeAll(cluster);
  assert.equal(listed.length, 500);
  assert.deepEqual(world.calls.snapshot(), { 'load-balancers.list': { 200: 1 }, 'addresses.list': { 200: 1 } });
  const restarted = world.connect();
  const [a, b] = await restarted.observeAll(cluster);
  for (const desired of all) {
    assert.deepEqual(restarted.plan(desired).steps, []);
  }
  assert.equal(world.calls.total('load-balancers.get'), 1);
  assert.equal(a!.members.length, 300);
  assert.equal(a!.members, b!.members);
});
