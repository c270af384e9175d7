import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { type Clock, systemClock } from '../../../common/process/clock.ts';
import { createHttp, type Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
// biome-ignore-start lint/style/noRestrictedImports: these tests run against the sandbox's cloud
import { createSimulatedCloud as createSandboxCloud } from '../../../test/sandbox/cloud/cloud.ts';
import type { Effect } from '../../../test/sandbox/cloud/faults.ts';
import { inProcessHttp } from '../../../test/sandbox/cloud/in-process.ts';
import { startCloud } from '../../../test/sandbox/cloud/start-cloud.ts';
// biome-ignore-end lint/style/noRestrictedImports: see above
import { type Cloud, type CloudCall, type InstanceRef, type Lookup, maxAbsenceProofs, refKey } from '../cloud.ts';
import { createSimulatedCloud } from './simulated-cloud.ts';

function open(clock: Clock, http: Http, endpoint: string, credential: string, timeoutMs = 10_000) {
  const made: CloudCall[] = [];
  const context = {
    clock,
    random: seededRandom(1),
    log: silentLog,
    env: {},
    onCall: (call: CloudCall) => made.push(call),
  };
  const config = { endpoint, project: 'demo', region: 'sim-1' };
  const cloud = createSimulatedCloud({ config, context, http, timeoutMs, credential: async () => credential });
  return { cloud, made };
}

type Sandbox = Awaited<ReturnType<typeof startCloud>>;

async function startSandbox(t: TestContext): Promise<Sandbox> {
  const sandbox = await startCloud({ clock: systemClock(), random: seededRandom(2) });
  t.after(() => sandbox.stop());
  return sandbox;
}

/** A client of its own, with connections of its own and no memory of earlier refusals. */
function connect(t: TestContext, sandbox: Sandbox, timeoutMs?: number) {
  const clock = systemClock();
  const { http, close } = createHttp({ clock, plain: { keepAlive: true, maxSockets: 8 } });
  t.after(close);
  return open(clock, http, sandbox.url, sandbox.credential, timeoutMs);
}

/** The client on real sockets against the sandbox's cloud. */
async function overSockets(t: TestContext) {
  const sandbox = await startSandbox(t);
  return { sandbox, ...connect(t, sandbox) };
}

/** The same client straight into the model, on a clock that is told when to move. */
function inProcess(seed = 2) {
  const clock = fakeClock();
  const sandbox = createSandboxCloud({ clock, random: seededRandom(seed) });
  return { clock, sandbox, ...open(clock, inProcessHttp(sandbox.api, clock), 'http://cloud', sandbox.credential) };
}

const byId = (id: string): InstanceRef => ({ by: 'providerID', providerID: `simulated://sim-1/${id}` });
const byName = (name: string): InstanceRef => ({ by: 'name', name });

async function states(cloud: Cloud, refs: readonly InstanceRef[]): Promise<string[]> {
  const answers = await cloud.instances.lookup(refs);
  assert.equal(answers.size, refs.length);
  return refs.map((ref) => shortOf(answers.get(refKey(ref))!));
}

function shortOf(answer: Lookup): string {
  return answer.state === 'unknown' ? `unknown ${answer.error.kind}` : answer.state;
}

test('a thousand nodes are looked up in one call', async (t) => {
  const { sandbox, cloud, made } = await overSockets(t);
  const refs = sandbox.model.createMany(1000).map(({ id }) => byId(id));
  const answers = await cloud.instances.lookup(refs);
  assert.ok([...answers.values()].every((answer) => answer.state === 'found' && answer.request === 'list'));
  assert.deepEqual(sandbox.calls.snapshot(), { 'instances.lookup': { 200: 1 } });
  assert.deepEqual(
    made.map(({ cloud: name, operation, code }) => [name, operation, code]),
    [['simulated', 'instances.lookup', '200']],
  );
});

test('fifteen thousand nodes take a call for each thousand', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const refs = sandbox.model.createMany(15_000).map(({ id }) => byId(id));
  const answers = await cloud.instances.lookup(refs);
  assert.equal([...answers.values()].filter(({ state }) => state === 'found').length, 15_000);
  assert.equal(sandbox.calls.total(), 15);
});

