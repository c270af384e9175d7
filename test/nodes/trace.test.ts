import assert from 'node:assert/strict';
import { it } from 'node:test';
import { seededRandom } from '../../common/process/random.ts';
import { fleet } from './harness/fleet.ts';
import { createWorld, reportedOf } from './harness/world.ts';

/** Everything at once: joins, faults of both sides, deaths, stops, reports, hints, a change of leader. */
async function story(seed: number): Promise<{ readonly trace: string; readonly end: string }> {
  const world = createWorld({ seed });
  const random = seededRandom(seed + 1000);
  let replica = world.replica();
  await replica.start();
  const members = await fleet(world, 12, { ageSeconds: 330 });
  world.cloud.faults.add({ operation: '*', probability: 0.1, effect: { kind: 'error', status: 503 } });
  world.cloud.faults.add({ operation: '*', probability: 0.3, effect: { kind: 'latency', ms: 30, jitterMs: 300 } });
  members[0]!.kubelet.die();
  world.cloud.model.terminate(members[0]!.vm.id);
  members[1]!.kubelet.die();
  world.cloud.model.forget(members[1]!.vm.id);
  members[2]!.kubelet.die();
  world.cloud.model.stop(members[2]!.vm.id);
  for (let step = 0; step < 60; step += 1) {
    const name = `n${Math.floor(random() * 12)}`;
    if (step % 5 === 0) world.join(`late-${step}`);
    if (step % 7 === 0)
      world.core.faults.add({
        match: { verb: 'patch', userAgent: 'mooring' },
        effect: { kind: 'answer', status: 409 },
        times: 2,
      });
    if (step % 9 === 0)
      world.core.faults.add({
        match: { verb: 'patch', userAgent: 'mooring' },
        effect: { kind: 'lose-answer' },
        times: 1,
      });
    if (step % 6 === 0) world.core.endWatches();
    if (world.cluster.node(name)) {
      const { vm } = members.find((each) => each.name === name)!;
      replica.report(name, { instance: reportedOf(vm), leaving: random() < 0.2, bootId: String(step) });
      world.cluster.heartbeat(name);
    }
    if (step === 30) {
      await replica.stop();
      replica = world.replica();
      await replica.start();
    }
    await world.clock.advance(Math.floor(random() * 8000));
  }
  world.cloud.faults.clear();
  world.core.faults.clear();
  await world.clock.advance(300_000);
  const end = world.cluster.names().map((name) => {
    const { metadata, spec, status } = world.cluster.mustNode(name);
    return JSON.stringify([
      name,
      metadata.labels,
      metadata.annotations,
      spec,
      status.addresses,
      status.conditions?.map(({ type, status: value, reason }) => [type, value, reason]),
    ]);
  });
  await world.close();
  return { trace: world.trace.join('\n'), end: end.join('\n') };
}

it('one seed gives one trace of API calls and cloud calls, byte for byte; another seed another', async () => {
  const first = await story(7);
  const second = await story(7);
  assert.equal(first.trace, second.trace);
  assert.equal(first.end, second.end);
  const other = await story(8);
  assert.notEqual(first.trace, other.trace);
  assert.ok(first.trace.split('\n').length > 200);
});

it('every seed ends with dead Nodes deleted, stopped ones tainted and all others initialised', async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { end } = await story(seed);
    const nodes = end.split('\n');
    const of = (name: string) => nodes.find((line) => line.startsWith(`["${name}"`));
    assert.equal(of('n0'), undefined, `seed ${seed}: terminated`);
    assert.match(of('n2') ?? '', /shutdown/, `seed ${seed}: stopped`);
    for (const line of nodes) assert.doesNotMatch(line, /uninitialized/, `seed ${seed}`);
    assert.equal(nodes.length, 12 + 12 - (of('n1') === undefined ? 2 : 1), `seed ${seed}: no other Node went`);
  }
});
