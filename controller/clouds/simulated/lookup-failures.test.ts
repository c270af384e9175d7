import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  byId,
  byName,
  connect,
  inProcess,
  overSockets,
  startSandbox,
  states,
} from '../../../test/clouds/simulated/lookup-world.ts';
import type { Effect } from '../../../test/kit/cloud/faults.ts';
import { refKey } from '../cloud.ts';

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
  ['a body that is no JSON', { kind: 'malformed' }, 'Unavailable'],
  ['a body of another shape', { kind: 'wrong-shape' }, 'Invalid'],
  ['an endless body', { kind: 'oversized', bytes: 17 * 1024 * 1024 }, 'Unavailable'],
  ['a redirect', { kind: 'redirect', location: 'http://127.0.0.1:1/' }, 'Invalid'],
  ['an item without its id', { kind: 'missing-fields', fields: ['id'] }, 'Invalid'],
  ['an item without its power state', { kind: 'missing-fields', fields: ['power'] }, 'Invalid'],
];

for (const [what, effect, kind] of failures) {
  test(`${what} makes instances unknown (${kind}), by id and by name`, async (t) => {
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

test('the scope rests after a refusal as long as the cloud asks', async () => {
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

test('a call without an answer ends after its time and has its own label in the counts', async () => {
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

const anyEffect: fc.Arbitrary<Effect> = fc.oneof(
  fc.constantFrom(...failures.filter(([what]) => what !== 'an endless body').map(([, effect]) => effect)),
  fc.record({ kind: fc.constant('missing-items' as const), count: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant('latency' as const), ms: fc.integer({ min: 1, max: 20_000 }) }),
);

test('no failure makes a living instance absent or gone', async () => {
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