test('what is found carries everything that is written on a node', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const vm = sandbox.model.create({ external: true, dualStack: true, tags: { 'label:pool': 'blue' } });
  const answer = (await cloud.instances.lookup([byId(vm.id)])).get(refKey(byId(vm.id)));
  assert.ok(answer?.state === 'found');
  const { providerID, incarnation, zone, region, type, labels, smbiosUuid } = answer.instance;
  assert.deepEqual(
    { providerID, incarnation, zone, region, type, labels, smbiosUuid },
    {
      providerID: `simulated://sim-1/${vm.id}`,
      incarnation: vm.incarnation,
      zone: vm.zone,
      region: 'sim-1',
      type: 'sim.small',
      labels: { pool: 'blue' },
      smbiosUuid: vm.smbiosUuid ?? 'told by default',
    },
  );
  assert.deepEqual(
    answer.instance.addresses.map(({ type: kind }) => kind),
    ['InternalIP', 'InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'],
  );
});

test('stopped, terminated and vanished instances are told apart', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const [runs, stopped, terminated, vanished] = sandbox.model.createMany(4).map(({ id }) => id);
  sandbox.model.stop(stopped!);
  const incarnation = sandbox.model.terminate(terminated!).incarnation;
  sandbox.model.forget(vanished!);
  const refs = [runs!, stopped!, terminated!, vanished!].map(byId);
  const answers = await cloud.instances.lookup(refs);
  assert.deepEqual(
    refs.map((ref) => shortOf(answers.get(refKey(ref))!)),
    ['found', 'found', 'gone', 'absent'],
  );
  const still = answers.get(refKey(refs[1]!));
  assert.equal(still?.state === 'found' && still.power, 'stopped');
  assert.deepEqual(answers.get(refKey(refs[2]!)), { state: 'gone', terminalState: 'terminated', incarnation });
  assert.deepEqual(sandbox.calls.snapshot(), { 'instances.lookup': { 200: 1 }, 'instances.get': { 404: 1 } });
});

test('an id of another region or another form is unknown and costs no call', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  for (const providerID of [
    'simulated://sim-2/i-1',
    'aws:///a/i-1',
    'i-1',
    'simulated://sim-1/..',
    'simulated://sim-1/a?b',
  ]) {
    assert.equal(cloud.accepts(providerID), false);
    assert.deepEqual(await states(cloud, [{ by: 'providerID', providerID }]), ['unknown Invalid']);
  }
  assert.equal(cloud.accepts('simulated://sim-1/i-1'), true);
  assert.equal(sandbox.calls.total(), 0);
});

test('a name is found when exactly one live instance has it, and is never absent', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  sandbox.model.create({ name: 'one' });
  sandbox.model.createMany(2).forEach(({ id }) => {
    sandbox.model.rename(id, 'two');
  });
  sandbox.model.terminate(sandbox.model.create({ name: 'ended' }).id);
  sandbox.model.terminate(sandbox.model.create({ name: 'reused' }).id);
  sandbox.model.create({ name: 'reused' });
  const names = ['one', 'two', 'ended', 'reused', 'none'].map(byName);
  const expected = ['found', 'unknown Conflict', 'unknown NotFound', 'found', 'unknown NotFound'];
  assert.deepEqual(await states(cloud, names), expected);
  assert.deepEqual(sandbox.calls.snapshot(), { 'instances.list': { 200: 1 } });
  assert.deepEqual(await states(cloud, names.slice(0, 2)), expected.slice(0, 2));
  assert.equal(sandbox.calls.total('instances.find'), 2);
});

test('a thousand names take one list of the region', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const refs = sandbox.model.createMany(1500).map(({ name }) => byName(name));
  assert.ok((await states(cloud, refs.slice(0, 1000))).every((state) => state === 'found'));
  assert.equal(sandbox.calls.total(), 2);
});

