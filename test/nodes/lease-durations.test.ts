import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { taints } from '../../common/well-known.ts';
import { secondsUntil } from './harness/fleet.ts';
import { fleetStage } from './harness/fleet-stage.ts';

describe('a Node whose kubelet renews a lease of its own duration', () => {
  const start = fleetStage();

  it('keeps a Node that renews at a quarter of its lease, whatever the cloud and its own clock say', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(40, 100, 600),
        fc.constantFrom('terminate' as const, 'forget' as const, 'stop' as const),
        fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
        fc.constantFrom(0, 3_600_000, -3_600_000),
        fc.integer({ min: 0, max: 150 }),
        async (leaseSeconds, how, ready, lagMs, phase) => {
          const { world, first, exists } = await start(3);
          first.kubelet.die();
          world.cluster.renewLease('n0', lagMs, leaseSeconds);
          await world.clock.advance(phase * 1000);
          world.cluster.renewLease('n0', lagMs, leaseSeconds);
          world.cloud.model[how](first.vm.id);
          for (let passed = 0; passed < 1900; passed += leaseSeconds / 4) {
            world.cluster.setReady('n0', ready);
            world.cluster.renewLease('n0', lagMs, leaseSeconds);
            await world.clock.advance(leaseSeconds * 260);
            assert.equal(exists('n0'), true, `deleted after ${passed} s`);
            assert.equal(world.cluster.hasTaint('n0', taints.shutdown), false, `tainted after ${passed} s`);
          }
        },
      ),
      { numRuns: 18, seed: 3 },
    );
  });

  for (const leaseSeconds of [40, 100, 600]) {
    it(`deletes the Node once it was silent for as long as its lease of ${leaseSeconds} s lasts`, async () => {
      const { world, first, exists, terminate } = await start(3);
      first.kubelet.die();
      world.cluster.renewLease('n0', 0, leaseSeconds);
      terminate(first);
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(seconds >= leaseSeconds && seconds <= leaseSeconds + 70, `${seconds} s`);
    });
  }

  it('deletes the Node about an hour after its end, however long the lease it chose', async () => {
    const { world, first, exists, terminate } = await start(3);
    world.cluster.renewLease('n0', 0, 2 ** 31 - 1);
    terminate(first);
    world.cluster.renewLease('n0', 0, 2 ** 31 - 1);
    await world.clock.advance(3_500_000);
    assert.equal(exists('n0'), true);
    await world.clock.advance(300_000);
    assert.equal(exists('n0'), false);
  });
});
