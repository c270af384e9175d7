import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { simulatedVerifier } from '../../controller/reports/attestation/simulated.ts';
import { createSimulatedCloud } from '../../test/kit/cloud/cloud.ts';
import type { Effect } from '../../test/kit/cloud/faults.ts';
import { inProcessHttp } from '../../test/kit/cloud/in-process.ts';
import { startCloud } from '../../test/kit/cloud/start-cloud.ts';
import { simulated, simulatedSource } from './simulated.ts';

const never = new AbortController().signal;

/** The source on real sockets, opened as the agent opens it. */
async function overSockets(t: TestContext) {
  const clock = systemClock();
  const sandbox = await startCloud({ clock, random: seededRandom(6) });
  t.after(() => sandbox.stop());
  const vm = sandbox.model.create({ external: true, dualStack: true, interfaceCount: 2 });
  const metadataUrl = sandbox.metadataUrl(vm.id);
  const source = simulated.open({ clock, random: seededRandom(1), log: silentLog, dmi: {}, metadataUrl });
  return { sandbox, vm, source };
}

function inProcess() {
  const clock = fakeClock();
  const sandbox = createSimulatedCloud({ clock, random: seededRandom(6) });
  const { id } = sandbox.model.create();
  const source = simulatedSource({ clock, http: inProcessHttp(sandbox.metadata, clock), baseUrl: `http://vm/${id}/` });
  return { clock, sandbox, id, source };
}

test('the instance is read with its identity, place and addresses', async (t) => {
  const { vm, source } = await overSockets(t);
  const [first, second] = vm.interfaces;
  assert.deepEqual(await source.read(never), {
    cloud: 'simulated',
    id: vm.id,
    providerID: `simulated://sim-1/${vm.id}`,
    incarnation: vm.incarnation,
    name: vm.name,
    zone: vm.zone,
    region: 'sim-1',
    type: 'sim.small',
    addresses: [
      ...[...first!.internal, ...second!.internal].map((address) => ({ type: 'InternalIP', address })),
      { type: 'ExternalIP', address: first!.external[0]! },
      { type: 'Hostname', address: vm.hostname },
      { type: 'InternalDNS', address: vm.internalDns[0]! },
      { type: 'ExternalDNS', address: vm.externalDns[0]! },
    ],
  });
});

test('each read is a fresh one', async (t) => {
  const { sandbox, vm, source } = await overSockets(t);
  await source.read(never);
  sandbox.model.setAddresses(vm.id, { interfaces: [{ internal: ['FD00::0:7'] }], internalDns: [], externalDns: [] });
  assert.deepEqual((await source.read(never)).addresses, [
    { type: 'InternalIP', address: 'fd00::7' },
    { type: 'Hostname', address: vm.hostname },
  ]);
});

test('returns announced interruptions, and an empty list without any', async (t) => {
  const { sandbox, vm, source } = await overSockets(t);
  assert.deepEqual(await source.notices?.(never), []);
  const notices = [
    { kind: 'preemption' as const, deadline: '2026-01-01T00:02:00Z', message: 'spot' },
    { kind: 'rebalance' as const },
  ];
  sandbox.model.setNotices(vm.id, notices);
  assert.deepEqual(await source.notices?.(never), notices);
  sandbox.model.setNotices(vm.id, [{ kind: 'picnic' as 'rebalance' }]);
  await assert.rejects(source.notices!(never), {
    kind: 'Invalid',
    message: /notices\[0\]\.kind: "picnic", expected one of preemption/,
  });
});

