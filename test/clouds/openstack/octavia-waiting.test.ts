import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desiredFor, memberOf, newOwner } from '../suite/desired.ts';
import { refOf } from '../suite/drive.ts';
import { compared, made, opened, settle, withHarness } from './octavia-process.ts';

describe('waiting for Octavia', () => {
  it('sees the end of a member though the load balancer is active again', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired } = harness;
      const observed = await made(harness, balancers, desired);
      const third = await harness.world.createVm();
      const grown = { ...desired, members: [...desired.members, memberOf(third)] };
      const [step] = balancers.plan(grown, observed).steps;
      let known = await harness.world.during(balancers.apply(step!, observed, { permit: () => {} }));
      const [balancer] = harness.octavia.balancers.values();
      const member = balancer!.pools[0]!.members[2]!;
      member.status = 'ERROR';
      harness.calls();
      let plan = balancers.plan(grown, known);
      for (let round = 0; round < 10 && plan.steps.length === 0 && plan.waitMs !== undefined; round += 1) {
        await harness.world.pass(plan.waitMs);
        known = await harness.world.during(balancers.observe(refOf(grown, { id: known?.id })));
        plan = balancers.plan(grown, known);
      }
      assert.match(plan.steps[0]?.summary ?? '', /1 changed/);
    }));

  it('continues for a load balancer that is active before its parts', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired } = harness;
      const [step] = balancers.plan(desired, undefined).steps;
      let known = await harness.world.during(balancers.apply(step!, undefined, { permit: () => {} }));
      const [balancer] = harness.octavia.balancers.values();
      balancer!.status = 'ACTIVE';
      const looked = async () => {
        known = await harness.world.during(balancers.observe(refOf(desired, { id: known?.id })));
        return balancers.plan(desired, known);
      };
      const first = await looked();
      assert.deepEqual([first.steps.length, first.waitMs !== undefined], [0, true]);
      balancer!.status = 'PENDING_UPDATE';
      harness.octavia.settle();
      assert.match((await looked()).steps[0]?.summary ?? '', /floating IP/);
    }));

  it('does not last long for a part that Octavia left pending for ever', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const observed = await made(harness, balancers, desired);
      const grown = { ...desired, members: desired.members.slice(1) };
      const [step] = balancers.plan(grown, observed).steps;
      let known = await world.during(balancers.apply(step!, observed, { permit: () => {} }));
      harness.octavia.settle();
      const [balancer] = harness.octavia.balancers.values();
      balancer!.pools[0]!.status = 'PENDING_UPDATE';
      harness.calls();
      let waitedMs = 0;
      for (;;) {
        const { steps, waitMs } = balancers.plan(grown, known);
        assert.deepEqual(steps, []);
        if (waitMs === undefined) break;
        waitedMs += waitMs;
        await world.pass(waitMs);
        known = await world.during(balancers.observe(refOf(grown, { id: known?.id })));
      }
      assert.ok(waitedMs >= 60_000 && waitedMs < 120_000, `${waitedMs} ms`);
      assert.ok(harness.calls().length < 60);
    }));

  it('continues for a part that lags though another one did hours ago', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      let known = await made(harness, balancers, desired);
      const [balancer] = harness.octavia.balancers.values();
      for (const members of [desired.members.slice(1), desired.members]) {
        const now = { ...desired, members };
        const [step] = balancers.plan(now, known).steps;
        known = await world.during(balancers.apply(step!, known, { permit: () => {} }));
        harness.octavia.settle();
        balancer!.pools[0]!.status = 'PENDING_UPDATE';
        for (let look = 0; look < 2; look += 1) {
          const { waitMs } = balancers.plan(now, known);
          assert.ok(waitMs !== undefined, 'it is not waited for');
          await world.pass(waitMs);
          known = await world.during(balancers.observe(refOf(now, { id: known?.id })));
        }
        assert.equal(known?.state, 'provisioning');
        balancer!.pools[0]!.status = 'ACTIVE';
        [known] = await world.during(balancers.observeAll(world.cluster));
        await world.pass(3_600_000);
      }
    }));

  it('keeps what was known when a change began, though no read came for long', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      let known = await made(harness, balancers, desired);
      const fewer = { ...desired, members: desired.members.slice(1) };
      const [step] = balancers.plan(fewer, known).steps;
      known = await world.during(balancers.apply(step!, known, { permit: () => {} }));
      harness.octavia.settle();
      const [balancer] = harness.octavia.balancers.values();
      balancer!.listeners[0]!.fields['connection_limit'] = 5;
      await world.pass(3_600_000);
      const end = await settle(harness, balancers, fewer, known, (now) => balancers.plan(fewer, now));
      assert.equal(balancer!.listeners[0]!.fields['connection_limit'], -1);
      assert.deepEqual(balancers.plan(fewer, end).steps, []);
    }));

  it('reads everything where statuses are not shown, and does not request them again', () =>
    withHarness(async (harness) => {
      harness.fake.fault = (call, response) => {
        if (!call.path.endsWith('/status')) return undefined;
        response.writeHead(403, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ faultcode: 'Client', faultstring: 'Policy does not allow this request.' }));
        return 'answered';
      };
      const balancers = await opened(harness);
      const first = await made(harness, balancers, harness.desired);
      assert.ok(first?.ingress.length);
      const asked = harness.calls().filter((call) => call === compared).length;
      await made(harness, balancers, desiredFor(newOwner(harness.world.cluster), harness.vms));
      assert.deepEqual([asked, harness.calls().filter((call) => call === compared).length], [1, 0]);
    }));

  for (const status of [500, 502, 504]) {
    it(`goes on where statuses are answered by ${status} alone`, () =>
      withHarness(async (harness) => {
        harness.fake.fault = (call, response) => {
          if (!call.path.endsWith('/status')) return undefined;
          response.writeHead(status, { 'content-type': 'text/html' });
          response.end('<html>');
          return 'answered';
        };
        const balancers = await opened(harness);
        const { world, desired } = harness;
        const first = await made(harness, balancers, desired);
        assert.ok(first?.ingress.length);
        await world.during(balancers.observeAll(world.cluster));
        const seen = await world.during(balancers.observe(refOf(desired, { id: first?.id })));
        assert.deepEqual(balancers.plan(desired, seen).steps, []);
      }));
  }
});
