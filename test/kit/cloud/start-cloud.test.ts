import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { createHttp } from '../../../common/process/http.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { startCloud } from './start-cloud.ts';

async function running(t: TestContext) {
  const clock = systemClock();
  const cloud = await startCloud({ clock, random: seededRandom(9) });
  const { http, close } = createHttp({ clock, plain: { keepAlive: true, maxSockets: 4 } });
  t.after(async () => {
    close();
    await cloud.stop();
  });
  const api = (path: string) =>
    http({
      url: `${cloud.url}/v1/projects/demo/regions/sim-1${path}`,
      timeoutMs: 20_000,
      maxBytes: 16 * 1024 * 1024,
      headers: { authorization: `Bearer ${cloud.credential}` },
    });
  const admin = async (method: string, path: string, body?: unknown) => {
    const answer = await http({
      method,
      url: `${cloud.url}/admin${path}`,
      timeoutMs: 20_000,
      maxBytes: 64 * 1024 * 1024,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, value: JSON.parse(answer.text) };
  };
  return { cloud, http, api, admin };
}

test('another process can create, change and remove instances through the admin API', async (t) => {
  const { cloud, api, admin } = await running(t);
  const created = await admin('POST', '/instances', { count: 3, name: 'worker', external: true });
  const [a, b, c] = created.value.items.map(({ id }: { id: string }) => id);
  assert.equal(JSON.parse((await api('/instances')).text).items.length, 3);
  await admin('POST', `/instances/${a}/stop`);
  assert.equal(JSON.parse((await api(`/instances/${a}`)).text).power, 'stopped');
  await admin('POST', `/instances/${a}/start`);
  await admin('POST', `/instances/${a}/type`, { type: 'sim.large' });
  await admin('POST', `/instances/${a}/name`, { name: 'renamed' });
  await admin('POST', `/instances/${a}/tags`, { pool: 'blue' });
  await admin('POST', `/instances/${a}/addresses`, { interfaces: [{ internal: ['10.1.1.1'] }] });
  await admin('POST', `/instances/${a}/notices`, { notices: [{ kind: 'maintenance' }] });
  const changed = cloud.model.get(a);
  assert.equal(changed?.power, 'running');
  assert.equal(changed?.type, 'sim.large');
  assert.equal(changed?.name, 'renamed');
  assert.deepEqual(changed?.tags, { pool: 'blue' });
  assert.deepEqual(changed?.interfaces[0]?.internal, ['10.1.1.1']);
  assert.equal(changed?.notices[0]?.kind, 'maintenance');
  const rebuilt = await admin('POST', `/instances/${b}/rebuild`, { mode: 'same-name' });
  assert.equal(rebuilt.value.name, 'worker-0002');
  assert.equal((await api(`/instances/${b}`)).status, 404);
  await admin('POST', `/instances/${c}/terminate`);
  assert.equal((await admin('GET', `/instances/${c}`)).value.power, 'terminated');
  await admin('POST', `/instances/${c}/forget`);
  assert.equal((await admin('GET', `/instances/${c}`)).status, 404);
});

test('an invalid admin call is refused with a reason and not counted', async (t) => {
  const { admin } = await running(t);
  assert.equal((await admin('POST', '/instances/i-none/stop')).status, 404);
  assert.equal((await admin('POST', '/instances', { zone: 'moon' })).status, 400);
  assert.equal((await admin('POST', '/instances', { count: 0 })).status, 400);
  assert.equal((await admin('POST', '/instances/i-none/dance')).status, 404);
  assert.equal((await admin('POST', '/faults', { operation: '*', effect: { kind: 'x' } })).status, 400);
  assert.equal((await admin('DELETE', '/faults/99')).status, 404);
  assert.deepEqual((await admin('GET', '/calls')).value, { calls: {}, metadataCalls: {} });
});

test('faults, credentials, limits and counts are set through the admin API', async (t) => {
  const { cloud, api, admin } = await running(t);
  const fault = { operation: 'instances.*', effect: { kind: 'error', status: 500 } };
  const { number } = (await admin('POST', '/faults', fault)).value;
  assert.equal((await api('/instances')).status, 500);
  assert.deepEqual((await admin('GET', '/faults')).value.items, [{ number, ...fault }]);
  await admin('DELETE', `/faults/${number}`);
  await admin('POST', '/credentials', { credential: cloud.credential, mode: 'sees-nothing' });
  assert.deepEqual(JSON.parse((await api('/instances')).text).items, []);
  await admin('POST', '/credentials', { credential: cloud.credential, mode: 'ok' });
  await admin('POST', '/throttle', { project: 'demo', rate: { perSecond: 0.001, burst: 1 } });
  assert.equal((await api('/instances')).status, 200);
  assert.equal((await api('/instances')).status, 429);
  assert.deepEqual((await admin('GET', '/calls')).value.calls, { 'instances.list': { 200: 2, 429: 1, 500: 1 } });
  await admin('DELETE', '/calls');
  assert.deepEqual((await admin('GET', '/calls')).value.calls, {});
});

test('over real sockets an answer can be lost, cut, or never come', async (t) => {
  const { cloud, http, api } = await running(t);
  cloud.model.createMany(5);
  cloud.faults.add({ operation: 'instances.list', times: 1, effect: { kind: 'lost-answer' } });
  await assert.rejects(api('/instances'), { kind: 'unreachable' });
  cloud.faults.add({ operation: 'instances.list', times: 1, effect: { kind: 'cut-body' } });
  await assert.rejects(api('/instances'), { kind: 'unreachable' });
  cloud.faults.add({ operation: 'instances.list', times: 1, effect: { kind: 'silence' } });
  const url = `${cloud.url}/v1/projects/demo/regions/sim-1/instances`;
  // Given up once it has arrived: the fault of one that never did would hit the next.
  const stop = new AbortController();
  const silent = assert.rejects(http({ url, timeoutMs: 20_000, signal: stop.signal }), { kind: 'aborted' });
  while (cloud.calls.snapshot()['instances.list']?.['silence'] === undefined)
    await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await silent;
  assert.equal((await api('/instances')).status, 200);
  assert.deepEqual(cloud.calls.snapshot(), { 'instances.list': { lost: 1, cut: 1, silence: 1, 200: 1 } });
});

test('the metadata services answer over HTTP, and a long poll ends with a change', async (t) => {
  const { cloud, http } = await running(t);
  const { id } = cloud.model.create();
  const get = (query = '') =>
    http({
      url: `${cloud.metadataUrl(id)}/metadata/v1/instance${query}`,
      timeoutMs: 20_000,
      headers: { 'X-Simulated-Metadata': 'true' },
    });
  const first = await get();
  assert.equal(JSON.parse(first.text).id, id);
  const poll = get(`?wait_for_change=true&last_etag=${first.header('etag')}&timeout_sec=15`);
  while (cloud.metadataCalls.total() < 2) {
    cloud.model.setType(id, `sim.${cloud.model.get(id)?.type}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.notEqual((await poll).header('etag'), first.header('etag'));
});

test('fifteen thousand instances are listed in fifteen calls', async (t) => {
  const { cloud, api } = await running(t);
  cloud.model.createMany(15_000);
  let seen = 0;
  let token = '';
  do {
    const page = JSON.parse((await api(`/instances?limit=1000&pageToken=${token || 0}`)).text);
    seen += page.items.length;
    token = page.nextPageToken ?? '';
  } while (token);
  assert.equal(seen, 15_000);
  assert.equal(cloud.calls.total(), 15);
});

test('load balancers, addresses and routes are created, changed and deleted through the admin API', async (t) => {
  const { cloud, api, admin } = await running(t);
  await admin('POST', '/load-balancer-timings', { provisioningMs: 0, deletingMs: 0 });
  const instanceId = cloud.model.create().id;
  const pools = [{ name: 'p', tags: { a: 'b' }, members: [{ instanceId }] }];
  const { id } = (await admin('POST', '/load-balancers', { name: 'theirs', pools })).value;
  const shown = async () => JSON.parse((await api(`/load-balancers/${id}`)).text);
  assert.equal((await shown()).state, 'active');
  await admin('POST', `/load-balancers/${id}/health`, { healthy: false });
  assert.equal((await shown()).pools[0].members[0].healthy, false);
  await admin('POST', `/load-balancers/${id}/tags`, { tags: { c: 'd' } });
  assert.deepEqual((await shown()).tags, { c: 'd' });
  await admin('POST', `/load-balancers/${id}/strip-tags`);
  assert.deepEqual([(await shown()).tags, (await shown()).pools[0].tags], [{}, {}]);
  await admin('POST', `/load-balancers/${id}/state`, { state: 'failed' });
  assert.equal((await admin('GET', '/load-balancers')).value.items[0].state, 'failed');
  await admin('DELETE', `/load-balancers/${id}`);
  assert.equal((await api(`/load-balancers/${id}`)).status, 404);

  const address = (await admin('POST', '/addresses', { tags: { a: 'b' } })).value;
  await admin('POST', `/addresses/${address.id}/tags`, { tags: {} });
  assert.deepEqual((await admin('GET', `/addresses/${address.id}`)).value.tags, {});
  await admin('DELETE', `/addresses/${address.id}`);
  assert.deepEqual((await admin('GET', '/addresses')).value.items, []);

  const route = (await admin('POST', '/routes', { destination: '10.9.0.0/24', instanceId })).value;
  await admin('POST', `/routes/${route.id}/blackhole`);
  assert.equal((await admin('GET', `/routes/${route.id}`)).value.blackhole, true);
  await admin('POST', '/quotas', { kind: 'routes', limit: 7 });
  assert.deepEqual(JSON.parse((await api('/routes')).text).quota, { limit: 7, used: 1 });
  await admin('DELETE', `/routes/${route.id}`);

  await admin('POST', `/members/${instanceId}/refuse`);
  assert.equal((await admin('POST', '/load-balancers', { name: 'x', pools })).value.error.code, 'invalid-member');
  await admin('POST', `/members/${instanceId}/refuse`, { refused: false });
  await admin('POST', '/members/max', { count: 0 });
  assert.equal((await admin('POST', '/load-balancers', { name: 'x', pools })).value.error.code, 'too-many-members');
  assert.equal((await admin('POST', '/load-balancers', { name: 'x', place: 'moon/1' })).status, 400);
  assert.equal((await admin('POST', '/quotas', { kind: 'moons' })).status, 400);
  assert.equal((await admin('DELETE', '/load-balancers/lb-none')).status, 404);
});
