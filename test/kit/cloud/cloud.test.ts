import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpFailure } from '../../../common/process/http.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { createSimulatedCloud, type SimulatedCloudOptions } from './cloud.ts';
import type { Effect, Fault } from './faults.ts';
import { inProcessHttp } from './in-process.ts';

interface Listed {
  items: { id: string; name: string; power: string }[];
  nextPageToken?: string;
}

function newCloud(options: Partial<SimulatedCloudOptions> = {}) {
  const clock = fakeClock();
  const cloud = createSimulatedCloud({ clock, random: seededRandom(3), ...options });
  const http = inProcessHttp(cloud.api, clock);
  const base = 'http://cloud/v1/projects/demo/regions/sim-1';
  const call = (path: string, { method = 'GET', body = '', credential = cloud.credential } = {}) =>
    http({ method, body, url: base + path, timeoutMs: 10_000, headers: { Authorization: `Bearer ${credential}` } });
  const json = async (path: string, init?: Parameters<typeof call>[1]): Promise<Listed> =>
    JSON.parse((await call(path, init)).text);
  return { clock, cloud, call, json, http, base };
}

function code(text: string): string {
  return JSON.parse(text).error.code;
}

test('a list has pages that show every instance exactly once', async () => {
  const { cloud, json } = newCloud();
  const ids = cloud.model.createMany(2501).map(({ id }) => id);
  cloud.model.create({ region: 'sim-2' });
  const seen: string[] = [];
  let token = '';
  do {
    const page = await json(`/instances?limit=1000${token && `&pageToken=${token}`}`);
    seen.push(...page.items.map(({ id }) => id));
    if (token === '') cloud.model.forget(ids[500]!);
    token = page.nextPageToken ?? '';
  } while (token);
  assert.deepEqual(seen, ids);
  assert.deepEqual(cloud.calls.snapshot(), { 'instances.list': { 200: 3 } });
});

test('ids are looked up by query or by body, and only those of this region are shown', async () => {
  const { cloud, json, call } = newCloud();
  const [a, b] = cloud.model.createMany(2).map(({ id }) => id);
  const elsewhere = cloud.model.create({ region: 'sim-2' }).id;
  const byQuery = await json(`/instances?ids=${a},${b},${elsewhere},i-none`);
  const body = JSON.stringify({ ids: [a, b, elsewhere, 'i-none'] });
  const byBody = await json('/instances:lookup', { method: 'POST', body });
  assert.deepEqual(byBody, byQuery);
  assert.deepEqual(
    byQuery.items.map(({ id }) => id),
    [a, b],
  );
  assert.equal(cloud.calls.total('instances.lookup'), 2);
  const tooMany = JSON.stringify({ ids: Array.from({ length: 1001 }, (_, n) => `i-${n}`) });
  assert.equal((await call('/instances:lookup', { method: 'POST', body: tooMany })).status, 400);
  assert.equal((await call('/instances:lookup', { method: 'POST', body: 'no' })).status, 400);
});

test('an instance is found by id and by exact name, and a missing one has a code of its own', async () => {
  const { cloud, call, json } = newCloud();
  const { id } = cloud.model.create({ name: 'worker-1' });
  cloud.model.create({ name: 'worker-10' });
  assert.equal(JSON.parse((await call(`/instances/${id}`)).text).name, 'worker-1');
  assert.equal((await json('/instances?name=worker-1')).items.length, 1);
  assert.deepEqual((await json('/instances?name=worker')).items, []);
  const missing = await call('/instances/i-none');
  assert.equal(missing.status, 404);
  assert.equal(code(missing.text), 'instance-not-found');
});

test('an unknown region has another code than an unknown instance', async () => {
  const { cloud, http } = newCloud();
  const answer = await http({
    url: 'http://cloud/v1/projects/demo/regions/sim-9/instances/i-1',
    timeoutMs: 1000,
    headers: { authorization: `Bearer ${cloud.credential}` },
  });
  assert.equal(answer.status, 404);
  assert.equal(code(answer.text), 'region-not-found');
});

