import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../../common/well-known.ts';
import type { LoadBalancerPlan } from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, memberOf, newOwner, port } from './desired.ts';
import { ensure, look, printStep, remove, withheld } from './drive.ts';
import { type SuiteContext, sorted, withExample } from './suite-context.ts';

/** What a cloud itself does when one load balancer is made, seen and removed. */
export function lifeFacts({ world }: SuiteContext): void {
  describe('load balancers', () => {
    it('creates a load balancer that is active, with an address and all members, by steps that delete nothing', () =>
      withExample(world(), async (example) => {
        const driving = await example.driving();
        const { balancers, desired } = driving;
        assert.equal(await look(driving), undefined);
        const plan = balancers.plan(desired);
        assert.ok(plan.steps.length > 0);
        assert.deepEqual(plan.refusals, []);
        for (const step of plan.steps) {
          assert.notEqual(step.action, 'delete', printStep(step));
          assert.ok(step.resource !== '' && step.target !== '' && /^[^\n]+$/.test(step.summary), printStep(step));
        }
        const { observed, calls, refusals } = await ensure(driving);
        assert.ok(calls >= 1);
        assert.deepEqual(refusals, []);
        assert.ok(observed?.id);
        assert.equal(observed.state, 'active');
        assert.deepEqual(observed.owner, desired.owner);
        assert.ok(observed.ingress.length > 0, 'an address is certain');
        assert.deepEqual(
          observed.members.map(({ providerID }) => providerID).sort(),
          example.vms.map(({ providerID }) => providerID).sort(),
        );
        assert.equal(observed.attached, false);
        assert.equal(observed.retained, false);
        assert.equal(observed.service, desired.service);
      }));

    it('shows a new process the same load balancer by id, by search and in the list', () =>
      withExample(world(), async (example) => {
        const { observed } = await ensure(await example.driving());
        assert.ok(observed);
        const balancers = await example.fresh();
        await example.world.pass(balancers.settleMs);
        const byId = await look(await example.driving());
        const bySearch = await look(await example.driving({ record: { id: undefined } }));
        const all = await example.world.during(balancers.observeAll(example.world.cluster));
        const ours = all.filter(({ owner }) => owner?.service === example.desired.owner.service);
        assert.equal(ours.length, 1);
        for (const seen of [byId, bySearch, ours[0]]) {
          assert.ok(seen);
          assert.equal(seen.id, observed.id);
          assert.deepEqual(seen.ingress, observed.ingress);
          assert.deepEqual(seen.owner, observed.owner);
          const plan = balancers.plan(example.desired);
          assert.deepEqual(plan.steps.map(printStep), []);
          assert.equal(plan.waitMs, undefined);
        }
      }));

    it('makes no mutating call in a new process when nothing changed', () =>
      withExample(world(), async (example) => {
        await ensure(await example.driving());
        const before = example.world.mutations();
        const { calls, steps } = await ensure(await example.driving());
        assert.deepEqual(steps.map(printStep), []);
        assert.equal(calls, 0);
        assert.equal(example.world.mutations(), before);
      }));

    it('leaves nothing after a removal, and makes no call to remove nothing', () =>
      withExample(world(), async (example) => {
        const before = sorted(await example.world.inventory());
        await ensure(await example.driving());
        assert.notDeepEqual(sorted(await example.made()), []);
        const { observed, calls } = await remove(await example.driving());
        assert.equal(observed, undefined);
        assert.ok(calls >= 1);
        assert.deepEqual(sorted(await example.world.inventory()), before);
        const again = await remove(await example.driving());
        assert.equal(again.calls, 0);
        assert.equal(await look(await example.driving()), undefined);
      }));
  });
}

