import assert from 'node:assert/strict';
import { it } from 'node:test';
import { assertConverged } from './harness/converged.ts';
import { createWorld, type World } from './harness/world.ts';

async function served(count: number, world: World): Promise<void> {
  for (let index = 0; index < 5; index += 1) world.node(`n${index}`);
  const first = world.replica();
  await first.start();
  for (let index = 0; index < count; index += 1) world.services.create(`s${index}`);
  await world.clock.advance(30_000);
  assertConverged(world, 'served');
  await first.stop();
}

it('a restart with 50 Services changes nothing, in the cloud or in the cluster, and reads little', async () => {
  const world = createWorld();
  await served(50, world);
  const [changes, reads] = [world.mutationCount(), world.readCount()];
  const next = world.replica();
  await next.start();
  await world.clock.advance(60_000);
  assert.equal(world.mutationCount(), changes);
  assert.deepEqual(next.kube.writes(), []);
  assert.deepEqual(next.events, []);
  assert.ok(world.readCount() - reads <= 4, `${world.readCount() - reads} reads`);
  assert.equal(await next.gauge('mooring_services', '{reason="Ensured"}'), 50);
  await world.close();
});

it('an hour without changes costs at most 60 reads of load balancers', async () => {
  const world = createWorld();
  await served(50, world);
  const next = world.replica();
  await next.start();
  await world.clock.advance(60_000);
  const [changes, reads] = [world.mutationCount(), world.readCount()];
  await world.clock.advance(3_600_000);
  assert.equal(world.mutationCount(), changes);
  assert.deepEqual(next.kube.writes(), []);
  assert.ok(world.readCount() - reads <= 60, `${world.readCount() - reads} reads`);
  await world.close();
});

it('a leader that comes back finds what changed while it did not lead', async () => {
  const world = createWorld();
  world.node('n0');
  const one = world.replica();
  await one.start();
  world.services.create('stays');
  world.services.create('goes');
  await world.clock.advance(2000);
  await one.stopLeading();
  world.services.delete('goes');
  world.services.create('comes');
  world.services.patch('stays', { spec: { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] } });
  world.node('n1');
  await world.clock.advance(10_000);
  assert.ok(world.services.must('goes').metadata.finalizers);
  const two = world.replica();
  await two.start();
  await world.clock.advance(10_000);
  assertConverged(world, 'the other one leads');
  assert.equal(world.services.get('goes'), undefined);
  await world.close();
});
