import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer, ObservedLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, memberOf, newOwner } from '../suite/desired.ts';
import { refOf } from '../suite/drive.ts';
import { assertAtMost, made, opened, ports, services, settle, withHarness } from './octavia-process.ts';

describe('calls to OpenStack', () => {
  for (const count of [1, 5]) {
    it(`are two changes and six reads at most for a first ensure of ${count} ports`, () =>
      withHarness(async (harness) => {
        const balancers = await opened(harness);
        const first = desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(count) });
        await made(harness, balancers, first);
        // Which subnet the members are in is learned once.
        assertAtMost(harness, { changes: 2, reads: 6 });
        const second = desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(count) });
        const observed = await made(harness, balancers, second);
        assertAtMost(harness, { changes: 2, reads: 5 });
        assert.equal(observed?.state, 'active');
        const fresh = await harness.observe({ ...refOf(second, { id: observed?.id }) });
        assert.deepEqual(balancers.plan(second, fresh).steps, []);
        assert.deepEqual(fresh?.members, observed?.members);
        harness.calls();
        const again = await harness.world.during(balancers.observeAll(harness.world.cluster));
        // Members are not read again.
        assertAtMost(harness, { changes: 0, reads: 4 });
        for (const desired of [first, second]) {
          const one = again.find(({ owner }) => owner?.service === desired.owner.service);
          assert.deepEqual(balancers.plan(desired, one).steps, []);
        }
      }));
  }

  it('are four reads at most for a list of everything, and in a new process nine and one for each pool', () =>
    withHarness(async (harness) => {
      for (const count of [3, 7]) {
        const all = await services(harness, count);
        const { balancers } = await harness.driving();
        harness.calls();
        const first = await harness.world.during(balancers.observeAll(harness.world.cluster));
        assertAtMost(harness, { changes: 0, reads: 9 + first.length * 2 });
        const again = await harness.world.during(balancers.observeAll(harness.world.cluster));
        assertAtMost(harness, { changes: 0, reads: 4 });
        for (const desired of all) {
          const observed = again.find(({ owner }) => owner?.service === desired.owner.service);
          assert.deepEqual(balancers.plan(desired, observed).steps, []);
        }
        assert.equal(harness.calls().length, 0, 'planning makes no call');
      }
    }));

  it('are one change, three reads a port and one read more at most for a change of Nodes', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const desired = { ...harness.desired, ports: ports(2) };
      const observed = await made(harness, balancers, desired);
      const third = await harness.world.createVm();
      const grown = { ...desired, members: [...desired.members, memberOf(third)] };
      harness.calls();
      await settle(harness, balancers, grown, observed, (known) => balancers.plan(grown, known));
      assertAtMost(harness, { changes: 2, reads: 7 });
      const all = await harness.world.during(balancers.observeAll(harness.world.cluster));
      assertAtMost(harness, { changes: 0, reads: 4 });
      assert.equal(all[0]?.members.length, grown.members.length);
      assert.deepEqual(balancers.plan(grown, all[0]).steps, []);
    }));

  it('are two changes and four reads at most for a removal, of which the last is the proof', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const desired = { ...harness.desired, ports: ports(4) };
      const observed = await made(harness, balancers, desired);
      harness.calls();
      const left = await settle(harness, balancers, desired, observed, (known) =>
        known ? balancers.planRemoval(known, { retain: false }) : { steps: [], refusals: [], waitMs: undefined },
      );
      assert.equal(left, undefined);
      assertAtMost(harness, { changes: 2, reads: 4 });
      assert.equal(await harness.observe({ id: observed?.id }), undefined);
    }));

  it('have no further read in a removal right after a read of that Service', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const before = await made(harness, balancers, desired);
      for (const waitMs of [0, 3000]) {
        const observed = await world.during(balancers.observe(refOf(desired, { id: before?.id })));
        await world.pass(waitMs);
        const [step] = balancers.planRemoval(observed!, { retain: false }).steps;
        harness.calls();
        const withheld = balancers.apply(step!, observed, { permit: () => assert.fail('withheld') });
        await assert.rejects(world.during(withheld));
        assertAtMost(harness, { changes: 0, reads: waitMs === 0 ? 0 : 1 });
      }
    }));

  it('are five a second at most for the progress of twelve load balancers', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { world } = harness;
      const all = Array.from({ length: 12 }, () => desiredFor(newOwner(world.cluster), harness.vms));
      const known = new Map<DesiredLoadBalancer, ObservedLoadBalancer | undefined>();
      for (const desired of all) known.set(desired, await made(harness, balancers, desired));
      for (const desired of all) {
        const fewer = { ...desired, members: desired.members.slice(1) };
        const [step] = balancers.plan(fewer, known.get(desired)).steps;
        known.set(desired, await world.during(balancers.apply(step!, known.get(desired), { permit: () => {} })));
      }
      await world.pass(1000);
      harness.calls();
      const refs = all.map((desired) => refOf(desired, { id: known.get(desired)?.id }));
      const seen = await world.during(Promise.all(refs.map((ref) => balancers.observe(ref))));
      assert.deepEqual(new Set(seen.map((one) => one?.state)), new Set(['provisioning']));
      assertAtMost(harness, { changes: 0, reads: 5 });
    }));
});
