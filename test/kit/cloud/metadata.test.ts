import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpAnswer } from '../../../common/process/http.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { createSimulatedCloud } from './cloud.ts';
import { inProcessHttp } from './in-process.ts';

function newService() {
  const clock = fakeClock();
  const cloud = createSimulatedCloud({ clock, random: seededRandom(5) });
  const http = inProcessHttp(cloud.metadata, clock);
  const headers = { 'X-Simulated-Metadata': 'true' };
  const get = (id: string, query = '', given: Record<string, string> = headers) =>
    http({ url: `http://metadata/${id}/metadata/v1/instance${query}`, timeoutMs: 400_000, headers: given });
  return { clock, cloud, get };
}

test('each instance has a document of its own, with its identity, addresses and notices', async () => {
  const { cloud, get } = newService();
  const a = cloud.model.create({ external: true, dualStack: true, interfaceCount: 2 });
  const b = cloud.model.create({ notices: [{ kind: 'preemption', deadline: '2026-01-01T00:02:00Z' }] });
  const answer = await get(a.id);
  const document = JSON.parse(answer.text);
  assert.equal(answer.header('X-Simulated-Metadata'), 'true');
  assert.equal(document.id, a.id);
  assert.equal(document.incarnation, a.incarnation);
  assert.deepEqual(document.interfaces, a.interfaces);
  assert.equal(JSON.parse((await get(b.id)).text).notices[0].kind, 'preemption');
  assert.deepEqual(cloud.metadataCalls.snapshot(), { 'metadata.get': { 200: 2 } });
  assert.equal(cloud.calls.total(), 0);
});

test('a request without the header, or one that was forwarded, is refused', async () => {
  const { cloud, get } = newService();
  const { id } = cloud.model.create();
  assert.equal((await get(id, '', {})).status, 403);
  assert.equal((await get(id, '', { 'x-simulated-metadata': 'true', 'x-forwarded-for': '10.0.0.1' })).status, 403);
});

test('a VM that does not run, or never was, has no metadata service', async () => {
  const { cloud, get } = newService();
  const { id } = cloud.model.create();
  cloud.model.stop(id);
  await assert.rejects(get(id), { kind: 'unreachable' });
  cloud.model.start(id);
  assert.equal((await get(id)).status, 200);
  await assert.rejects(get('i-none'), { kind: 'unreachable' });
});

function wait(get: ReturnType<typeof newService>['get'], id: string, etag: string, seconds = 60) {
  const state: { answer?: HttpAnswer; error?: unknown } = {};
  get(id, `?wait_for_change=true&last_etag=${etag}&timeout_sec=${seconds}`).then(
    (answer) => {
      state.answer = answer;
    },
    (error) => {
      state.error = error;
    },
  );
  return state;
}

test('a long poll answers at once when the document has changed already', async () => {
  const { clock, cloud, get } = newService();
  const { id } = cloud.model.create();
  const poll = wait(get, id, 'NONE');
  await clock.advance(0);
  assert.equal(poll.answer?.status, 200);
});

test('a long poll answers when its document changes, and not for another one', async () => {
  const { clock, cloud, get } = newService();
  const [a, b] = cloud.model.createMany(2);
  assert.ok(a && b);
  const etag = (await get(a.id)).header('etag') ?? '';
  const poll = wait(get, a.id, etag);
  await clock.advance(1000);
  cloud.model.setType(b.id, 'sim.large');
  await clock.advance(1000);
  assert.equal(Object.keys(poll).length, 0);
  cloud.model.setAddresses(a.id, { interfaces: [{ internal: ['10.7.7.7'] }] });
  await clock.advance(0);
  assert.deepEqual(JSON.parse(poll.answer?.text ?? '{}').interfaces[0].internal, ['10.7.7.7']);
  assert.notEqual(poll.answer?.header('etag'), etag);
  assert.equal(clock.pending, 0);
});

test('a long poll without a change ends after its time with the document as it is', async () => {
  const { clock, cloud, get } = newService();
  const { id } = cloud.model.create();
  const etag = (await get(id)).header('etag') ?? '';
  const poll = wait(get, id, etag, 30);
  await clock.advance(29_999);
  assert.equal(Object.keys(poll).length, 0);
  await clock.advance(1);
  assert.equal(poll.answer?.status, 200);
  assert.equal(poll.answer?.header('etag'), etag);
});

test('a long poll breaks when the VM stops', async () => {
  const { clock, cloud, get } = newService();
  const { id } = cloud.model.create();
  const poll = wait(get, id, (await get(id)).header('etag') ?? '');
  await clock.advance(10);
  cloud.model.stop(id);
  await clock.advance(0);
  assert.equal((poll.error as { kind?: string }).kind, 'unreachable');
});

test('the service fails with the configured faults', async () => {
  const { clock, cloud, get } = newService();
  const { id } = cloud.model.create();
  const other = cloud.model.create().id;
  cloud.faults.add({ operation: 'metadata.get', instance: id, times: 1, effect: { kind: 'error', status: 503 } });
  assert.equal((await get(other)).status, 200);
  assert.equal((await get(id)).status, 503);
  cloud.faults.add({ operation: 'metadata.*', times: 1, effect: { kind: 'missing-fields', fields: ['zone'] } });
  assert.equal('zone' in JSON.parse((await get(id)).text), false);
  cloud.faults.add({ operation: 'metadata.*', times: 1, effect: { kind: 'malformed' } });
  const malformed = await get(id);
  assert.throws(() => JSON.parse(malformed.text), SyntaxError);
  cloud.faults.add({ operation: 'metadata.*', times: 1, effect: { kind: 'oversized' } });
  await assert.rejects(get(id), { kind: 'too-large' });
  cloud.faults.add({ operation: 'metadata.*', times: 1, effect: { kind: 'redirect', location: 'http://10.0.0.1/' } });
  assert.equal((await get(id)).status, 302);
  cloud.faults.add({ operation: 'metadata.*', times: 1, effect: { kind: 'silence' } });
  const silent = assert.rejects(get(id), { kind: 'timeout' });
  await clock.advance(400_000);
  await silent;
});