const failures: [Effect, string, RegExp][] = [
  [{ kind: 'error', status: 503, retryAfterSeconds: 3 }, 'Unavailable', /status 503/],
  [{ kind: 'error', status: 404 }, 'NotFound', /status 404/],
  [{ kind: 'throttle', retryAfterSeconds: 3 }, 'Throttled', /status 429/],
  [{ kind: 'lost-answer' }, 'Unavailable', /127\.0\.0\.1/],
  [{ kind: 'cut-body' }, 'Unavailable', /127\.0\.0\.1/],
  [{ kind: 'malformed' }, 'Invalid', /is not JSON/],
  [{ kind: 'oversized' }, 'Invalid', /exceeds 1048576 bytes/],
  [{ kind: 'redirect', location: 'http://10.0.0.1/' }, 'Invalid', /redirect \(302\) refused/],
  [{ kind: 'wrong-shape' }, 'Invalid', /id: missing, expected text/],
  ...['id', 'incarnation', 'name', 'zone', 'region', 'type', 'hostname'].map((field): [Effect, string, RegExp] => [
    { kind: 'missing-fields', fields: [field] },
    'Invalid',
    new RegExp(`${field}: missing, expected text`),
  ]),
  ...['interfaces', 'internalDns', 'externalDns'].map((field): [Effect, string, RegExp] => [
    { kind: 'missing-fields', fields: [field] },
    'Invalid',
    new RegExp(`${field}: missing, expected a list`),
  ]),
];

for (const [effect, kind, message] of failures) {
  const what =
    'fields' in effect
      ? `a document without ${effect.fields}`
      : 'status' in effect
        ? `status ${effect.status}`
        : effect.kind;
  test(`${what} fails the read as ${kind}, and the next read succeeds`, async (t) => {
    const { sandbox, vm, source } = await overSockets(t);
    sandbox.faults.add({ operation: 'metadata.get', times: 1, effect });
    await assert.rejects(source.read(never), { kind, message });
    assert.equal((await source.read(never)).id, vm.id);
  });
}

test('a refusal has the time to wait', async () => {
  const { sandbox, source } = inProcess();
  sandbox.faults.add({ operation: 'metadata.*', effect: { kind: 'error', status: 503, retryAfterSeconds: 3 } });
  await assert.rejects(source.read(never), { kind: 'Unavailable', retryAfterMs: 3000 });
});

test('a service that hangs fails the read after two seconds', async () => {
  const { clock, sandbox, source } = inProcess();
  sandbox.faults.add({ operation: 'metadata.*', effect: { kind: 'silence' } });
  const failed = assert.rejects(source.read(never), { kind: 'Timeout' });
  await clock.advance(2000);
  await failed;
});

test('a powered-off VM does not answer', async (t) => {
  const { sandbox, vm, source } = await overSockets(t);
  sandbox.model.stop(vm.id);
  await assert.rejects(source.read(never), { kind: 'Unavailable' });
});

test('refuses an answer without the header of the cloud', async () => {
  const clock = fakeClock();
  const { sandbox, id } = inProcess();
  const http = inProcessHttp(async (request, signal) => {
    const reply = await sandbox.metadata(request, signal);
    return reply.kind === 'answer' ? { ...reply, headers: { etag: 'x' } } : reply;
  }, clock);
  const source = simulatedSource({ clock, http, baseUrl: `http://vm/${id}` });
  await assert.rejects(source.read(never), { kind: 'Invalid', message: /X-Simulated-Metadata: missing/ });
});

function outcomeOf(promise: Promise<void>): { state: string } {
  const outcome = { state: 'waits' };
  promise.then(
    () => {
      outcome.state = 'changed';
    },
    (error) => {
      outcome.state = `failed ${error.kind ?? error.name}`;
    },
  );
  return outcome;
}

test('a wait ends with a change, and the next one waits for the next change', async () => {
  const { clock, sandbox, id, source } = inProcess();
  await source.read(never);
  const first = outcomeOf(source.waitForChange(never));
  await clock.advance(10_000);
  assert.equal(first.state, 'waits');
  sandbox.model.setType(id, 'sim.large');
  await clock.advance(0);
  assert.equal(first.state, 'changed');
  const second = outcomeOf(source.waitForChange(never));
  await clock.advance(1000);
  assert.equal(second.state, 'waits');
  sandbox.model.setType(id, 'sim.huge');
  await clock.advance(0);
  assert.equal(second.state, 'changed');
  assert.deepEqual(sandbox.metadataCalls.snapshot(), { 'metadata.get': { 200: 1 }, 'metadata.wait': { 200: 2 } });
});