test('a canary is asked for by the very kind of request that proved the absence', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const [canary, other, gone] = sandbox.model.createMany(3).map(({ id }) => id);
  sandbox.model.forget(gone!);
  const refs = [other!, gone!].map(byId);
  const answers = await cloud.instances.lookup(refs, { canaries: [byId(canary!)] });
  assert.equal(answers.get(refKey(byId(gone!)))?.state, 'absent');
  const answer = answers.get(refKey(byId(canary!)));
  assert.ok(answer?.state === 'found' && answer.request === 'id');
  assert.deepEqual(sandbox.calls.snapshot(), { 'instances.lookup': { 200: 1 }, 'instances.get': { 200: 1, 404: 1 } });
  sandbox.calls.reset();
  await cloud.instances.lookup([byId(other!)], { canaries: [byId(canary!)] });
  assert.equal(sandbox.calls.total(), 1);
});

test("with another project's credential the canary is as absent as everything else", async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const ids = sandbox.model.createMany(3).map(({ id }) => id);
  sandbox.credentials.setMode(sandbox.credential, 'sees-nothing');
  const canaries = [byId(ids[0]!)];
  const answers = await cloud.instances.lookup(ids.slice(1).map(byId), { canaries });
  assert.deepEqual(
    ids.map((id) => answers.get(refKey(byId(id)))?.state),
    ['absent', 'absent', 'absent'],
  );
});

test('at most twenty absences are proved in one pass', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const refs = Array.from({ length: 50 }, (_, number) => byId(`i-none-${number}`));
  const seen = await states(cloud, refs);
  assert.equal(seen.filter((state) => state === 'absent').length, maxAbsenceProofs);
  assert.equal(seen.filter((state) => state === 'unknown NotFound').length, 50 - maxAbsenceProofs);
  assert.equal(sandbox.calls.total(), 1 + maxAbsenceProofs);
});

test('an instance that a partial answer leaves out is found by its id', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const ids = sandbox.model.createMany(100).map(({ id }) => id);
  sandbox.faults.add({ operation: 'instances.lookup', effect: { kind: 'missing-items', count: 10 } });
  const answers = await cloud.instances.lookup(ids.map(byId));
  const found = [...answers.values()].filter((answer) => answer.state === 'found');
  assert.equal(found.length, 100);
  assert.equal(found.filter(({ request }) => request === 'id').length, 10);
});

test('a partial answer that leaves out more than can be proved makes nobody absent', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const ids = sandbox.model.createMany(100).map(({ id }) => id);
  sandbox.faults.add({ operation: 'instances.lookup', effect: { kind: 'missing-items', count: 90 } });
  const seen = await states(cloud, ids.map(byId));
  assert.equal(seen.filter((state) => state === 'found').length, 10 + maxAbsenceProofs);
  assert.equal(seen.filter((state) => state === 'unknown NotFound').length, 70);
});

test('pages that end early or lead in a circle leave names unknown', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const names = sandbox.model.createMany(1500).map(({ name }) => byName(name));
  const last = names.slice(-5);
  sandbox.faults.add({ operation: 'instances.list', times: 1, effect: { kind: 'chain-ends-early' } });
  assert.deepEqual(await states(cloud, last), Array(5).fill('unknown NotFound'));
  sandbox.faults.add({ operation: 'instances.list', times: 9, effect: { kind: 'chain-loops' } });
  assert.deepEqual(await states(cloud, last), Array(5).fill('unknown Unavailable'));
  sandbox.faults.clear();
  sandbox.faults.add({ operation: 'instances.list', skip: 1, times: 1, effect: { kind: 'error', status: 500 } });
  assert.deepEqual(await states(cloud, last), Array(5).fill('unknown Unavailable'));
  assert.deepEqual(await states(cloud, last), Array(5).fill('found'));
});

