import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import { type DesiredLoadBalancer, ownerTags } from '../load-balancers.ts';
import { WithheldError } from '../permit.ts';
import {
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
  type World,
} from './testing/world.ts';

const annotation = (name: string) => `service.beta.kubernetes.io/simulated-load-balancer-${name}`;

function theirs({ network }: World, changes: { name?: string; tags?: Record<string, string> } = {}) {
  const { loadBalancer } = network.loadBalancers.create(place, {
    ...{ name: 'theirs', tags: {}, scheme: 'external', families: ['IPv4'], addresses: [], clientToken: undefined },
    pools: [
      { name: 'p', tags: {}, healthCheck: undefined, sessionAffinity: undefined, members: [], clientToken: undefined },
    ],
    listeners: [
      {
        ...{ name: 'l', tags: {}, protocol: 'TCP', port: 80, memberPort: 80, sourceRanges: [], pool: 'p' },
        ...{ proxyProtocol: false, tls: false, clientToken: undefined },
      },
    ],
    ...changes,
  });
  return loadBalancer;
}

test('a Service gets an address and a load balancer in two calls, and nothing more while nothing changes', async () => {
  const world = newWorld();
  const client = world.connect();
  const desired = desiredWith({ ports: [http, dns], members: membersOf(world, 3), sourceRanges: ['10.0.0.0/8'] });
  const { applied, observed, refusals } = await reach(world, client, desired);
  assert.deepEqual(does(applied), ['reserve address', 'create load balancer']);
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
  const [listed, ...more] = await world.connect().observeAll(cluster);
  assert.deepEqual(more, []);
  assert.deepEqual(client.plan(desired, listed), { steps: [], refusals: [], waitMs: undefined });
});

const updates: [string, Partial<DesiredLoadBalancer>, Partial<DesiredLoadBalancer>, string[]][] = [
  ['another node port', { ports: [http] }, { ports: [{ ...http, nodePort: 31000 }] }, ['change listener']],
  ['no node port any more', { ports: [http] }, { ports: [{ ...http, nodePort: 0 }] }, ['change listener']],
  ['one port more', { ports: [http] }, { ports: [http, https] }, ['add listener']],
  ['one port less', { ports: [http, https] }, { ports: [https] }, ['delete listener']],
  ['another port: the new one comes first', { ports: [http] }, { ports: [https] }, ['add listener', 'delete listener']],
  [
    'another protocol on the same port',
    { ports: [{ ...dns, protocol: 'TCP' }] },
    { ports: [dns] },
    ['add listener', 'delete listener'],
  ],
  [
    'everything about the ports: what is missing, what differs, what goes',
    { ports: [http, https] },
    { ports: [{ ...https, nodePort: 31000 }, dns] },
    ['add listener', 'change listener', 'delete listener'],
  ],
  ['another name of a port', { ports: [http] }, { ports: [{ ...http, name: 'web' }] }, []],
  ['other source ranges', { sourceRanges: [] }, { sourceRanges: ['192.0.2.0/24'] }, ['change listener']],
  ['affinity on', {}, { sessionAffinity: { timeoutSeconds: 10_800 } }, ['change pool']],
  ['affinity off', { sessionAffinity: { timeoutSeconds: 60 } }, {}, ['change pool']],
  ['another health check', {}, { healthCheck: { port: 30999, path: '/healthz' } }, ['change pool']],
  ['PROXY protocol on', {}, { annotations: { [annotation('proxy-protocol')]: 'true' } }, ['change listener']],
  ['a second family', {}, { families: ['IPv4', 'IPv6'] }, ['reserve address', 'change load balancer']],
  [
    'a family less',
    { families: ['IPv4', 'IPv6'] },
    { families: ['IPv4'] },
    ['change load balancer', 'release address'],
  ],
  ['another name of the Service', {}, { service: 'default/renamed' }, ['change load balancer']],
  [
    'an internal one instead, with consent',
    {},
    { annotations: { [annotation('internal')]: 'true' }, mayChangeAddress: true },
    ['delete load balancer', 'reserve address', 'create load balancer', 'release address'],
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
  assert.deepEqual(does(applied), ['set members']);
  assert.match(applied[0]!.summary, /1 added, 1 removed, 1 of another weight, 2 in all/);
  assert.equal(now?.members.find(({ providerID }) => providerID === b!.providerID)?.draining, true);
  const [member] = now?.members ?? [];
  const id = world.network.loadBalancers.store.get(now!.id!)!.pools[0]!.id;
  world.network.loadBalancers.health.set(id, member!.providerID.slice('simulated://sim-1/'.length), false);
  const fresh = await client.observe(refOf(desiredWith(), now?.id));
  assert.equal(fresh?.members.find(({ providerID }) => providerID === member!.providerID)?.healthy, false);
});

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
  assert.deepEqual(does(applied), ['delete load balancer', 'release address']);
  assert.equal(left, undefined);
  assert.deepEqual(world.network.loadBalancers.store.all(), []);
  assert.deepEqual(world.network.addresses.store.all(), []);
});