test('a wait goes on past the end of each long poll, one call a minute', async () => {
  const { clock, sandbox, id, source } = inProcess();
  await source.read(never);
  const wait = outcomeOf(source.waitForChange(never));
  await clock.advance(5 * 60_000 + 1);
  assert.equal(wait.state, 'waits');
  assert.equal(sandbox.metadataCalls.total('metadata.wait'), 5);
  sandbox.model.setType(id, 'sim.large');
  await clock.advance(0);
  assert.equal(wait.state, 'changed');
});

test('a change that a read has already shown does not end the wait', async () => {
  const { clock, sandbox, id, source } = inProcess();
  await source.read(never);
  sandbox.faults.add({ operation: 'metadata.wait', times: 1, effect: { kind: 'latency', ms: 500 } });
  const wait = outcomeOf(source.waitForChange(never));
  sandbox.model.setType(id, 'sim.large');
  const read = source.read(never);
  await clock.advance(1000);
  await read;
  assert.equal(wait.state, 'waits');
});

test('a wait before the first read fails', async () => {
  const { clock, sandbox, id, source } = inProcess();
  const wait = outcomeOf(source.waitForChange(never));
  await clock.advance(1000);
  assert.equal(sandbox.metadataCalls.total(), 0);
  await source.read(never);
  await clock.advance(1000);
  sandbox.model.setType(id, 'sim.large');
  await clock.advance(0);
  assert.equal(wait.state, 'changed');
});

test('a wait fails as a read does, ends with its signal, and never loops without delay', async () => {
  const { clock, sandbox, source } = inProcess();
  await source.read(never);
  sandbox.faults.add({ operation: 'metadata.wait', times: 1, effect: { kind: 'error', status: 503 } });
  await assert.rejects(source.waitForChange(never), { kind: 'Unavailable' });
  const given = new AbortController();
  const aborted = outcomeOf(source.waitForChange(given.signal));
  await clock.advance(10);
  given.abort();
  await clock.advance(0);
  assert.equal(aborted.state, 'failed Timeout');
  const hasty = simulatedSource({
    clock,
    baseUrl: 'http://vm/x',
    http: inProcessHttp(async (request, signal) => {
      const query = new URLSearchParams();
      const reply = await sandbox.metadata(
        { ...request, query, path: request.path.replace('/x/', `/${sandbox.model.all()[0]!.id}/`) },
        signal,
      );
      return reply;
    }, clock),
  });
  await hasty.read(never);
  await assert.rejects(hasty.waitForChange(never), { kind: 'Invalid', message: /ended at once without a change/ });
});

test('recognises only the firmware of a simulated machine', () => {
  assert.equal(simulated.detect({ sysVendor: 'Mooring Simulated Cloud' }), true);
  assert.equal(simulated.detect({ sysVendor: 'QEMU' }), false);
  assert.equal(simulated.detect({}), false);
});

test('gives a signed identity that the controller accepts only for its challenge', async (t) => {
  const { sandbox, vm, source } = await overSockets(t);
  const verifier = simulatedVerifier(createPublicKey(sandbox.identityKey));
  const { cloud, kind, document } = await source.evidence!('challenge-1', never);
  assert.deepEqual([cloud, kind], [verifier.cloud, verifier.kind]);
  const { id, incarnation, zone, region } = vm;
  const proved = { assurance: 'psat+fresh', cloud: 'simulated', id, incarnation, zone, region };
  assert.deepEqual(await verifier.verify(document, ['challenge-2', 'challenge-1']), proved);
  await assert.rejects(verifier.verify(document, ['challenge-2']), { code: 'NotFresh' });
  const altered = document.replace(vm.id, `${vm.id}0`);
  await assert.rejects(verifier.verify(altered, ['challenge-1']), { code: 'BadSignature' });
  for (const text of ['', '{}', '[]', '{"content":"x","signature":"AAAA"}']) {
    await assert.rejects(verifier.verify(text, ['challenge-1']), { name: 'EvidenceRefusal' });
  }
});