const failures: [string, Effect, string][] = [
  ['401', { kind: 'error', status: 401 }, 'Unauthorized'],
  ['403', { kind: 'error', status: 403 }, 'Forbidden'],
  ['a 404 that is not about the instance', { kind: 'error', status: 404, code: 'region-not-found' }, 'Invalid'],
  ['410', { kind: 'error', status: 410 }, 'Invalid'],
  ['409', { kind: 'error', status: 409 }, 'Conflict'],
  ['429', { kind: 'throttle', retryAfterSeconds: 5 }, 'Throttled'],
  ['500', { kind: 'error', status: 500 }, 'Unavailable'],
  ['503', { kind: 'error', status: 503 }, 'Unavailable'],
  ['504', { kind: 'error', status: 504 }, 'Timeout'],
  ['silence', { kind: 'silence' }, 'Timeout'],
  ['a lost answer', { kind: 'lost-answer' }, 'Unavailable'],
  ['a cut body', { kind: 'cut-body' }, 'Unavailable'],
  ['a body that is no JSON', { kind: 'malformed' }, 'Invalid'],
  ['a body of another shape', { kind: 'wrong-shape' }, 'Invalid'],
  ['an endless body', { kind: 'oversized', bytes: 17 * 1024 * 1024 }, 'Invalid'],
  ['a redirect', { kind: 'redirect', location: 'http://127.0.0.1:1/' }, 'Invalid'],
  ['an item without its id', { kind: 'missing-fields', fields: ['id'] }, 'Invalid'],
  ['an item without its power state', { kind: 'missing-fields', fields: ['power'] }, 'Invalid'],
];

for (const [what, effect, kind] of failures) {
  test(`${what} makes instances unknown (${kind}), whichever way they are asked for`, async (t) => {
    const sandbox = await startSandbox(t);
    const [a, b] = sandbox.model.createMany(2);
    assert.ok(a && b);
    sandbox.faults.add({ operation: '*', effect });
    for (const refs of [[byId(a.id)], [byId(a.id), byId(b.id)], [byName(a.name)]]) {
      const { cloud } = connect(t, sandbox, effect.kind === 'silence' ? 50 : undefined);
      assert.deepEqual(await states(cloud, refs), Array(refs.length).fill(`unknown ${kind}`));
    }
  });
}

test('one failed call of many leaves its own ids unknown and the rest found', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const ids = sandbox.model.createMany(3000).map(({ id }) => id);
  sandbox.faults.add({ operation: 'instances.lookup', times: 1, effect: { kind: 'error', status: 503 } });
  const seen = await states(cloud, ids.map(byId));
  assert.equal(seen.filter((state) => state === 'found').length, 2000);
  assert.equal(seen.filter((state) => state === 'unknown Unavailable').length, 1000);
});

test('a proof that fails is no proof', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const [a, b] = sandbox.model.createMany(2).map(({ id }) => id);
  sandbox.model.forget(b!);
  sandbox.faults.add({ operation: 'instances.get', times: 1, effect: { kind: 'error', status: 503 } });
  assert.deepEqual(await states(cloud, [a!, b!].map(byId)), ['found', 'unknown Unavailable']);
  assert.deepEqual(await states(cloud, [a!, b!].map(byId)), ['found', 'absent']);
});

test('a stale list shows an earlier power state, and a new instance is found by its id', async () => {
  const { clock, sandbox, cloud } = inProcess();
  const early = sandbox.model.create().id;
  await clock.advance(60_000);
  const late = sandbox.model.create().id;
  sandbox.faults.add({ operation: 'instances.lookup', effect: { kind: 'stale', ageMs: 30_000 } });
  assert.deepEqual(await states(cloud, [early, late].map(byId)), ['found', 'found']);
});

test('after a refusal the scope rests as long as the cloud asked', async () => {
  const { clock, sandbox, cloud } = inProcess();
  const { id } = sandbox.model.create();
  sandbox.faults.add({ operation: '*', times: 1, effect: { kind: 'throttle', retryAfterSeconds: 30 } });
  const answer = (await cloud.instances.lookup([byId(id)])).get(refKey(byId(id)));
  assert.ok(answer?.state === 'unknown' && answer.error.kind === 'Throttled');
  assert.equal(answer.error.retryAfterMs, 30_000);
  await clock.advance(29_000);
  assert.deepEqual(await states(cloud, [byId(id)]), ['unknown Throttled']);
  assert.equal(sandbox.calls.total(), 1);
  await clock.advance(1001);
  assert.deepEqual(await states(cloud, [byId(id)]), ['found']);
});

