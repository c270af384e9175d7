import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../common/process/random.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { createSimulatedCloud, type SimulatedCloudOptions } from './cloud.ts';
import { inProcessHttp } from './in-process.ts';

function newCloud(options: Partial<SimulatedCloudOptions> = {}) {
  const clock = fakeClock();
  const cloud = createSimulatedCloud({ clock, random: seededRandom(3), ...options });
  const http = inProcessHttp(cloud.api, clock);
  const base = 'http://cloud/v1/projects/demo/regions/sim-1';
  async function call(method: string, path: string, body?: unknown, credential = cloud.credential) {
    const answer = await http({
      method,
      url: base + path,
      timeoutMs: 10_000,
      headers: { authorization: `Bearer ${credential}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, value: JSON.parse(answer.text) };
  }
  const code = async (...request: Parameters<typeof call>) => {
    const { status, value } = await call(...request);
    return `${status} ${value.error?.code ?? ''}`.trim();
  };
  return { clock, cloud, call, code };
}

const web = {
  name: 'web',
  tags: { team: 'a' },
  pools: [{ name: 'web', healthCheck: { port: 10256, path: '/healthz' } }],
  listeners: [{ protocol: 'TCP', port: 80, memberPort: 30080, pool: 'web' }],
};

test('a load balancer is created whole in one call, and provisioned after its time', async () => {
  const { clock, cloud, call, code } = newCloud({ loadBalancerTimings: { provisioningMs: 300 } });
  const ids = cloud.model.createMany(2).map(({ id }) => id);
  const members = ids.map((instanceId) => ({ instanceId }));
  const made = await call('POST', '/load-balancers', { ...web, pools: [{ ...web.pools[0], members }] });
  assert.equal(made.status, 201);
  assert.equal(made.value.state, 'provisioning');
  assert.equal(made.value.listeners[0].pool, made.value.pools[0].id);
  assert.deepEqual(
    new Set(made.value.pools[0].members.map((one: { instanceId: string }) => one.instanceId)),
    new Set(ids),
  );
  assert.equal(await code('PATCH', `/load-balancers/${made.value.id}`, { tags: { a: 'b' } }), '409 not-ready');
  await clock.advance(300);
  const { value } = await call('GET', `/load-balancers/${made.value.id}`);
  assert.equal(value.state, 'active');
  assert.equal(value.revision, 1);
  assert.equal(value.addresses[0].ip, '198.19.0.1');
});

test('a token makes one thing, however often it is sent, and is free again when that is gone', async () => {
  const { call, code } = newCloud();
  const first = await call('POST', '/load-balancers', { ...web, clientToken: 't' });
  const again = await call('POST', '/load-balancers', { ...web, clientToken: 't', tags: {} });
  assert.deepEqual([first.status, again.status, again.value], [201, 200, first.value]);
  const path = `/load-balancers/${first.value.id}`;
  const listener = { clientToken: 'l', protocol: 'UDP', port: 53, memberPort: 53, pool: 'web' };
  const added = await call('POST', `${path}/listeners`, listener);
  assert.deepEqual((await call('POST', `${path}/listeners`, listener)).value, added.value);
  const pool = { clientToken: 'p', name: 'second' };
  const pooled = await call('POST', `${path}/pools`, pool);
  assert.deepEqual((await call('POST', `${path}/pools`, pool)).value, pooled.value);
  assert.equal(pooled.value.pools.length, 2);
  const address = { clientToken: 'a' };
  assert.deepEqual(
    (await call('POST', '/addresses', address)).value,
    (await call('POST', '/addresses', address)).value,
  );
  assert.equal(await code('DELETE', path), '200');
  assert.equal((await call('POST', '/load-balancers', { ...web, clientToken: 't' })).status, 201);
});

test('names are unique in a region, ports in a load balancer, destinations in the table', async () => {
  const { cloud, call, code } = newCloud();
  const instanceId = cloud.model.create().id;
  const { value } = await call('POST', '/load-balancers', web);
  const taken = await call('POST', '/load-balancers', { ...web, clientToken: 'other' });
  assert.deepEqual([taken.status, taken.value.error.code, taken.value.error.id], [409, 'name-taken', value.id]);
  const listener = { protocol: 'TCP', port: 80, memberPort: 1, pool: 'web' };
  assert.equal(await code('POST', `/load-balancers/${value.id}/listeners`, listener), '409 port-taken');
  assert.equal(await code('POST', `/load-balancers/${value.id}/pools`, { name: 'web' }), '409 name-taken');
  assert.equal(await code('POST', '/routes', { destination: '10.0.1.0/24', instanceId }), '201');
  assert.equal(await code('POST', '/routes', { destination: '10.0.1.0/24', instanceId }), '409 route-exists');
  assert.equal(await code('POST', '/routes', { destination: '10.0.1.1/24', instanceId }), '400 invalid');
});

test('members are set as a whole or not at all, and refused ones are named', async () => {
  const { cloud, call } = newCloud();
  const [a, b] = cloud.model.createMany(2).map(({ id }) => id);
  const { value } = await call('POST', '/load-balancers', web);
  const path = `/load-balancers/${value.id}/pools/${value.pools[0].id}/members`;
  const set = await call('PUT', path, { members: [{ instanceId: a, weight: 0 }] });
  assert.deepEqual(set.value.pools[0].members, [{ instanceId: a, weight: 0 }]);
  cloud.network.loadBalancers.members.refuse(b!, true);
  const refused = await call('PUT', path, { members: [a, b, 'i-none'].map((instanceId) => ({ instanceId })) });
  assert.equal(refused.status, 400);
  assert.equal(refused.value.error.code, 'invalid-member');
  assert.deepEqual(new Set(refused.value.error.ids), new Set([b, 'i-none']));
  cloud.model.terminate(a!);
  assert.deepEqual((await call('PUT', path, { members: [{ instanceId: a }] })).value.error.ids, [a]);
  assert.equal((await call('GET', `/load-balancers/${value.id}`)).value.pools[0].memberCount, 1);
  cloud.network.loadBalancers.members.setMax(1);
  const instances = cloud.model.createMany(2).map(({ id }) => ({ instanceId: id }));
  assert.equal((await call('PUT', path, { members: instances })).value.error.code, 'too-many-members');
});

test('a large set of members is shown by its digest on request', async () => {
  const { cloud, call } = newCloud();
  const members = cloud.model.createMany(3).map(({ id }) => ({ instanceId: id }));
  await call('POST', '/load-balancers', { ...web, pools: [{ name: 'web', members }] });
  await call('POST', '/load-balancers', {
    ...web,
    name: 'same',
    pools: [{ name: 'web', members: members.toReversed() }],
  });
  const { value } = await call('GET', '/load-balancers?inlineMembers=2');
  const [first, second] = value.items.map(({ pools }: { pools: unknown[] }) => pools[0]);
  assert.equal(first.members, undefined);
  assert.equal(first.memberCount, 3);
  assert.equal(first.memberDigest, second.memberDigest);
  assert.equal((await call('GET', '/load-balancers?inlineMembers=3')).value.items[0].pools[0].members.length, 3);
});

test('a change with an outdated revision is refused', async () => {
  const { call, code } = newCloud();
  const { id, revision, listeners } = (await call('POST', '/load-balancers', web)).value;
  const path = `/load-balancers/${id}`;
  const changed = await call('PATCH', `${path}/listeners/${listeners[0].id}`, { memberPort: 1, ifRevision: revision });
  assert.equal(changed.value.revision, revision + 1);
  assert.equal(await code('PATCH', path, { tags: { team: null }, ifRevision: revision }), '409 revision-mismatch');
  assert.equal(await code('DELETE', `${path}?ifRevision=${revision}`), '409 revision-mismatch');
  const { value } = await call('PATCH', path, { tags: { team: null, mine: 'b' }, ifRevision: revision + 1 });
  assert.deepEqual(value.tags, { mine: 'b' });
});

test('a deleted load balancer keeps name and address for its time, and then is not found', async () => {
  const { clock, call, code } = newCloud({ loadBalancerTimings: { deletingMs: 1000 } });
  const address = (await call('POST', '/addresses', {})).value;
  const { id } = (await call('POST', '/load-balancers', { ...web, addresses: [address.id] })).value;
  assert.equal((await call('GET', `/addresses/${address.id}`)).value.usedBy, id);
  assert.equal(await code('DELETE', `/addresses/${address.id}`), '409 address-in-use');
  assert.equal((await call('DELETE', `/load-balancers/${id}`)).value.state, 'deleting');
  assert.equal(await code('DELETE', `/load-balancers/${id}`), '202');
  assert.equal(await code('POST', '/load-balancers', web), '409 name-taken');
  await clock.advance(1000);
  assert.equal(await code('GET', `/load-balancers/${id}`), '404 load-balancer-not-found');
  assert.equal(await code('DELETE', `/addresses/${address.id}`), '200');
  assert.equal(await code('GET', `/addresses/${address.id}`), '404 address-not-found');
});

test('an address of another family can be added and removed, and none of the same family', async () => {
  const { call, code } = newCloud();
  const v4 = (await call('POST', '/addresses', {})).value;
  const other = (await call('POST', '/addresses', {})).value;
  const v6 = (await call('POST', '/addresses', { family: 'IPv6' })).value;
  const { id } = (await call('POST', '/load-balancers', { ...web, addresses: [v4.id] })).value;
  const set = (...addresses: string[]) => call('PATCH', `/load-balancers/${id}`, { addresses });
  assert.equal((await set(v4.id, v6.id)).value.addresses.length, 2);
  assert.equal((await set(v4.id, other.id)).value.error.code, 'address-fixed');
  assert.equal((await set(v4.id)).value.addresses.length, 1);
  assert.equal(await code('DELETE', `/addresses/${v6.id}`), '200');
  const internal = (await call('POST', '/addresses', { family: 'IPv6', scheme: 'internal' })).value;
  assert.equal((await set(v4.id, internal.id)).value.error.code, 'invalid');
});

test('a tag finds load balancers that carry it themselves or on a listener', async () => {
  const { call } = newCloud();
  const tags = { 'mooring.dev/service-uid': 'u:1' };
  await call('POST', '/load-balancers', { ...web, name: 'a', tags });
  await call('POST', '/load-balancers', { ...web, name: 'b', listeners: [{ ...web.listeners[0], tags }] });
  await call('POST', '/load-balancers', { ...web, name: 'c' });
  const names = async (query: string) =>
    (await call('GET', `/load-balancers?${query}`)).value.items.map(({ name }: { name: string }) => name);
  assert.deepEqual(await names('tag=mooring.dev/service-uid:u:1'), ['a', 'b']);
  assert.deepEqual(await names('name=c'), ['c']);
  assert.deepEqual(await names('limit=2'), ['a', 'b']);
  const { nextPageToken } = (await call('GET', '/load-balancers?limit=2')).value;
  assert.deepEqual(await names(`limit=2&pageToken=${nextPageToken}`), ['c']);
});

test('quotas refuse one too many, and routes tell theirs before', async () => {
  const { cloud, call, code } = newCloud();
  for (const kind of ['load-balancers', 'addresses', 'routes'] as const) cloud.network.quotas.set(kind, 1);
  const instanceId = cloud.model.create().id;
  for (const [path, body] of [
    ['/load-balancers', web],
    ['/addresses', {}],
    ['/routes', { destination: '10.0.1.0/24', instanceId }],
  ] as const) {
    assert.equal(await code('POST', path, body), '201');
    const more = { ...body, name: 'more', destination: '10.0.2.0/24' };
    assert.equal(await code('POST', path, more), '403 quota-exceeded');
  }
  assert.deepEqual((await call('GET', '/routes')).value.quota, { limit: 1, used: 1 });
  cloud.network.quotas.set('addresses', undefined);
  assert.equal(await code('POST', '/addresses', {}), '201');
});

test('a route is a blackhole when its instance is terminated or gone, or by the admin API', async () => {
  const { cloud, call } = newCloud();
  const [a, b, c] = cloud.model.createMany(3).map(({ id }) => id);
  for (const [at, instanceId] of [a, b, c].entries()) {
    await call('POST', '/routes', { destination: `fd00:1:${at}::/64`, instanceId });
  }
  cloud.model.terminate(a!);
  cloud.model.forget(b!);
  cloud.model.stop(c!);
  const shown = async () =>
    (await call('GET', '/routes')).value.items.map((one: { blackhole: boolean }) => one.blackhole);
  assert.deepEqual(await shown(), [true, true, false]);
  cloud.network.routes.setBroken(cloud.network.routes.store.all()[2]!.id, true);
  assert.deepEqual(await shown(), [true, true, true]);
});

test('lists can be stale, a load balancer read by its id never is', async () => {
  const { clock, cloud, call } = newCloud();
  cloud.faults.add({ operation: '*', effect: { kind: 'stale', ageMs: 1000 } });
  const { id } = (await call('POST', '/load-balancers', web)).value;
  const listed = async (query = '') => (await call('GET', `/load-balancers${query}`)).value.items.length;
  assert.deepEqual([await listed(), await listed('?name=web')], [0, 0]);
  assert.equal((await call('GET', `/load-balancers/${id}`)).status, 200);
  await clock.advance(1001);
  assert.deepEqual([await listed(), await listed('?name=web')], [1, 1]);
  cloud.network.loadBalancers.forget(id);
  assert.equal(await listed(), 1);
  assert.equal((await call('GET', `/load-balancers/${id}`)).status, 404);
});

test('a creation has its effect when its answer is lost, and none when it is refused', async () => {
  const { cloud, call, code } = newCloud();
  cloud.faults.add({ operation: 'load-balancers.create', times: 1, effect: { kind: 'lost-answer' } });
  await assert.rejects(call('POST', '/load-balancers', web), { kind: 'unreachable' });
  assert.equal(cloud.network.loadBalancers.store.all().length, 1);
  cloud.faults.add({ operation: 'addresses.*', times: 1, effect: { kind: 'throttle', retryAfterSeconds: 3 } });
  assert.equal(await code('POST', '/addresses', {}), '429 throttled');
  assert.equal(cloud.network.addresses.store.all().length, 0);
  assert.deepEqual(cloud.calls.snapshot(), { 'load-balancers.create': { lost: 1 }, 'addresses.create': { 429: 1 } });
});

test('a fault strikes the calls about one load balancer, or lets a new one fail', async () => {
  const { cloud, call, code } = newCloud();
  cloud.faults.add({ operation: 'load-balancers.create', times: 1, effect: { kind: 'ends-failed' } });
  const a = (await call('POST', '/load-balancers', web)).value;
  const b = (await call('POST', '/load-balancers', { ...web, name: 'b' })).value;
  assert.deepEqual([a.state, b.state], ['failed', 'active']);
  cloud.faults.add({ operation: '*', resource: a.id, effect: { kind: 'error', status: 503 } });
  const path = (id: string) => `/load-balancers/${id}/pools`;
  assert.equal(await code('POST', path(a.id), { name: 'p' }), '503 simulated-fault');
  assert.equal(await code('POST', path(b.id), { name: 'p' }), '200');
});

test("another project's credential sees nothing and creates nothing", async () => {
  const { cloud, call, code } = newCloud();
  const { id } = (await call('POST', '/load-balancers', web)).value;
  cloud.credentials.set('theirs', 'other');
  assert.deepEqual((await call('GET', '/load-balancers', undefined, 'theirs')).value.items, []);
  assert.equal(await code('GET', `/load-balancers/${id}`, undefined, 'theirs'), '404 load-balancer-not-found');
  assert.equal(await code('DELETE', `/load-balancers/${id}`, undefined, 'theirs'), '404 load-balancer-not-found');
  assert.equal(await code('POST', '/addresses', {}, 'theirs'), '403 forbidden');
  assert.equal(await code('GET', '/load-balancers', undefined, 'unheard-of'), '401 unauthorized');
});

const refused: [string, string, string, unknown, string][] = [
  [
    'a port beyond the last',
    'POST',
    '/load-balancers',
    { ...web, listeners: [{ ...web.listeners[0], port: 70_000 }] },
    '400 invalid',
  ],
  ['a listener of an unknown pool', 'POST', '/load-balancers', { ...web, pools: [] }, '404 pool-not-found'],
  ['an unknown family', 'POST', '/load-balancers', { ...web, families: ['IPv5'] }, '400 invalid'],
  ['an unknown address', 'POST', '/load-balancers', { ...web, addresses: ['addr-none'] }, '404 address-not-found'],
  ['a tag that is a number', 'POST', '/addresses', { tags: { a: 1 } }, '400 invalid'],
  [
    'a route to an unknown instance',
    'POST',
    '/routes',
    { destination: '10.0.0.0/24', instanceId: 'i-none' },
    '400 no-such-instance',
  ],
  ['a page without items', 'GET', '/load-balancers?limit=0', undefined, '400 invalid'],
  ['a tag without a value', 'GET', '/load-balancers?tag=x', undefined, '400 invalid'],
  ['a path of no kind', 'GET', '/load-balancers/x/y', undefined, '404 path-not-found'],
  ['a verb of no kind', 'PUT', '/routes', {}, '404 path-not-found'],
];

for (const [what, method, path, body, expected] of refused) {
  test(`refuses ${what}, and leaves nothing behind`, async () => {
    const { cloud, code } = newCloud();
    assert.equal(await code(method, path, body), expected);
    const { loadBalancers, addresses, routes } = cloud.network;
    for (const { store } of [loadBalancers, addresses, routes]) assert.deepEqual(store.all(), []);
  });
}

test('a follower of the changes sees each state, and every change of listeners and members', async () => {
  const { clock, cloud, call } = newCloud({ loadBalancerTimings: { provisioningMs: 10, deletingMs: 10 } });
  const seen: string[] = [];
  const stop = cloud.network.loadBalancers.onChange(({ after }) =>
    seen.push(after ? `${after.state} ${after.listeners.length}` : 'gone'),
  );
  const { id, listeners } = (await call('POST', '/load-balancers', web)).value;
  await clock.advance(10);
  await call('DELETE', `/load-balancers/${id}/listeners/${listeners[0].id}`);
  await call('DELETE', `/load-balancers/${id}`);
  await clock.advance(10);
  stop();
  assert.deepEqual(seen, ['provisioning 1', 'active 1', 'active 0', 'deleting 0', 'gone']);
  assert.equal(clock.pending, 0);
});