/** Facts about one load balancer: its life, and what Mooring does and leaves. */
export function balancerFacts(context: SuiteContext): void {
  const { world, capabilities } = context;
  lifeFacts(context);
  describe('load balancers of Mooring', () => {
    it('plans in plain data, the same for the same state', () =>
      withExample(world(), async (example) => {
        const { desired } = example;
        const balancers = await example.fresh();
        const plan = balancers.plan(desired);
        assert.deepEqual(structuredClone(plan), plan);
        assert.deepEqual(balancers.plan(desired), plan);
        await ensure(await example.driving());
        const changed = { ...desired, ports: [port(80, 30080), port(443, 30443)] };
        assert.deepEqual(balancers.plan(changed), balancers.plan(changed));
      }));

    it('asks for the permit right before each call, and makes no call without a step', () =>
      withExample(world(), async (example) => {
        let asked = 0;
        const began = example.world.mutations();
        const permit = () => {
          assert.ok(example.world.mutations() - began <= asked, 'the permit was asked after the call was sent');
          asked += 1;
        };
        const driven = [await ensure(await example.driving({ permit }))];
        example.desired = { ...example.desired, ports: [port(80, 30080), port(443, 30443)] };
        driven.push(await ensure(await example.driving({ permit })));
        driven.push(await remove(await example.driving({ permit })));
        assert.equal(example.world.mutations() - began, asked, 'as many calls were sent as were permitted');
        const steps = driven.flatMap((one) => one.steps).length;
        assert.ok(
          capabilities.loadBalancers?.writesMembersEach ? steps <= asked : steps === asked,
          `${steps} steps, ${asked} calls`,
        );
      }));

    it('sends no mutating call without a permit, at any step', () =>
      withExample(world(), async (example) => {
        const balancers = await example.fresh();
        let refused = 0;
        const onPlan = async (plan: LoadBalancerPlan) => {
          const before = example.world.mutations();
          const attempt = example.world.during(balancers.apply(plan, { permit: withheld }));
          const steps = plan.steps.map(printStep).join();
          await assert.rejects(attempt, { name: 'WithheldError' }, steps);
          assert.equal(example.world.mutations(), before, steps);
          refused += 1;
        };
        const driven = [await ensure(await example.driving({ balancers, onPlan }))];
        example.desired = { ...example.desired, members: example.vms.slice(1).map((vm) => memberOf(vm)) };
        driven.push(await ensure(await example.driving({ balancers, onPlan })));
        driven.push(await remove(await example.driving({ balancers, onPlan })));
        assert.ok(refused >= 3);
      }));

    it('lists each load balancer of this cluster once, and none of another cluster', () =>
      withExample(world(), async (example) => {
        await ensure(await example.driving());
        const others = [newOwner(example.world.cluster), newOwner('11111111-2222-4333-8444-555555555555')].map(
          (owner) => desiredFor(owner, example.vms, { ports: [port(81, 30081)] }),
        );
        const drivings = await Promise.all(
          others.map((desired) => example.driving({ desired, record: { id: undefined } })),
        );
        try {
          for (const driving of drivings) await ensure(driving);
          const balancers = await example.fresh();
          await example.world.pass(balancers.settleMs);
          const all = await example.world.during(balancers.observeAll(example.world.cluster));
          const services = all.map(({ owner }) => owner?.service).sort();
          assert.deepEqual(services, [example.desired.owner.service, others[0]?.owner.service].sort());
        } finally {
          for (const driving of drivings) await remove(driving);
        }
      }));

    it('leaves a foreign load balancer that the record names unchanged', () =>
      withExample(world(), async (example) => {
        const foreign = await example.world.createForeignLoadBalancer('foreign', undefined);
        const before = await example.world.describeLoadBalancer(foreign);
        try {
          const driving = await example.driving({ record: { id: foreign } });
          const { observed } = await ensure(driving);
          assert.notEqual(observed?.id, foreign);
          await remove(await example.driving({ record: { id: foreign } }));
          assert.equal(await example.world.describeLoadBalancer(foreign), before);
        } finally {
          await example.world.deleteLoadBalancer(foreign);
        }
      }));

    it("describes each annotation once, under a key that is none of the controller's own", async () => {
      const { loadBalancers } = await world().open();
      assert.ok(loadBalancers);
      const keys = loadBalancers.annotations.map(({ key }) => key);
      assert.equal(new Set(keys).size, keys.length);
      const own: readonly string[] = Object.values(annotations);
      for (const { key, values, meaning } of loadBalancers.annotations) {
        assert.ok(key.includes('/') && values !== '' && meaning !== '', key);
        assert.ok(!own.includes(key), `${key} is the controller's own`);
      }
    });
  });
}