test('a call that gets no answer ends after its time and is told apart in the counts', async () => {
  const { clock, sandbox, cloud, made } = inProcess();
  const { id } = sandbox.model.create();
  sandbox.faults.add({ operation: '*', times: 1, effect: { kind: 'silence' } });
  const seen = states(cloud, [byId(id)]);
  await clock.advance(10_000);
  assert.deepEqual(await seen, ['unknown Timeout']);
  assert.deepEqual(
    made.map(({ operation, code, seconds }) => [operation, code, seconds]),
    [['instances.get', 'timeout', 10]],
  );
});

test('check proves the region and the right to read, and says what is wrong', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  sandbox.model.create();
  assert.deepEqual(
    (await cloud.check()).map(({ name, ok }) => [name, ok]),
    [
      ['region', true],
      ['instances', true],
      ['load balancers', true],
      ['routes', true],
    ],
  );
  sandbox.network.quotas.set('routes', 100);
  assert.equal((await cloud.check())[3]?.message, '0 routes, 0 of 100 in use');
  sandbox.faults.add({ operation: 'addresses.*', effect: { kind: 'error', status: 403 } });
  assert.match((await cloud.check())[2]?.message ?? '', /addresses.list: HTTP 403.*Grant the credential the right/);
  sandbox.faults.clear();
  sandbox.credentials.setMode(sandbox.credential, 'sees-nothing');
  assert.match((await cloud.check())[1]?.message ?? '', /no instance is visible/);
  sandbox.credentials.setMode(sandbox.credential, 'unauthorized');
  const refused = await cloud.check();
  assert.deepEqual(
    refused.map(({ ok }) => ok),
    [false, false, false, false],
  );
  assert.match(refused[0]?.message ?? '', /401 unauthorized.*Check credential/);
  assert.ok(!JSON.stringify(refused).includes(sandbox.credential));
});

test('the scope names endpoint, project and region and no credential', () => {
  const { sandbox, cloud } = inProcess();
  assert.equal(cloud.scope, 'http://cloud/demo/sim-1');
  assert.ok(!cloud.scope.includes(sandbox.credential));
});

const anyEffect: fc.Arbitrary<Effect> = fc.oneof(
  fc.constantFrom(...failures.filter(([what]) => what !== 'an endless body').map(([, effect]) => effect)),
  fc.record({ kind: fc.constant('missing-items' as const), count: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant('latency' as const), ms: fc.integer({ min: 1, max: 20_000 }) }),
);

test('whatever goes wrong, an instance that lives never comes out absent or gone', async () => {
  const someFaults = fc.array(
    fc.record({
      operation: fc.constantFrom('*', 'instances.lookup', 'instances.get', 'instances.list', 'instances.find'),
      skip: fc.integer({ min: 0, max: 3 }),
      probability: fc.constantFrom(0.3, 0.7, 1),
      effect: anyEffect,
    }),
    { maxLength: 4 },
  );
  const property = fc.asyncProperty(
    someFaults,
    fc.integer(),
    fc.integer({ min: 1, max: 30 }),
    async (faults, seed, size) => {
      const { clock, sandbox, cloud } = inProcess(seed);
      const lives = sandbox.model.createMany(size);
      const dead = sandbox.model.createMany(3, { name: 'dead' }).map(({ id }) => id);
      for (const id of dead) sandbox.model.forget(id);
      for (const fault of faults) sandbox.faults.add(fault);
      const refs = [
        ...lives.map(({ id }) => byId(id)),
        ...lives.slice(0, 5).map(({ name }) => byName(name)),
        ...dead.map(byId),
      ];
      const lookup = cloud.instances.lookup(refs, { canaries: [byId(lives[0]!.id)] });
      await clock.advance(200_000);
      const answers = await lookup;
      for (const ref of refs) assert.ok(answers.has(refKey(ref)));
      for (const { id, name } of lives) {
        for (const ref of [byId(id), byName(name)]) {
          const state = answers.get(refKey(ref))?.state ?? 'unknown';
          assert.ok(state === 'found' || state === 'unknown', `${refKey(ref)} is ${state}`);
        }
      }
      for (const id of dead) assert.notEqual(answers.get(refKey(byId(id)))?.state, 'found');
      sandbox.close();
      assert.equal(clock.pending, 0);
    },
  );
  await fc.assert(property, { numRuns: 60 });
});
