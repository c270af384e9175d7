import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sleep } from '../../common/process/clock.ts';
import type { Request } from './request.ts';
import { adoptsFor, type Desired } from './testing/drivers.ts';
import { drive, faults, type Outcome, ownerOf } from './testing/environment.ts';
import { type CloudName, clouds, createScene, type Scene } from './testing/scenes.ts';

/** ENGINE_RUNS=1000 ENGINE_SEED=7 runs more cases than the default. */
const numRuns = Number(process.env['ENGINE_RUNS'] ?? 60);
const seed = Number(process.env['ENGINE_SEED'] ?? 1);
const services = ['u1', 'u2'];
/** Twice what the worst of 300 scenarios takes, for two Services with a fault, an edit and a change. Median: 19. */
const mostCalls = 150;

const port = fc.record({ port: fc.constantFrom(80, 443, 8080), nodePort: fc.constantFrom(30001, 30002, 30003) });
const desired = fc.record({
  ports: fc.uniqueArray(port, { maxLength: 3, selector: (one) => one.port }),
  members: fc.subarray(['n1', 'n2', 'n3']),
  algorithm: fc.constantFrom('rr', 'lc'),
  zone: fc.constantFrom('z1', 'z1', 'z2'),
});
const desires = fc.tuple(...services.map(() => fc.option(desired, { freq: 5, nil: undefined })));
const meddling = fc.record({
  do: fc.constantFrom('delete', 'change', 'fail', 'double'),
  which: fc.nat(20),
});
const scenario = fc.record({
  before: fc.option(desires, { nil: undefined }),
  now: desires,
  meddled: fc.array(meddling, { maxLength: 2 }),
  hit: fc.option(fc.record({ at: fc.nat(30), fault: fc.constantFrom(...faults) }), { nil: undefined, freq: 6 }),
  edit: fc.option(fc.record({ at: fc.nat(20), how: meddling }), { nil: undefined }),
  change: fc.option(fc.record({ at: fc.nat(20), to: desires }), { nil: undefined }),
  lagMs: fc.constantFrom(0, 3000),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

type Ask = Omit<Desired, 'name'> | undefined;
function requestsOf(asks: readonly Ask[]): readonly Request<Desired>[] {
  return asks.map((ask, at) => {
    const name = services[at]!;
    return { owner: ownerOf(name), desired: ask && { ...ask, name }, mayChangeAddress: true };
  });
}

/** A change by hand to one of our resources. */
function meddle({ cloud, documents }: Scene, how: { readonly do: string; readonly which: number }): void {
  const roots = new Set(
    [...cloud.things.values()].flatMap(({ id, owner }) =>
      owner?.cluster === 'c1' && services.includes(owner.service) ? [id] : [],
    ),
  );
  const own = [...cloud.things.values()].filter(({ id, within }) => roots.has(id) || roots.has(within ?? ''));
  const thing = own[how.which % Math.max(1, own.length)];
  if (thing === undefined || cloud.isPending(thing.id) || cloud.isPending(thing.within ?? '')) return;
  if (how.do === 'delete') {
    const inUse = [...cloud.things.values()].some((one) => one.refs.some(({ id }) => id === thing.id));
    if (inUse || documents?.doc?.some(({ body }) => body['address'] === thing.id)) return;
    for (const part of own) if (part.within === thing.id) cloud.set(part.id, undefined);
    cloud.set(thing.id, undefined);
  } else if (how.do === 'change') {
    const body = Object.fromEntries(
      Object.entries(thing.body).map(([key, value]) => [
        key,
        key === 'fixed' ? value : Array.isArray(value) ? ['n9'] : 'x',
      ]),
    );
    cloud.set(thing.id, { ...thing, body });
  } else if (how.do === 'fail' && thing.within === undefined) cloud.set(thing.id, { ...thing, status: 'failed' });
  else if (how.do === 'double' && thing.within === undefined) cloud.add({ ...thing, slots: [] });
}

function summaryOf({ results }: Outcome): string {
  return JSON.stringify(
    [...results].map(([service, { state, errors, waits, refusals }]) => [
      service,
      state,
      errors.map(String),
      waits,
      refusals,
    ]),
  );
}

async function play(name: CloudName, one: Scenario): Promise<void> {
  const scene = createScene(name, one.lagMs);
  const { cloud, clock } = scene;
  if (one.before !== undefined) {
    const requests = requestsOf(one.before);
    const outcome = await scene.converge(requests);
    assert.deepEqual(outcome.stuck, [], `before: ${summaryOf(outcome)}`);
    scene.expect(requests, 'before');
    assert.deepEqual(cloud.violations, [], 'before');
    await drive(clock, sleep(clock, 10_000));
    for (const how of one.meddled) meddle(scene, how);
    await drive(clock, sleep(clock, 5000));
  }
  const { edit, change } = one;
  const first = await scene.converge(requestsOf(one.now), {
    hit: one.hit,
    atCall: (n) => n === edit?.at && meddle(scene, edit.how),
    instead: change && { at: change.at, requests: requestsOf(change.to) },
  });
  assert.deepEqual(first.stuck, [], `does not converge: ${summaryOf(first)}`);
  assert.ok(first.calls <= mostCalls, `${first.calls} calls`);
  if (
    one.hit === undefined &&
    edit === undefined &&
    one.meddled.length === 0 &&
    one.lagMs === 0 &&
    change === undefined
  )
    assert.deepEqual(cloud.violations, []);
  const { requests } = first;
  // The next process has only the lists, which may not show the last calls of the one before it.
  const isBlind = one.lagMs > 0 && one.hit?.fault.startsWith('crash');
  if (edit === undefined && !isBlind) scene.expect(requests, 'at first');
  await drive(clock, sleep(clock, 10_000));
  // An edit by hand is seen by the next audit.
  const second = await scene.converge(requests);
  assert.deepEqual(second.stuck, [], `after an edit: ${summaryOf(second)}`);
  scene.expect(requests, 'at second');
  await drive(clock, sleep(clock, 10_000));
  const writes = cloud.writes.length;
  const third = await scene.converge(requests);
  assert.deepEqual(third.stuck, [], `restart: ${summaryOf(third)}`);
  assert.deepEqual(cloud.writes.slice(writes), [], 'a restart writes');
  const removal = requestsOf(services.map(() => undefined));
  const last = await scene.converge(removal, { hit: one.hit && { ...one.hit, at: one.hit.at % 9 } });
  assert.deepEqual(last.stuck, [], `removal: ${summaryOf(last)}`);
  await drive(clock, sleep(clock, 10_000));
  scene.expect(removal, 'removed');
}

describe('the engine, with any state, faults and edits by hand', () => {
  for (const name of clouds)
    it(`converges in the ${name} cloud in few calls, touches nothing foreign, and then makes no write`, async () => {
      await fc.assert(
        fc.asyncProperty(scenario, (one) => play(name, one)),
        { numRuns, seed },
      );
    });
});

describe('the engine, with a fault at every call and at every permit', () => {
  const owner = ownerOf('u1');
  const served: Desired = {
    name: 'u1',
    ports: [
      { port: 80, nodePort: 30001 },
      { port: 443, nodePort: 30002 },
    ],
    members: ['n1'],
    algorithm: 'rr',
    zone: 'z1',
  };
  const hits = [undefined, ...faults.flatMap((fault) => Array.from({ length: 16 }, (_, at) => ({ at, fault })))];

  for (const lagMs of [0, 3000])
    it(`serves from a load balancer of others and leaves it unchanged, with lists ${lagMs} ms late`, async () => {
      for (const hit of hits) {
        const scene = createScene('plain', lagMs);
        const { cloud, clock } = scene;
        const host = cloud.add({ kind: 'balancer', key: 'host', slots: ['name host'], refs: [], body: {} });
        const slots = [`${host.id} 9000`];
        const theirs = cloud.add({ kind: 'listener', key: '9000', within: host.id, slots, refs: [], body: {} });
        await drive(clock, sleep(clock, 10_000));
        const what = JSON.stringify({ hit, lagMs });
        const inside = () => [...cloud.things.values()].filter(({ within }) => within === host.id);
        const request = {
          owner,
          desired: { ...served, attach: { id: host.id, allowed: true } },
          mayChangeAddress: true,
        };
        const first = await scene.converge([request], { hit });
        assert.deepEqual(first.stuck, [], `${what} ${summaryOf(first)}`);
        const ports = () => inside().map(({ key }) => key);
        assert.deepEqual(ports().sort(), ['443', '80', '9000'], what);
        const writes = cloud.writes.length;
        await drive(clock, sleep(clock, 10_000));
        await scene.converge([request]);
        assert.deepEqual(cloud.writes.slice(writes), [], `${what}: a restart writes`);
        const last = await scene.converge([{ owner, desired: undefined }], { hit: hit && { ...hit, at: hit.at % 8 } });
        assert.deepEqual(last.stuck, [], `${what} ${summaryOf(last)}`);
        assert.deepEqual(ports(), ['9000'], what);
        assert.deepEqual([cloud.things.get(host.id), cloud.things.get(theirs.id)], [host, theirs], what);
        const left = [...cloud.things.values()].filter(
          (one) => one.owner?.cluster === 'c1' && one.owner.service === 'u1',
        );
        assert.deepEqual(left, [], what);
      }
    });

  it('adopts a load balancer of the classic controller once, and keeps its address', async () => {
    for (const hit of hits) {
      const scene = createScene('plain');
      const { cloud } = scene;
      const body = { algorithm: 'old', fixed: 'z1' };
      const classic = cloud.add({ kind: 'balancer', key: 'main', slots: ['name u1'], refs: [], body, consent: true });
      const request = { owner, desired: served, adopts: adoptsFor('u1'), mayChangeAddress: false };
      const first = await scene.converge([request], { hit });
      const what = JSON.stringify(hit);
      assert.deepEqual(first.stuck, [], `${what} ${summaryOf(first)}`);
      assert.deepEqual(cloud.things.get(classic.id)?.owner, owner, what);
      scene.expect([request], what);
      const last = await scene.converge([{ owner, desired: undefined, retain: true }], { hit });
      assert.deepEqual(last.stuck, [], `${what} ${summaryOf(last)}`);
      const kept = cloud.things.get(classic.id);
      assert.deepEqual([kept?.retained, kept?.owner], [true, undefined], what);
    }
  });
});