test('the ping of a region is harmless and names its zones', async () => {
  const { call } = newCloud();
  assert.deepEqual(JSON.parse((await call('/')).text), {
    project: 'demo',
    region: 'sim-1',
    zones: ['sim-1a', 'sim-1b', 'sim-1c'],
  });
});

test('a mutation over the wire is carried out even when its answer is lost', async () => {
  const { cloud, call } = newCloud();
  const { id } = cloud.model.create();
  cloud.faults.add({ operation: 'instances.stop', times: 1, effect: { kind: 'lost-answer' } });
  await assert.rejects(call(`/instances/${id}:stop`, { method: 'POST' }), { kind: 'unreachable' });
  assert.equal(cloud.model.get(id)?.power, 'stopped');
  assert.equal((await call(`/instances/${id}:stop`, { method: 'POST' })).status, 200);
  assert.deepEqual(cloud.calls.snapshot(), { 'instances.stop': { lost: 1, 200: 1 } });
});

test('an unknown or refused credential is rejected', async () => {
  const { cloud, call } = newCloud();
  assert.equal((await call('/instances', { credential: 'wrong' })).status, 401);
  cloud.credentials.setMode(cloud.credential, 'forbidden');
  assert.equal((await call('/instances')).status, 403);
  cloud.credentials.setMode(cloud.credential, 'unauthorized');
  assert.equal((await call('/instances')).status, 401);
  cloud.credentials.setMode(cloud.credential, 'ok');
  assert.equal((await call('/instances')).status, 200);
});

test("another project's credential sees an empty cloud, not a refusal", async () => {
  const projects = { demo: { 'sim-1': ['a'] }, other: { 'sim-1': ['a'] } };
  const { cloud, call, json } = newCloud({ projects });
  const { id, name } = cloud.model.create();
  cloud.credentials.set('theirs', 'other');
  const credential = 'theirs';
  assert.deepEqual((await json('/instances', { credential })).items, []);
  assert.deepEqual((await json(`/instances?ids=${id}`, { credential })).items, []);
  assert.deepEqual((await json(`/instances?name=${name}`, { credential })).items, []);
  assert.equal(code((await call(`/instances/${id}`, { credential })).text), 'instance-not-found');
  cloud.credentials.setMode(cloud.credential, 'sees-nothing');
  assert.deepEqual((await json('/instances')).items, []);
  assert.equal((await call(`/instances/${id}:terminate`, { method: 'POST' })).status, 404);
  assert.equal(cloud.model.get(id)?.power, 'running');
});

test('a project over its rate is throttled until tokens come back; other projects are not', async () => {
  const { clock, cloud, call } = newCloud();
  cloud.throttle.set('demo', { perSecond: 0.5, burst: 2 });
  cloud.throttle.set('other', { perSecond: 1, burst: 1 });
  assert.equal((await call('/instances')).status, 200);
  assert.equal((await call('/instances')).status, 200);
  const refused = await call('/instances');
  assert.equal(refused.status, 429);
  assert.equal(refused.header('Retry-After'), '2');
  await clock.advance(2000);
  assert.equal((await call('/instances')).status, 200);
  cloud.throttle.set('demo', undefined);
  for (let times = 0; times < 5; times += 1) assert.equal((await call('/instances')).status, 200);
});

const listFault = (effect: Effect, more: Partial<Fault> = {}): Fault => ({
  operation: 'instances.list',
  effect,
  ...more,
});

test('an error strikes a set number of calls after a set number of good ones', async () => {
  const { cloud, call } = newCloud();
  cloud.faults.add(listFault({ kind: 'error', status: 503, retryAfterSeconds: 7 }, { skip: 1, times: 2 }));
  const statuses: number[] = [];
  for (let times = 0; times < 5; times += 1) statuses.push((await call('/instances')).status);
  assert.deepEqual(statuses, [200, 503, 503, 200, 200]);
  assert.deepEqual(cloud.faults.list(), []);
});