test('what is kept on purpose loses our tags alone, and is no orphan', async () => {
  const world = newWorld();
  const client = world.connect();
  const desired = desiredWith({ members: membersOf(world, 1), ports: [http, https] });
  const { observed } = await reach(world, client, desired);
  const { applied } = await remove(world, client, observed!, refOf(desired, observed!.id), true);
  assert.deepEqual(does(applied), [
    ...['change listener', 'change listener', 'change pool', 'change address', 'change load balancer'],
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
  assert.deepEqual(client.planRemoval(listed!, { retain: false }).steps, []);
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
    assert.deepEqual(client.planRemoval(observed!, { retain: false }).steps, []);
  }
  const elsewhere = theirs(world);
  const forged = await client.observe({ ...refOf(desiredWith({ name: 'free' })), id: elsewhere.id });
  assert.equal(forged, undefined);
});

test('without its tags a load balancer is not ours any more', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith());
  world.network.loadBalancers.stripTags(observed!.id!);
  const { applied, refusals, observed: now } = await reach(world, client, desiredWith(), observed!.id);
  assert.deepEqual([applied, now?.owner], [[], desiredWith().owner]);
  assert.equal(now?.pieces.own, undefined);
  assert.deepEqual(
    refusals.map(({ reason }) => reason),
    ['ForeignLoadBalancer'],
  );
});

test('a listener of somebody else on our load balancer stays, and its port is refused', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith());
  const { pools } = world.network.loadBalancers.store.get(observed!.id!)!;
  world.network.loadBalancers.addListener(observed!.id!, {
    ...{ name: 'theirs', tags: {}, protocol: 'TCP', port: 443, memberPort: 1, sourceRanges: [], pool: pools[0]!.id },
    ...{ proxyProtocol: false, tls: false, clientToken: undefined },
  });
  const { applied, refusals } = await reach(world, client, desiredWith({ ports: [http, https] }), observed!.id);
  assert.deepEqual([does(applied), refusals.map(({ reason }) => reason)], [[], ['Conflict']]);
  assert.match(refusals[0]!.message, /TCP 443 of load balancer .* is taken by listener lsn-/);
});

test('a failed load balancer is made anew with the address it had', async () => {
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

test('a failed load balancer whose address would not come back stays until somebody consents', async () => {
  const world = newWorld();
  const client = world.connect();
  const address = reserve(world, { [ownerTags.consent]: cluster });
  const { observed } = await reach(world, client, desiredWith({ address }));
  world.network.loadBalancers.setState(observed!.id!, 'failed');
  const refused = await reach(world, client, desiredWith(), observed!.id);
  assert.deepEqual([refused.applied, refused.refusals.map(({ reason }) => reason)], [[], ['AddressWouldChange']]);
  const { observed: now } = await reach(world, client, desiredWith({ mayChangeAddress: true }), observed!.id);
  assert.equal(now?.state, 'active');
  assert.notDeepEqual(now?.ingress, observed?.ingress);
});

test('what is deleted behind our back is made again, and no step insists on it', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith({ ports: [http, https] }));
  world.network.loadBalancers.forget(observed!.id!);
  const { steps } = client.plan(desiredWith(), observed);
  assert.deepEqual(does(steps), ['delete listener']);
  assert.equal((await client.apply(steps[0]!, observed, world.permitted))?.id, undefined);
  const { applied, observed: now } = await reach(world, client, desiredWith(), observed!.id);
  assert.deepEqual(does(applied), ['create load balancer']);
  assert.deepEqual(now?.ingress, observed?.ingress);
});

test('what gives another address is refused without consent, and the rest goes on', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith());
  const internal = { [annotation('internal')]: 'true' };
  const desired = desiredWith({ annotations: internal, ports: [http, https] });
  const { applied, refusals, observed: now } = await reach(world, client, desired, observed!.id);
  assert.deepEqual(does(applied), ['add listener']);
  assert.deepEqual(
    refusals.map(({ reason }) => reason),
    ['AddressWouldChange'],
  );
  assert.deepEqual(now?.ingress, observed?.ingress);
});

