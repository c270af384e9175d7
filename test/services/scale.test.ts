import assert from 'node:assert/strict';
import { it } from 'node:test';
import { assertConverged } from './harness/converged.ts';
import { createWorld } from './harness/world.ts';

const services = 200;

it('200 Services at 100 ms a call take only the calls that they need', async (t) => {
  const world = createWorld();
  world.cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: 100 } });
  for (let index = 0; index < 3; index += 1) world.node(`n${index}`);
  const replica = world.replica();
  await replica.start();
  await world.clock.advance(1000);
  const reads = world.readCount();
  const startedMs = world.clock.monotonic();
  const made = Array.from({ length: services }, (_, index) => `s${index}`);
  for (const name of made) world.services.create(name);
  const done = () => made.every((name) => world.services.condition(name)?.reason === 'Ensured');
  while (!done() && world.clock.monotonic() - startedMs < 120_000) await world.clock.advance(100);
  t.diagnostic(`all ready after ${(world.clock.monotonic() - startedMs) / 1000} simulated seconds`);
  assertConverged(world, '200 Services');
  assert.equal(world.mutationCount(), 2 * services, JSON.stringify(world.mutations()));
  assert.equal(world.readCount(), reads);
  assert.equal(replica.kube.writes().length, 2 * services);

  const before = world.mutationCount();
  const joinedMs = world.clock.monotonic();
  world.node('n9');
  const joined = () => world.mutationCount() - before >= services;
  while (!joined() && world.clock.monotonic() - joinedMs < 60_000) await world.clock.advance(100);
  const joinedAfter = (world.clock.monotonic() - joinedMs) / 1000;
  await world.clock.advance(20_000);
  assertConverged(world, 'one more Node');
  assert.equal(world.mutationCount() - before, services);
  assert.equal(world.readCount(), reads);
  t.diagnostic(`one more node: ${services} calls within ${joinedAfter} simulated seconds`);

  const goneMs = world.clock.monotonic();
  for (const name of made) world.services.delete(name);
  while (made.some((name) => world.services.get(name)) && world.clock.monotonic() - goneMs < 120_000)
    await world.clock.advance(100);
  assertConverged(world, 'all deleted');
  assert.equal(world.mutationCount() - before, 3 * services);
  t.diagnostic(`all deleted after ${(world.clock.monotonic() - goneMs) / 1000} simulated seconds`);
  await world.close();
});