test('an error stands until it is cleared', async () => {
  const { cloud, call } = newCloud();
  const number = cloud.faults.add(listFault({ kind: 'error', status: 500 }));
  for (let times = 0; times < 5; times += 1) assert.equal((await call('/instances')).status, 500);
  assert.equal(cloud.faults.remove(number), true);
  assert.equal((await call('/instances')).status, 200);
});

test('a fault strikes only the operation, project and instance it names', async () => {
  const { cloud, call } = newCloud();
  const [a, b] = cloud.model.createMany(2).map(({ id }) => id);
  const effect: Effect = { kind: 'error', status: 500 };
  cloud.faults.add({ operation: 'instances.get', instance: a!, effect });
  cloud.faults.add({ operation: '*', project: 'other', effect });
  cloud.faults.add({ operation: 'metadata.*', effect });
  assert.equal((await call(`/instances/${a}`)).status, 500);
  assert.equal((await call(`/instances/${b}`)).status, 200);
  cloud.faults.add({ operation: 'instances.*', effect });
  assert.equal((await call('/instances')).status, 500);
  assert.equal((await call('/')).status, 200);
  cloud.faults.add({ operation: '*', effect });
  assert.equal((await call('/')).status, 500);
});

test('a fault with a probability strikes about that share of the calls', async () => {
  const { cloud, call } = newCloud();
  cloud.faults.add(listFault({ kind: 'error', status: 500 }, { probability: 0.25 }));
  let struck = 0;
  for (let times = 0; times < 400; times += 1) if ((await call('/instances')).status === 500) struck += 1;
  assert.ok(struck > 60 && struck < 140, `struck ${struck} of 400`);
});

test('latency holds the answer back, and the call is counted when it is answered', async () => {
  const { clock, cloud, call } = newCloud();
  cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: 200 } });
  let done = false;
  const answer = call('/instances').then((got) => {
    done = true;
    return got;
  });
  await clock.advance(199);
  assert.equal(done, false);
  assert.equal(cloud.calls.total(), 0);
  await clock.advance(1);
  assert.equal((await answer).status, 200);
  assert.equal(cloud.calls.total(), 1);
});

test('silence lasts until the caller gives up', async () => {
  const { clock, cloud, call } = newCloud();
  cloud.faults.add(listFault({ kind: 'silence' }));
  const answer = assert.rejects(call('/instances'), { kind: 'timeout' });
  await clock.advance(10_000);
  await answer;
  assert.equal(clock.pending, 0);
  assert.deepEqual(cloud.calls.snapshot(), { 'instances.list': { silence: 1 } });
});

test('a partial page leaves out configured instances and still claims to be complete', async () => {
  const { cloud, json } = newCloud();
  const ids = cloud.model.createMany(5).map(({ id }) => id);
  cloud.faults.add(listFault({ kind: 'missing-items', ids: [ids[1]!] }, { times: 1 }));
  const page = await json('/instances');
  assert.deepEqual(
    page.items.map(({ id }) => id),
    ids.toSpliced(1, 1),
  );
  assert.equal(page.nextPageToken, undefined);
  cloud.faults.add(listFault({ kind: 'missing-items', count: 3 }, { times: 1 }));
  assert.equal((await json('/instances')).items.length, 2);
  assert.equal((await json('/instances')).items.length, 5);
});

test('a chain of pages can end early or lead in a circle', async () => {
  const { cloud, json } = newCloud();
  cloud.model.createMany(5);
  cloud.faults.add(listFault({ kind: 'chain-ends-early' }, { times: 1 }));
  assert.equal((await json('/instances?limit=2')).nextPageToken, undefined);
  cloud.faults.add(listFault({ kind: 'chain-loops' }, { times: 1 }));
  const first = await json('/instances?limit=2');
  assert.deepEqual(await json(`/instances?limit=2&pageToken=${first.nextPageToken}`), {
    ...first,
    nextPageToken: '2',
  });
});

