import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer, ObservedLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, memberOf, newOwner } from '../suite/desired.ts';
import { refOf } from '../suite/drive.ts';
import { compared, look, made, opened, ports, services, settle, withHarness } from './octavia-process.ts';

describe('calls to OpenStack', () => {
  for (const count of [1, 5]) {
    it(`a first ensure of ${count} ports is two changes, the looks of one wait and one at everything together`, () =>
      withHarness(async (harness) => {
        const balancers = await opened(harness);
        const first = desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(count) });
        await made(harness, balancers, first);
        // Which subnet the members are in is learned once.
        assert.deepEqual(harness.calls(), [
          ...['GET /ports', 'POST /lbaas/loadbalancers', look, look, look, compared, 'POST /floatingips'],
        ]);
        const second = desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(count) });
        const observed = await made(harness, balancers, second);
        assert.deepEqual(harness.calls(), [
          ...['POST /lbaas/loadbalancers', look, look, look, compared, 'POST /floatingips'],
        ]);
        const fresh = await harness.observe({ ...refOf(second, { id: observed?.id }) });
        assert.deepEqual(balancers.plan(second, fresh).steps, []);
        assert.deepEqual(fresh?.members, observed?.members);
        harness.calls();
        const again = await harness.world.during(balancers.observeAll(harness.world.cluster));
        assert.equal(harness.calls().length, 4, 'the next list of everything has to read no members');
        for (const desired of [first, second]) {
          const one = again.find(({ owner }) => owner?.service === desired.owner.service);
          assert.deepEqual(balancers.plan(desired, one).steps, []);
        }
      }));
  }

  it('everything of the cluster is four lists, and once a process monitors, groups, networks, versions and the members of each pool', () =>
    withHarness(async (harness) => {
      for (const count of [3, 7]) {
        const all = await services(harness, count);
        const { balancers } = await harness.driving();
        harness.calls();
        const first = await harness.world.during(balancers.observeAll(harness.world.cluster));
        const fresh = harness.calls();
        const pools = fresh.filter((call) => call === 'GET /lbaas/pools/ID/members').length;
        assert.equal(pools, first.length * 2);
        assert.equal(fresh.length - pools, 9, fresh.join('\n'));
        const again = await harness.world.during(balancers.observeAll(harness.world.cluster));
        assert.equal(harness.calls().length, 4);
        for (const desired of all) {
          const observed = again.find(({ owner }) => owner?.service === desired.owner.service);
          assert.deepEqual(balancers.plan(desired, observed).steps, []);
        }
        assert.equal(harness.calls().length, 0, 'planning calls nobody');
      }
    }));

  it('a change of Nodes is one batch a port, the looks of its wait, and one at everything together', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const desired = { ...harness.desired, ports: ports(2) };
      const observed = await made(harness, balancers, desired);
      const third = await harness.world.createVm();
      const grown = { ...desired, members: [...desired.members, memberOf(third)] };
      harness.calls();
      await settle(harness, balancers, grown, observed, (known) => balancers.plan(grown, known));
      const batch = ['PUT /lbaas/pools/ID/members', look, look, look];
      assert.deepEqual(harness.calls(), [...batch, ...batch, compared]);
      const all = await harness.world.during(balancers.observeAll(harness.world.cluster));
      assert.equal(harness.calls().length, 4, 'the next list of everything has to read no members');
      assert.deepEqual(balancers.plan(grown, all[0]).steps, []);
    }));

  it('a removal is two changes, one look before them and those of one wait, of which the last is the proof', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const desired = { ...harness.desired, ports: ports(4) };
      const observed = await made(harness, balancers, desired);
      harness.calls();
      const left = await settle(harness, balancers, desired, observed, (known) =>
        known ? balancers.planRemoval(known, { retain: false }) : { steps: [], refusals: [], waitMs: undefined },
      );
      assert.equal(left, undefined);
      assert.deepEqual(harness.calls(), [
        ...[look, 'DELETE /lbaas/loadbalancers/ID', 'DELETE /floatingips/ID'],
        ...[look, look, look],
      ]);
      assert.equal(await harness.observe({ id: observed?.id }), undefined);
    }));

  it('a removal right after a look at that very Service begins without another', () =>
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
        assert.deepEqual(harness.calls(), waitMs === 0 ? [] : [look]);
      }
    }));

  it('many at work are looked at by one list a second', () =>
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
      assert.deepEqual(harness.calls().toSorted(), [...Array(4).fill(look), 'GET /lbaas/loadbalancers'].toSorted());
    }));
});
