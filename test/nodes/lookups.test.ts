import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deletions, fleet, secondsUntil } from './harness/fleet.ts';
import { fleetStage } from './harness/fleet-stage.ts';

describe('the lookup of a Node whose VM is gone', () => {
  const start = fleetStage();

  it('looks up all NotReady Nodes in one call, ever more rarely while they are found', async () => {
    const { world, members } = await start(30);
    for (const member of members.slice(0, 25)) member.kubelet.die();
    await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
    const calls = world.cloudCalls();
    await world.clock.advance(600_000);
    const made = world.cloudCalls() - calls;
    assert.ok(made <= 18, `${made} calls in ten minutes for 25 nodes`);
  });

  it('looks up a Node at once, however many heartbeats others send', async () => {
    const { world, first, exists, terminate } = await start(6);
    terminate(first);
    world.cluster.setReady('n0', 'Unknown');
    world.cluster.setReady('n1', 'Unknown');
    let gone = Number.POSITIVE_INFINITY;
    for (let tick = 0; tick < 600 && gone === Number.POSITIVE_INFINITY; tick += 1) {
      world.cluster.heartbeat('n1');
      await world.clock.advance(100);
      if (!exists('n0')) gone = tick / 10;
    }
    assert.ok(gone <= 40, `${gone} s`);
  });

  it('leaves nothing in the gauge for a Node that a person deleted meanwhile', async () => {
    const { world, replica, first, exists, doubt } = await start(4);
    await doubt(first);
    replica.kube.intercept = (call) => {
      if (call.verb === 'get' && call.path.endsWith('/leases/n0')) {
        replica.kube.intercept = undefined;
        world.cluster.renewLease('n0');
        queueMicrotask(() => world.cluster.remove('n0'));
      }
    };
    await world.clock.advance(120_000);
    assert.equal(exists('n0'), false);
    assert.deepEqual(deletions(replica), [], 'the person was first');
    for (const why of ['Confirming', 'SignOfLife', 'CanaryNotFound', 'LifeUnknown']) {
      assert.equal(await replica.gauge('mooring_node_deletions_withheld', `{reason="${why}"}`), 0, why);
    }
  });

  it('succeeds although the cloud of another scope does not answer', async () => {
    const geography = { here: { r1: ['r1a'] }, there: { r2: ['r2a'] } };
    const clouds = [
      { project: 'there', region: 'r2' },
      { project: 'here', region: 'r1' },
    ];
    const { world, exists, terminate } = await start(0, { geography, clouds }, 0);
    const here = await fleet(world, 3, { project: 'here', region: 'r1', prefix: 'a', ageSeconds: 10 });
    const there = await fleet(world, 3, { project: 'there', region: 'r2', prefix: 'b' });
    world.cloud.faults.add({ operation: '*', project: 'there', effect: { kind: 'silence' } });
    for (const { kubelet } of there) kubelet.die();
    await world.clock.advance(50_000);
    terminate(here[0]!);
    const seconds = await secondsUntil(world, () => !exists('a0'));
    assert.ok(seconds <= 70, `${seconds} s`);
    assert.equal(exists('b0'), true);
  });
});