test('a stale list shows the power and the members of an earlier time', async () => {
  const { clock, cloud, json } = newCloud();
  const { id } = cloud.model.create();
  await clock.advance(5000);
  cloud.model.stop(id);
  cloud.model.create();
  cloud.faults.add({ operation: 'instances.*', effect: { kind: 'stale', ageMs: 1000 } });
  const { items } = await json('/instances');
  assert.deepEqual(
    items.map(({ id: shown, power }) => [shown, power]),
    [[id, 'running']],
  );
  assert.equal((await json(`/instances?ids=${id}`)).items[0]?.power, 'running');
  await clock.advance(1001);
  assert.equal((await json('/instances')).items.length, 2);
});

test('bodies can be cut, malformed, of the wrong shape, without fields, or far too long', async () => {
  const { cloud, call } = newCloud();
  cloud.model.create();
  const once = (effect: Effect) => cloud.faults.add(listFault(effect, { times: 1 }));
  once({ kind: 'cut-body' });
  await assert.rejects(call('/instances'), HttpFailure);
  once({ kind: 'malformed' });
  const malformed = await call('/instances');
  assert.equal(malformed.status, 200);
  assert.throws(() => JSON.parse(malformed.text), SyntaxError);
  once({ kind: 'wrong-shape' });
  assert.equal(JSON.parse((await call('/instances')).text).items, undefined);
  once({ kind: 'missing-fields', fields: ['id', 'zone'] });
  const [item] = JSON.parse((await call('/instances')).text).items;
  assert.equal('id' in item || 'zone' in item, false);
  assert.equal('name' in item, true);
  once({ kind: 'oversized' });
  await assert.rejects(call('/instances'), { kind: 'too-large' });
  once({ kind: 'redirect', location: 'http://127.0.0.2/' });
  const redirect = await call('/instances');
  assert.equal(redirect.status, 302);
  assert.equal(redirect.header('location'), 'http://127.0.0.2/');
});

test('a fault of no known kind is refused', () => {
  const { cloud } = newCloud();
  assert.throws(() => cloud.faults.add(listFault({ kind: 'gremlins' } as unknown as Effect)), { kind: 'invalid' });
  assert.throws(() => cloud.faults.add({ operation: '', effect: { kind: 'silence' } }), { kind: 'invalid' });
});

test('counts can be read without being changed, and reset', async () => {
  const { cloud, call } = newCloud();
  await call('/instances');
  const before = cloud.calls.snapshot();
  await call('/nothing-here');
  assert.deepEqual(before, { 'instances.list': { 200: 1 } });
  assert.equal(cloud.calls.total(), 2);
  cloud.calls.reset();
  assert.deepEqual(cloud.calls.snapshot(), {});
});

async function wireTrace(seed: number): Promise<string> {
  const clock = fakeClock();
  const random = seededRandom(seed);
  const cloud = createSimulatedCloud({ clock, random, timings: { pendingMs: 50 } });
  const http = inProcessHttp(cloud.api, clock);
  cloud.model.createMany(10);
  cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: 5, jitterMs: 50 } });
  cloud.faults.add({ operation: '*', probability: 0.3, effect: { kind: 'error', status: 503 } });
  cloud.faults.add({ operation: 'instances.list', probability: 0.5, effect: { kind: 'missing-items', count: 2 } });
  const trace: string[] = [];
  for (let round = 0; round < 30; round += 1) {
    const url = 'http://cloud/v1/projects/demo/regions/sim-1/instances';
    const headers = { authorization: `Bearer ${cloud.credential}` };
    http({ url, headers, timeoutMs: 40 }).then(
      ({ status, text }) => trace.push(`${clock.monotonic()} ${status} ${text}`),
      (error: HttpFailure) => trace.push(`${clock.monotonic()} ${error.kind}`),
    );
    await clock.advance(20);
  }
  await clock.advance(1000);
  cloud.close();
  return [...trace, JSON.stringify(cloud.calls.snapshot())].join('\n');
}

test('one seed gives the same answers at the same moments', async () => {
  const first = await wireTrace(11);
  assert.match(first, / 503 /);
  assert.match(first, / timeout/);
  assert.equal(await wireTrace(11), first);
  assert.notEqual(await wireTrace(12), first);
});
