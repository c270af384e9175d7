import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routeStage } from './harness/route-stage.ts';

const count = 1000;

describe(`${count} routes at 100 ms a call`, () => {
  const begin = routeStage();

  it('makes one call a route, one list and one patch a Node, and changes nothing after a restart', async (test) => {
    const { world, replica } = begin({ clusterCidr: '10.0.0.0/8' });
    for (let at = 0; at < count; at += 1) world.add(`n${at}`, [`10.${100 + (at >> 8)}.${at & 255}.0/24`]);
    world.cloud.faults.add({ operation: 'routes.*', effect: { kind: 'latency', ms: 100 } });
    await replica.start();
    const startedMs = world.clock.monotonic();
    while (world.routes().length < count && world.clock.monotonic() - startedMs < 60_000)
      await world.clock.advance(100);
    const madeMs = world.clock.monotonic() - startedMs;
    await world.clock.advance(5000);
    const reads = world.reads();
    const patches = replica.writes().length;
    test.diagnostic(
      `all made after ${madeMs} ms of simulated time; ${world.mutations()} creates, ${reads} reads, ${patches} ` +
        'patches of Nodes',
    );
    assert.equal(world.routes().length, count);
    assert.equal(world.mutations(), count);
    assert.ok(reads <= 2, String(reads));
    assert.equal(patches, count);

    await replica.stop();
    const next = world.routeReplica();
    await next.start();
    await world.clock.advance(10_000);
    assert.equal(world.mutations(), count);
    assert.deepEqual(next.writes(), []);
    assert.equal(world.reads() - reads, 1);
  });
});
