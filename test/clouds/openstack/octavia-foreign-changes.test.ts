import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refOf } from '../suite/drive.ts';
import { type FakeThing, timestamp } from './fake/fake-octavia-model.ts';
import type { OctaviaHarness } from './octavia-harness.ts';
import { made, opened, settle, withHarness } from './octavia-process.ts';

/** A replica of Octavia's database is given so long to show what we have changed. */
const lagMs = 11_000;

/** A load balancer that stands for long enough to be on every replica, and a process that made it. */
async function standing(harness: OctaviaHarness) {
  const balancers = await opened(harness);
  const { desired, world, octavia } = harness;
  const observed = await made(harness, balancers, desired);
  await world.pass(lagMs);
  const balancer = octavia.balancers.values().next().value!;
  const pool = balancer.pools[0]!;
  return {
    balancers,
    balancer,
    pool,
    monitor: pool.monitor!,
    async readAll() {
      const [first] = await world.during(balancers.observeAll(world.cluster));
      return first;
    },
    readOne: () => world.during(balancers.observe(refOf(desired, { id: observed?.id }))),
    /** Another client changes a part of the pool, which gets a new version. */
    change(part: FakeThing, fields: Readonly<Record<string, unknown>>) {
      Object.assign(part.fields, fields);
      pool.fields['updated_at'] = timestamp();
    },
    nextStep: (wanted = desired) => balancers.plan(wanted).steps[0]?.summary,
  };
}

describe('foreign changes at Octavia, and the answers of a lagging replica', () => {
  it('shows a foreign change inside a pool at its next read and in the next list of everything', () =>
    withHarness(async (harness) => {
      const { pool, readOne, readAll, change, nextStep } = await standing(harness);
      for (const read of [readOne, readAll]) {
        await read();
        assert.equal(nextStep(), undefined);
        change(pool.members[0]!, { weight: 7 });
        await read();
        assert.match(nextStep() ?? '', /1 changed/);
        change(pool.members[0]!, { weight: 1 });
      }
    }));

  it('shows health though nothing else has changed', () =>
    withHarness(async (harness) => {
      const { pool, readOne } = await standing(harness);
      pool.members[0]!.fields['operating_status'] = 'ERROR';
      pool.members[1]!.fields['operating_status'] = 'ONLINE';
      const seen = await readOne();
      assert.deepEqual(
        seen?.members.map(({ healthy }) => healthy),
        [false, true],
      );
    }));

  it('shows a foreign change of a monitor in the next list of everything', () =>
    withHarness(async (harness) => {
      const { monitor, readAll, change, nextStep } = await standing(harness);
      await readAll();
      assert.equal(nextStep(), undefined);
      change(monitor, { delay: 77 });
      await readAll();
      assert.match(nextStep() ?? '', /delay from 77/);
    }));

  it('shows a foreign change inside a pool despite our own later change of another part', () =>
    withHarness(async (harness) => {
      const { balancers, pool, readAll, change, nextStep } = await standing(harness);
      const observed = await readAll();
      change(pool.members[0]!, { weight: 7 });
      const narrowed = { ...harness.desired, sourceRanges: ['192.0.2.0/24'] };
      await settle(harness, balancers, narrowed, observed, () => balancers.plan(narrowed));
      await readAll();
      assert.match(nextStep(narrowed) ?? '', /1 changed/);
    }));

  it('shows within hours a foreign change of a pool right before or after our own', () =>
    withHarness(async (harness) => {
      const { balancers, balancer, pool, monitor, readAll, change } = await standing(harness);
      const { desired, world } = harness;
      await readAll();
      change(monitor, { delay: 77 });
      const fewer = { ...desired, members: desired.members.slice(1) };
      const applied = await world.during(balancers.apply(balancers.plan(fewer), { permit: () => {} }));
      harness.octavia.settle();
      change(pool.members[0]!, { weight: 7 });
      balancer.fields['updated_at'] = timestamp();
      await settle(harness, balancers, fewer, applied, () => balancers.plan(fewer));
      for (let audit = 0; audit < 3 * 12; audit += 1) {
        await world.pass(300_000);
        await readAll();
      }
      assert.match(JSON.stringify(balancers.plan(fewer).steps), /1 changed.*delay from 77/);
      harness.calls();
      await readAll();
      assert.equal(harness.calls().length, 5);
    }));

  it("takes no members of a lagging replica for those of the pool's version", () =>
    withHarness(async (harness) => {
      const { pool, readAll, nextStep } = await standing(harness);
      const [removed] = pool.members.splice(0, 1);
      pool.fields['updated_at'] = timestamp();
      const lags = JSON.stringify({
        members: [removed!, ...pool.members].map(({ id, fields }) => ({
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
      await readAll();
      assert.equal(nextStep(), undefined);
      harness.fake.fault = undefined;
      await readAll();
      assert.match(nextStep() ?? '', /1 added/);
    }));

  it('shows within days a monitor that a lagging replica showed in its old state', () =>
    withHarness(async (harness) => {
      const { pool, monitor, readAll, change, nextStep } = await standing(harness);
      change(pool, {});
      await readAll();
      assert.equal(nextStep(), undefined);
      monitor.fields['delay'] = 77;
      for (let audit = 0; audit < 2 * 24; audit += 1) {
        await harness.world.pass(3_600_000);
        await readAll();
      }
      await readAll();
      assert.match(nextStep() ?? '', /delay from 77/);
    }));

  it('counts a new load balancer as existing that a lagging replica does not show yet', () =>
    withHarness(async (harness) => {
      const balancers = await opened(harness);
      const { desired, world } = harness;
      const created = await world.during(balancers.apply(balancers.plan(desired), { permit: () => {} }));
      harness.fake.fault = (call, response) => {
        if (call.method !== 'GET' || call.service !== 'load-balancer') return undefined;
        const faultstring = `Load Balancer ${created?.id} not found.`;
        const collection = call.path.slice(call.path.lastIndexOf('/') + 1);
        const isOne = collection === created?.id;
        response.writeHead(isOne ? 404 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(isOne ? { faultcode: 'Client', faultstring } : { [collection]: [] }));
        return 'answered';
      };
      const seen = await world.during(balancers.observe(refOf(desired, { id: created?.id })));
      assert.equal(seen?.id, created?.id);
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
      const { pool, readAll, change, nextStep } = await standing(harness);
      await readAll();
      pool.members[0]!.status = 'ERROR';
      change(pool, {});
      await readAll();
      assert.match(nextStep() ?? '', /1 changed/);
    }));
});
