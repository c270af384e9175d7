import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import { refOf } from '../suite/drive.ts';
import { type OctaviaHarness, octaviaHarness, reasons } from './octavia-harness.ts';
import { assertAtMost } from './octavia-process.ts';

const changes = (harness: OctaviaHarness) => harness.calls().filter((call) => !call.startsWith('GET'));

describe('an Octavia load balancer in ERROR', () => {
  let harness: OctaviaHarness;
  const open = async (config = '') => {
    harness = await octaviaHarness(config);
    return harness;
  };
  afterEach(() => harness.close());

  it('fails over a load balancer in ERROR where that is allowed', async () => {
    const { octavia } = await open();
    octavia.mayFailOver = true;
    const before = await harness.ensure();
    octavia.breakDown(harness.only().id);
    harness.calls();
    const after = await harness.ensure();
    assert.deepEqual(changes(harness), ['PUT /lbaas/loadbalancers/ID/failover']);
    assert.equal(after.observed?.state, 'active');
    assert.equal(after.observed.id, before.observed?.id);
  });

  it('replaces a load balancer in ERROR that cannot fail over, and keeps its floating IP', async () => {
    const { octavia, edge } = await open();
    const before = await harness.ensure();
    octavia.breakDown(harness.only().id);
    harness.calls();
    const after = await harness.ensure();
    assert.deepEqual(changes(harness), [
      'PUT /lbaas/loadbalancers/ID/failover',
      'DELETE /lbaas/loadbalancers/ID',
      'POST /lbaas/loadbalancers',
      'PUT /floatingips/ID',
    ]);
    assert.notEqual(after.observed?.id, before.observed?.id);
    assert.deepEqual(after.observed?.ingress, before.observed?.ingress);
    assert.equal(edge.floatingIps.size, 1);
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('keeps a load balancer in ERROR whose address is the VIP, until a person consents to another', async () => {
    const { octavia } = await open();
    const before = await harness.ensure({ annotations: { [keys.internal]: 'true' } });
    octavia.breakDown(harness.only().id);
    const kept = await harness.ensure();
    assert.deepEqual(reasons(kept), ['AddressWouldChange']);
    assert.equal(kept.observed?.id, before.observed?.id);
    assert.deepEqual(kept.observed?.ingress, before.observed?.ingress);
    const replaced = await harness.ensure({ mayChangeAddress: true });
    assert.notEqual(replaced.observed?.id, before.observed?.id);
    assert.deepEqual(replaced.refusals, []);
  });

  it('replaces a load balancer in ERROR without consent when its address was never shown', async () => {
    const { octavia } = await open();
    octavia.nextBecomes = 'ERROR';
    const { observed } = await harness.ensure({ annotations: { [keys.internal]: 'true' } });
    assert.equal(observed?.state, 'active');
    assert.equal(octavia.balancers.size, 1);
  });

  it('replaces a load balancer that fails again and again ever more rarely', async () => {
    const { octavia, world } = await open();
    const driving = await harness.driving();
    const { balancers, desired } = driving;
    const { owner, name, service } = desired;
    let observed = undefined as Awaited<ReturnType<typeof balancers.observe>>;
    let waited = 0;
    let made = 0;
    while (made < 5) {
      octavia.nextBecomes = 'ERROR';
      const plan = balancers.plan(desired);
      const [step] = plan.steps;
      if (step) {
        observed = await world.during(balancers.apply(plan, { permit: () => {} }));
        if (step.action === 'create') made += 1;
      } else {
        waited += plan.waitMs ?? 0;
        await world.pass(plan.waitMs ?? 0);
        observed = await world.during(
          balancers.observe({ owner, name, service, id: observed?.id, attachTo: undefined }),
        );
      }
    }
    assert.ok(waited > 30_000 + 60_000, `${waited} ms for five`);
    octavia.nextBecomes = 'ACTIVE';
    octavia.settle();
    assert.equal((await harness.ensure()).observed?.state, 'active');
  });

  it('waits before the next failover after one that failed, and says so', async () => {
    const { octavia, world } = await open();
    octavia.mayFailOver = true;
    await harness.ensure();
    const [one] = octavia.balancers.values();
    octavia.breakDown(one!.id);
    const { balancers, desired } = await harness.driving();
    const { owner, name, service } = desired;
    const ref = { owner, name, service, id: one!.id, attachTo: undefined };
    await world.during(balancers.observe(ref));
    let failovers = 0;
    let waited = 0;
    let told: string[] = [];
    while (waited < 300_000) {
      const plan = balancers.plan(desired);
      const [step] = plan.steps;
      if (step) {
        failovers += 1;
        await world.during(balancers.apply(plan, { permit: () => {} }));
        one!.becomes = 'ERROR';
      } else {
        told = plan.refusals.map(({ reason }) => reason);
        waited += plan.waitMs ?? 60_000;
        await world.pass(plan.waitMs ?? 60_000);
        await world.during(balancers.observe(ref));
      }
    }
    assert.ok(failovers <= 6, `${failovers} failovers in five minutes`);
    assert.deepEqual(told, ['NoEffect']);
    octavia.settle();
    one!.status = 'ACTIVE';
  });

  for (const config of ['', '[LoadBalancer]\ncascade-delete = false\n']) {
    it(`deletes a load balancer in ERROR whole with its Service${config && ', also part by part'}`, async () => {
      const { octavia, edge } = await open(config);
      await harness.ensure();
      octavia.breakDown(harness.only().id);
      await harness.remove();
      assert.deepEqual([octavia.balancers.size, edge.floatingIps.size], [0, 0]);
    });
  }

  it('keeps its floating IP when the Service wants it to stay, though it takes no tag any more', async () => {
    const { octavia, edge } = await open();
    await harness.ensure({ annotations: { [keys.internal]: 'false' } });
    const [floating] = edge.floatingIps.values();
    octavia.breakDown(harness.only().id);
    harness.desired = { ...harness.desired, annotations: { [keys.keepFloatingIp]: 'true', [keys.method]: 'FASTEST' } };
    await harness.ensure();
    harness.desired = { ...harness.desired, annotations: {} };
    await harness.remove();
    assert.deepEqual([octavia.balancers.size, edge.floatingIps.size], [0, 1]);
    assert.ok(floating && edge.floatingIps.has(floating.id));
  });

  it('keeps a load balancer in ERROR whose floating IP is foreign', async () => {
    const { octavia, edge } = await open();
    await harness.ensure();
    const [floating] = edge.floatingIps.values();
    floating!.description = 'of a person';
    // With the record it would be proved ours, and get its mark back.
    harness.record.notes = undefined;
    octavia.breakDown(harness.only().id);
    assert.deepEqual(reasons(await harness.ensure()), ['AddressWouldChange']);
    assert.equal(octavia.balancers.size, 1);
  });

  it('keeps a load balancer in ERROR with invalid settings, since no replacement could follow', async () => {
    const { octavia } = await open();
    await harness.ensure();
    octavia.breakDown(harness.only().id);
    const { refusals } = await harness.ensure({ annotations: { [keys.method]: 'FASTEST' } });
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['Unsupported'],
    );
    assert.equal(octavia.balancers.size, 1);
  });
});

describe('an Octavia load balancer that stays pending', () => {
  let harness: OctaviaHarness;
  afterEach(() => harness.close());

  it('waits for a load balancer that stays pending with one small read at a time', async () => {
    harness = await octaviaHarness();
    const { balancers, ...rest } = await harness.driving();
    harness.octavia.looks = 60;
    const { desired, record } = rest;
    const ref = refOf(desired, record);
    await harness.world.during(balancers.observe(ref));
    let waitedMs = 0;
    harness.calls();
    while (waitedMs < 180_000) {
      const plan = balancers.plan(desired);
      const { waitMs } = plan;
      if (plan.steps.length > 0) await harness.world.during(balancers.apply(plan, { permit: () => {} }));
      else {
        assert.ok(waitMs !== undefined && waitMs > 0);
        waitedMs += waitMs;
        await harness.world.pass(waitMs);
        await harness.world.during(balancers.observe(ref));
      }
    }
    // Half a minute for the first, and then every five seconds at the most.
    assertAtMost(harness, { changes: 1, reads: 10 + 180 / 5 });
    harness.octavia.settle();
    assert.equal((await harness.ensure()).observed?.state, 'active');
  });

  it('gets no write when it never ends', async () => {
    harness = await octaviaHarness();
    await harness.ensure();
    const [balancer] = harness.octavia.balancers.values();
    balancer!.status = 'PENDING_UPDATE';
    balancer!.looksLeft = 1_000_000;
    const { balancers } = await harness.driving();
    await harness.world.during(balancers.observe(refOf(harness.desired, harness.record)));
    const plan = balancers.plan({ ...harness.desired, members: [] });
    assert.deepEqual(plan.steps, []);
    assert.ok(plan.waitMs);
    balancer!.looksLeft = 0;
  });
});
