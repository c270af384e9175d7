import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byId, overSockets, states } from '../../../test/clouds/simulated/lookup-world.ts';
import { newWorld } from '../../../test/clouds/simulated/world.ts';
import { maxAbsenceProofs, refKey } from '../cloud.ts';

test('a canary is read by the same kind of request as the proof of absence', async (t) => {
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

test("another project's credential sees neither the instance nor the canary", async (t) => {
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

test('proves at most twenty absences in one pass', async (t) => {
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

test('a partial answer that leaves out more than can be proved makes no instance absent', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const ids = sandbox.model.createMany(100).map(({ id }) => id);
  sandbox.faults.add({ operation: 'instances.lookup', effect: { kind: 'missing-items', count: 90 } });
  const seen = await states(cloud, ids.map(byId));
  assert.equal(seen.filter((state) => state === 'found').length, 10 + maxAbsenceProofs);
  assert.equal(seen.filter((state) => state === 'unknown NotFound').length, 70);
});

test('an empty answer proves nothing', async () => {
  for (const status of [200, 204]) {
    const world = newWorld({ through: () => async () => ({ status, header: () => null, text: '' }) });
    assert.deepEqual(await states(world.open(), [byId('i-1')]), ['unknown Invalid']);
  }
});

test('a failed proof proves nothing', async (t) => {
  const { sandbox, cloud } = await overSockets(t);
  const [a, b] = sandbox.model.createMany(2).map(({ id }) => id);
  sandbox.model.forget(b!);
  sandbox.faults.add({ operation: 'instances.get', times: 1, effect: { kind: 'error', status: 503 } });
  assert.deepEqual(await states(cloud, [a!, b!].map(byId)), ['found', 'unknown Unavailable']);
  assert.deepEqual(await states(cloud, [a!, b!].map(byId)), ['found', 'absent']);
});
