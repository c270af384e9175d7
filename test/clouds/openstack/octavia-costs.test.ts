import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WithheldError } from '../../../controller/clouds/permit.ts';
import { desiredFor, memberOf, newOwner } from '../suite/desired.ts';
import { refOf, withheld } from '../suite/drive.ts';
import { assertAtMost, made, opened, ports, services, settle, withHarness } from './octavia-process.ts';

describe('calls to OpenStack', () => {
  for (const count of [1, 5]) {
    it(`a first ensure of ${count} ports is at most two changes and four reads`, () =>
      withHarness(async (harness) => {
        const balancers = await opened(harness);
        const first = desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(count) });
        await made(harness, balancers, first);
        // Which subnet the members are in is learned once.
        assertAtMost(harness, { changes: 2, reads: 4 });
        const second = desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(count) });
        const observed = await made(harness, balancers, second);
        assertAtMost(harness, { changes: 2, reads: 3 });
        assert.equal(observed?.state, 'active');
        const fresh = await harness.observe({ ...refOf(second, { id: observed?.id }) });
        assert.deepEqual(balancers.plan(second).steps, []);
        assert.deepEqual(fresh?.members, observed?.members);
        harness.calls();
        await harness.world.during(balancers.observeAll(harness.world.cluster));
        // Members are not read again.
        assertAtMost(harness, { changes: 0, reads: 5 });
        for (const desired of [first, second]) assert.deepEqual(balancers.plan(desired).steps, []);
      }));
  }

  it('a list of everything is at most five reads, and the first of a process nine and one for each pool', () =>
    withHarness(async (harness) => {
      for (const count of [3, 7]) {
        const all = await services(harness, count);
        const { balancers } = await harness.driving();
        harness.calls();
        const first = await harness.world.during(balancers.observeAll(harness.world.cluster));
        assertAtMost(harness, { changes: 0, reads: 9 + first.length * 2 });
        await harness.world.during(balancers.observeAll(harness.world.cluster));
        assertAtMost(harness, { changes: 0, reads: 5 });
        for (const desired of all) assert.deepEqual(balancers.plan(desired).steps, []);
        assert.equal(harness.calls().length, 0, 'planning makes no call');
      }
    }));

  it('a change of Nodes is at most one change and three reads a port', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const desired = { ...harness.desired, ports: ports(2) };
      const observed = await made(harness, balancers, desired);
      const third = await harness.world.createVm();
      const grown = { ...desired, members: [...desired.members, memberOf(third)] };
      harness.calls();
      await settle(harness, balancers, grown, observed, () => balancers.plan(grown));
      assertAtMost(harness, { changes: 2, reads: 6 });
      const all = await harness.world.during(balancers.observeAll(harness.world.cluster));
      assertAtMost(harness, { changes: 0, reads: 5 });
      assert.equal(all[0]?.members.length, grown.members.length);
      assert.deepEqual(balancers.plan(grown).steps, []);
    }));

  it('a removal is at most two changes and four reads, which prove that it is gone', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const desired = { ...harness.desired, ports: ports(4) };
      const observed = await made(harness, balancers, desired);
      harness.calls();
      const left = await settle(
        harness,
        balancers,
        desired,
        observed,
        (known) => known?.owner && balancers.planRemoval(known.owner, { retain: false }),
      );
      assert.equal(left, undefined);
      assertAtMost(harness, { changes: 2, reads: 4 });
      assert.equal(await harness.observe({ id: observed?.id }), undefined);
    }));

  it('reads at most four times for a Service that is to be removed', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const before = await made(harness, balancers, desired);
      harness.calls();
      await world.during(balancers.observe({ ...refOf(desired, { id: before?.id }), removing: true }));
      assertAtMost(harness, { changes: 0, reads: 4 });
    }));

  it('reads once in a removal right after a read of that Service, and all of it again two minutes later', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const before = await made(harness, balancers, desired);
      const observed = await world.during(balancers.observe(refOf(desired, { id: before?.id })));
      const plan = balancers.planRemoval(observed!.owner!, { retain: false });
      harness.calls();
      await assert.rejects(world.during(balancers.apply(plan, { permit: withheld })), WithheldError);
      assertAtMost(harness, { changes: 0, reads: 1 });
      await world.pass(120_000);
      await assert.rejects(world.during(balancers.apply(plan, { permit: withheld })), WithheldError);
      const reads = harness.calls();
      assert.ok(reads.includes('GET /lbaas/listeners'), 'it may serve others by now');
    }));
});
