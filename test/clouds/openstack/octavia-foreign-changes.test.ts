import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObservedLoadBalancer } from '../../../controller/clouds/load-balancers.ts';
import { refOf } from '../suite/drive.ts';
import { timestamp } from './fake/fake-octavia-model.ts';
import { made, opened, settle, withHarness } from './octavia-process.ts';

/** A replica of Octavia's database is given so long to show what we have changed. */
const lagMs = 11_000;

describe('foreign changes at Octavia, and the answers of a lagging replica', () => {
  it('shows a foreign change inside a pool at its next read and in the next list of everything', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const observed = await made(harness, balancers, desired);
      await world.pass(lagMs);
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      for (const read of [
        async () => world.during(balancers.observe(refOf(desired, { id: observed?.id }))),
        async () => (await world.during(balancers.observeAll(world.cluster)))[0],
      ]) {
        await read();
        assert.deepEqual(balancers.plan(desired).steps, []);
        pool!.members[0]!.fields['weight'] = 7;
        pool!.fields['updated_at'] = timestamp();
        await read();
        assert.match(balancers.plan(desired).steps[0]?.summary ?? '', /1 changed/);
        pool!.members[0]!.fields['weight'] = 1;
        pool!.fields['updated_at'] = timestamp();
      }
    }));

  it('shows health though nothing else has changed', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const observed = await made(harness, balancers, desired);
      await world.pass(lagMs);
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      pool!.members[0]!.fields['operating_status'] = 'ERROR';
      pool!.members[1]!.fields['operating_status'] = 'ONLINE';
      const seen = await world.during(balancers.observe(refOf(desired, { id: observed?.id })));
      assert.deepEqual(
        seen?.members.map(({ healthy }) => healthy),
        [false, true],
      );
    }));

  it('shows a foreign change of a monitor in the next list of everything', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      await world.pass(lagMs);
      const list = async () => (await world.during(balancers.observeAll(world.cluster)))[0];
      await list();
      assert.deepEqual(balancers.plan(desired).steps, []);
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      pool!.monitor!.fields['delay'] = 77;
      pool!.fields['updated_at'] = timestamp();
      await list();
      assert.match(balancers.plan(desired).steps[0]?.summary ?? '', /delay from 77/);
    }));

  it('shows a foreign change inside a pool despite our own later change of another part', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      await world.pass(lagMs);
      const [known] = await world.during(balancers.observeAll(world.cluster));
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      pool!.members[0]!.fields['weight'] = 7;
      pool!.fields['updated_at'] = timestamp();
      const narrowed = { ...desired, sourceRanges: ['192.0.2.0/24'] };
      await settle(harness, balancers, narrowed, known, () => balancers.plan(narrowed));
      await world.during(balancers.observeAll(world.cluster));
      assert.match(balancers.plan(narrowed).steps[0]?.summary ?? '', /1 changed/);
    }));

  it('shows within hours a foreign change of a pool right before or after our own', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      await world.pass(lagMs);
      await world.during(balancers.observeAll(world.cluster));
      const [balancer] = harness.octavia.balancers.values();
      const [pool] = balancer!.pools;
      pool!.monitor!.fields['delay'] = 77;
      pool!.fields['updated_at'] = timestamp();
      const fewer = { ...desired, members: desired.members.slice(1) };
      const plan = balancers.plan(fewer);
      let observed = await world.during(balancers.apply(plan, { permit: () => {} }));
      harness.octavia.settle();
      pool!.members[0]!.fields['weight'] = 7;
      pool!.fields['updated_at'] = timestamp();
      balancer!.fields['updated_at'] = timestamp();
      observed = await settle(harness, balancers, fewer, observed, () => balancers.plan(fewer));
      for (let audit = 0; audit < 3 * 12; audit += 1) {
        await world.pass(300_000);
        [observed] = (await world.during(balancers.observeAll(world.cluster))) as ObservedLoadBalancer[];
      }
      assert.match(JSON.stringify(balancers.plan(fewer).steps), /1 changed.*delay from 77/);
      harness.calls();
      await world.during(balancers.observeAll(world.cluster));
      assert.equal(harness.calls().length, 5);
    }));

  it("takes no members of a lagging replica for those of the pool's version", () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      await world.pass(lagMs);
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      const [removed] = pool!.members.splice(0, 1);
      pool!.fields['updated_at'] = timestamp();
      const lags = JSON.stringify({
        members: [removed!, ...pool!.members].map(({ id, fields }) => ({
          id,
          provisioning_status: 'ACTIVE',
          ...fields,
        })),
      });
      harness.fake.fault = (call, response) => {
        if (!call.path.endsWith('/members')) return undefined;
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(lags);
        return 'answered';
      };
      const list = async () => (await world.during(balancers.observeAll(world.cluster)))[0];
      await list();
      assert.deepEqual(balancers.plan(desired).steps, []);
      harness.fake.fault = undefined;
      await list();
      assert.match(balancers.plan(desired).steps[0]?.summary ?? '', /1 added/);
    }));

  it('shows within days a monitor that a lagging replica showed in its old state', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      await world.pass(lagMs);
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      const list = async () => (await world.during(balancers.observeAll(world.cluster)))[0];
      pool!.fields['updated_at'] = timestamp();
      await list();
      assert.deepEqual(balancers.plan(desired).steps, []);
      pool!.monitor!.fields['delay'] = 77;
      for (let audit = 0; audit < 2 * 24; audit += 1) {
        await world.pass(3_600_000);
        await list();
      }
      await list();
      assert.match(balancers.plan(desired).steps[0]?.summary ?? '', /delay from 77/);
    }));

  it('counts a new load balancer as existing that a lagging replica does not show yet', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const plan = balancers.plan(desired);
      const known = await world.during(balancers.apply(plan, { permit: () => {} }));
      harness.fake.fault = (call, response) => {
        if (call.method !== 'GET' || call.service !== 'load-balancer') return undefined;
        const faultstring = `Load Balancer ${known?.id} not found.`;
        const collection = call.path.slice(call.path.lastIndexOf('/') + 1);
        const isOne = collection === known?.id;
        response.writeHead(isOne ? 404 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(isOne ? { faultcode: 'Client', faultstring } : { [collection]: [] }));
        return 'answered';
      };
      const seen = () => world.during(balancers.observe(refOf(desired, { id: known?.id })));
      assert.equal((await seen())?.id, known?.id);
    }));

  it('searches after a lost answer before it creates again', () =>
    withHarness(async (harness) => {
      harness.world.loseAnswer?.(0);
      const { observed } = await harness.ensure();
      assert.equal(observed?.id, harness.only().id);
      assert.equal(harness.octavia.balancers.size, 1);
    }));

  it('shows the provisioning status of a member when its pool has changed', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      await made(harness, balancers, desired);
      await world.pass(lagMs);
      await world.during(balancers.observeAll(world.cluster));
      const [pool] = harness.octavia.balancers.values().next().value?.pools ?? [];
      pool!.members[0]!.status = 'ERROR';
      pool!.fields['updated_at'] = timestamp();
      await world.during(balancers.observeAll(world.cluster));
      assert.match(balancers.plan(desired).steps[0]?.summary ?? '', /1 changed/);
    }));
});