test('an annotation that is not understood makes nothing and changes nothing of its kind', async () => {
  const world = newWorld();
  const client = world.connect();
  for (const [name, value] of [
    ['internal', 'yes'],
    ['proxy-protocol', '1'],
    ['tls', 'no-such-port'],
    ['health-check-path', 'healthz'],
    ['health-check-port', '70000'],
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
  assert.deepEqual(does(applied), ['add listener']);
  assert.deepEqual(
    client.annotations.map(({ key }) => key),
    ['internal', 'proxy-protocol', 'tls', 'health-check-path', 'health-check-port'].map(annotation),
  );
});

test('connections that end at the load balancer are told by ipMode', async () => {
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

const named: [string, (world: World) => string, string | undefined][] = [
  ['nobody has reserved', () => '203.0.113.7', 'Unsupported'],
  ['is no address', () => 'web.example', 'Unsupported'],
  ['somebody else has reserved', (world) => reserve(world, {}), 'ForeignLoadBalancer'],
  ['somebody lends', (world) => reserve(world, { [ownerTags.consent]: cluster }), undefined],
  ['somebody lends to another cluster', (world) => reserve(world, { [ownerTags.consent]: 'x' }), 'ForeignLoadBalancer'],
  [
    'was kept from an earlier Service',
    (world) => reserve(world, { [ownerTags.cluster]: cluster, [ownerTags.retained]: 'a/b' }),
    undefined,
  ],
  [
    'is of another Service',
    (world) => reserve(world, { [ownerTags.cluster]: cluster, [ownerTags.service]: 'other' }),
    'ForeignLoadBalancer',
  ],
  ['is inside', (world) => reserve(world, { [ownerTags.consent]: cluster }, 'internal'), 'Unsupported'],
];

function reserve({ network }: World, tags: Record<string, string>, scheme: 'external' | 'internal' = 'external') {
  return network.addresses.reserve(place, { family: 'IPv4', scheme, tags }).address.ip;
}

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

test('an address that a load balancer of somebody else has is a conflict', async () => {
  const world = newWorld();
  const ip = reserve(world, { [ownerTags.consent]: cluster });
  const first = desiredWith({ address: ip, owner: { cluster, service: 'first' } });
  await reach(world, world.connect(), first);
  const { refusals } = await reach(world, world.connect(), desiredWith({ address: ip }));
  assert.deepEqual(
    refusals.map(({ reason }) => reason),
    ['Conflict'],
  );
});

test('one port of a load balancer of somebody else is used with consent, and only our pieces go again', async () => {
  const world = newWorld();
  const client = world.connect();
  const before = theirs(world, { tags: { [ownerTags.consent]: cluster } });
  const attach = { id: before.id, allowed: false };
  const desired = desiredWith({ attach, ports: [https], members: membersOf(world, 2) });
  const { applied, observed } = await reach(world, client, desired);
  assert.deepEqual(does(applied), ['add pool', 'add listener']);
  assert.deepEqual([observed?.attached, observed?.consent, observed?.id], [true, true, before.id]);
  assert.deepEqual([observed?.owner, observed?.members.length], [desired.owner, 2]);
  const other = desiredWith({ attach, ports: [{ ...dns }], owner: { cluster, service: 'other' } });
  await reach(world, client, other);
  const listed = await world.connect().observeAll(cluster);
  assert.deepEqual(new Set(listed.map(({ owner }) => owner?.service)), new Set([desired.owner.service, 'other']));
  for (const one of listed) {
    const wanted = one.owner?.service === 'other' ? other : desired;
    assert.deepEqual(client.plan(wanted, one), { steps: [], refusals: [], waitMs: undefined });
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

test('with a load balancer of its own, attaching to another changes the address and needs consent', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith({ ports: [https] }));
  const { id } = theirs(world);
  const moved = desiredWith({ ports: [https, dns], attach: { id, allowed: true } });
  const refused = await reach(world, client, moved, observed!.id);
  assert.deepEqual(
    [does(refused.applied), refused.refusals.map(({ reason }) => reason)],
    [['add listener'], ['AddressWouldChange']],
  );
  const { applied, observed: now } = await reach(world, client, { ...moved, mayChangeAddress: true }, observed!.id);
  assert.deepEqual(does(applied), [
    ...['add pool', 'add listener', 'add listener', 'delete load balancer', 'release address'],
  ]);
  assert.deepEqual([now?.id, now?.attached], [id, true]);
  const back = desiredWith({ ports: [https, dns] });
  const kept = await reach(world, client, back, id);
  assert.deepEqual([kept.applied, kept.refusals.map(({ reason }) => reason)], [[], ['AddressWouldChange']]);
  const home = await reach(world, client, { ...back, mayChangeAddress: true }, id);
  assert.equal(home.observed?.attached, false);
  assert.equal(world.network.loadBalancers.store.get(id)!.listeners.length, 1);
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
  const byService = new Map((await restarted.observeAll(cluster)).map((one) => [one.owner?.service, one]));
  for (const desired of all) {
    assert.deepEqual(restarted.plan(desired, byService.get(desired.owner.service)).steps, []);
  }
  assert.equal(world.calls.total('load-balancers.get'), 1);
  const [a, b] = [...byService.values()];
  assert.equal(a!.members.length, 300);
  assert.equal(a!.members, b!.members);
});

test('a call that is not permitted is never sent', async () => {
  const world = newWorld();
  const client = world.connect();
  const withheld = new WithheldError('Fenced', 'the lease ends too soon');
  const permit = () => {
    throw withheld;
  };
  const { steps } = client.plan(desiredWith(), undefined);
  await assert.rejects(client.apply(steps[0]!, undefined, { permit }), withheld);
  assert.equal(world.calls.total(), 0);
});

test('a change that somebody else made in between is a conflict, and seen with the next look', async () => {
  const world = newWorld();
  const client = world.connect();
  const { observed } = await reach(world, client, desiredWith());
  world.network.loadBalancers.update(observed!.id!, {
    tags: { ...world.network.loadBalancers.store.get(observed!.id!)!.tags, x: 'y' },
  });
  const desired = desiredWith({ ports: [http, https] });
  const { steps } = client.plan(desired, observed);
  await assert.rejects(
    client.apply(steps[0]!, observed, world.permitted),
    (error) => isCloudError(error) && error.kind === 'Conflict',
  );
  assert.deepEqual(does((await reach(world, client, desired, observed!.id)).applied), ['add listener']);
});

test('every step can be sent again after it has had its effect', async () => {
  const world = newWorld();
  const client = world.connect();
  const members = membersOf(world, 2);
  const twice = async (desired: DesiredLoadBalancer) => {
    let observed = await client.observe(refOf(desired));
    for (;;) {
      const step = client.plan(desired, observed).steps[0];
      if (!step) return observed;
      const first = await client.apply(step, observed, world.permitted);
      const second = await client.apply(step, observed, world.permitted);
      assert.deepEqual(second && { ...second, pieces: undefined }, first && { ...first, pieces: undefined });
      observed = second;
    }
  };
  await twice(desiredWith({ members, ports: [http, https] }));
  await twice(
    desiredWith({
      ...{ members: members.slice(1), ports: [{ ...https, nodePort: 1 }, dns], families: ['IPv4', 'IPv6'] },
      ...{ sessionAffinity: { timeoutSeconds: 5 }, service: 'default/other' },
    }),
  );
  let observed = await client.observe(refOf(desiredWith()));
  for (;;) {
    const step = observed && client.planRemoval(observed, { retain: false }).steps[0];
    if (!step) break;
    await client.apply(step, observed, world.permitted);
    observed = await client.apply(step, observed, world.permitted);
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
  ['not-ready', 409, 'Conflict'],
] as const;

for (const [code, status, kind] of failures) {
  test(`${status} ${code} is ${kind}`, async () => {
    const world = newWorld();
    world.sandbox.faults.add({ operation: 'addresses.create', effect: { kind: 'error', status, code } });
    await assert.rejects(
      reach(world, world.connect(), desiredWith()),
      (error) => isCloudError(error) && error.kind === kind && error.operation === 'addresses.create',
    );
  });
}

test('an answer that is not what the cloud documents is Invalid and names the field', async () => {
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

test('a list whose pages lead in a circle is no list', async () => {
  const world = newWorld();
  await reach(world, world.connect(), desiredWith());
  world.sandbox.faults.add({ operation: 'load-balancers.list', effect: { kind: 'chain-loops' } });
  await assert.rejects(world.connect().observeAll(cluster), /pages lead in a circle/);
});
