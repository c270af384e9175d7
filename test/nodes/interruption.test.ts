import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Notice } from '../../common/instance.ts';
import { taints } from '../../common/well-known.ts';
import { deletions, type Member, secondsUntil } from './harness/fleet.ts';
import { fleetStage } from './harness/fleet-stage.ts';
import type { Replica, World, WorldOptions } from './harness/world.ts';

const preemption: Notice = { kind: 'preemption', deadline: '2026-01-01T01:00:00Z' };
const rebalance: Notice = { kind: 'rebalance' };

describe('an interruption that the cloud announces', () => {
  const start = fleetStage();
  let world: World;
  let replica: Replica;
  let members: readonly Member[];

  async function setUp(count: number, options: WorldOptions = {}): Promise<void> {
    ({ world, replica, members } = await start(count, options));
  }
  beforeEach(() => setUp(3));

  const shown = (name: string) => world.cluster.condition(name, 'CloudInterruption');
  async function announce(name: string, notices: readonly Notice[]): Promise<void> {
    replica.report(name, { notices });
    await world.clock.advance(2000);
  }

  it("marks the sender's Node with the deadline, once, and no other Node", async () => {
    await announce('n0', [rebalance, preemption]);
    assert.deepEqual([shown('n0')?.status, shown('n0')?.reason], ['True', 'Preemption']);
    assert.match(shown('n0')?.message ?? '', /preemption at 2026-01-01T01:00:00Z; rebalance/);
    await announce('n0', [rebalance, preemption]);
    await world.clock.advance(600_000);
    assert.deepEqual(replica.kube.writes(), ['patch /api/v1/nodes/n0/status']);
    assert.equal(replica.events.filter(({ reason }) => reason === 'CloudInterruption').length, 1);
    assert.equal(shown('n1'), undefined);
  });

  it('removes the mark when the cloud withdraws it, and marks no Node without one', async () => {
    await announce('n0', [rebalance]);
    await announce('n0', []);
    await announce('n1', []);
    assert.deepEqual([shown('n0')?.status, shown('n0')?.reason], ['False', 'NoneAnnounced']);
    assert.equal(shown('n1'), undefined);
  });

  it('keeps the mark through the terms of leaders that hear no new report', async () => {
    await announce('n0', [preemption]);
    await replica.stopLeading();
    await replica.start();
    await world.clock.advance(60_000);
    assert.equal(shown('n0')?.status, 'True');
    await announce('n0', []);
    assert.equal(shown('n0')?.status, 'False');
  });

  it('forgets an announcement of an earlier term that another leader heard withdrawn', async () => {
    await announce('n0', [preemption]);
    await replica.stopLeading();
    const other = world.replica();
    await other.start();
    other.report('n0', { notices: [] });
    await world.clock.advance(2000);
    await other.stopLeading();
    assert.equal(shown('n0')?.status, 'False');
    await replica.start();
    await world.clock.advance(60_000);
    assert.equal(shown('n0')?.status, 'False');
  });

  it('taints only when configured, and only for an announced end', async () => {
    await announce('n0', [preemption]);
    assert.equal(world.cluster.hasTaint('n0', taints.interruption), false);
    await setUp(3, { task: { interruptionTaint: true } });
    await announce('n0', [preemption]);
    await announce('n1', [rebalance]);
    assert.equal(world.cluster.hasTaint('n0', taints.interruption), true);
    assert.equal(world.cluster.hasTaint('n1', taints.interruption), false);
    await announce('n0', []);
    assert.equal(world.cluster.hasTaint('n0', taints.interruption), false);
  });

  it('taints a Node when the deadline is near, and not while it is far', async () => {
    await setUp(4, { task: { interruptionTaint: true }, budget: '1/1h' });
    const deadline = new Date(world.clock.now() + 3 * 3_600_000).toISOString();
    for (const { name } of members.slice(0, 2)) await announce(name, [{ kind: 'termination', deadline }, rebalance]);
    assert.deepEqual([shown('n0')?.status, shown('n0')?.reason], ['True', 'Rebalance']);
    await announce('n0', [{ kind: 'termination', deadline }]);
    assert.deepEqual([shown('n0')?.status, shown('n0')?.reason], ['True', 'Scheduled']);
    assert.ok(shown('n0')?.message.includes(deadline));
    assert.equal(world.cluster.hasTaint('n0', taints.interruption), false);
    assert.equal(replica.events.find(({ reason }) => reason === 'CloudInterruption')?.type, 'Normal');
    await world.clock.advance(2 * 3_600_000 + 10_000);
    assert.equal(shown('n0')?.reason, 'Termination', 'without another report');
    assert.equal(world.cluster.hasTaint('n0', taints.interruption), true);
    assert.equal(world.cluster.hasTaint('n1', taints.interruption), true);
  });

  it('sets no taint when the deadline cannot be parsed', async () => {
    await setUp(3, { task: { interruptionTaint: true } });
    await announce('n0', [{ kind: 'termination', deadline: 'next month' }]);
    assert.equal(shown('n0')?.reason, 'Scheduled');
    assert.equal(world.cluster.hasTaint('n0', taints.interruption), false);
  });

  it('counts against a budget of its own, after a change of leader too', async () => {
    await setUp(4, { budget: '1/1h', announcedBudget: '3/1h' });
    for (const { name } of members.slice(0, 3)) await announce(name, [preemption]);
    await replica.stop();
    replica = world.replica();
    await replica.start();
    for (const { kubelet, vm } of members.slice(0, 3)) {
      kubelet.die();
      world.cloud.model.forget(vm.id);
    }
    await secondsUntil(world, () => deletions(replica).length === 3);
    assert.equal(world.cluster.node('n3') !== undefined, true);
  });

  /** What the cloud's API shows of it; the next refresh reads it. */
  async function plan(at: number, deadline: string): Promise<void> {
    world.cloud.model.setTags(members[at]!.vm.id, { maintenance: deadline });
    await world.clock.advance(310_000);
  }
  const day = '2026-02-01T00:00:00Z';

  it("shows and withdraws what the cloud's API announces without an agent, and sets no taint", async () => {
    await setUp(3, { task: { interruptionTaint: true } });
    await plan(0, day);
    assert.deepEqual([shown('n0')?.status, shown('n0')?.reason], ['True', 'PlannedMaintenance']);
    assert.equal(shown('n0')?.message, `maintenance at ${day}: its tag says so`);
    assert.equal(world.cluster.hasTaint('n0', taints.interruption), false);
    await world.clock.advance(3_600_000);
    assert.deepEqual(replica.kube.writes(), ['patch /api/v1/nodes/n0/status']);
    assert.equal(shown('n1'), undefined);
    await plan(0, '');
    assert.deepEqual([shown('n0')?.status, shown('n0')?.reason], ['False', 'NoneAnnounced']);
  });

  it("shows the agent's reason where both announce one, and the API's when the agent has none any more", async () => {
    await plan(0, day);
    await announce('n0', [preemption]);
    assert.equal(shown('n0')?.reason, 'Preemption');
    assert.match(shown('n0')?.message ?? '', /^preemption at .*; maintenance at 2026-02-01/);
    await announce('n0', []);
    assert.equal(shown('n0')?.reason, 'PlannedMaintenance');
  });

  it('outlives a change of leader: none withdraws what it has not read, whoever announced it', async () => {
    await plan(0, day);
    await plan(1, day);
    await announce('n1', [preemption]);
    await replica.stop();
    replica = world.replica();
    replica.report('n0', { notices: [] });
    const effect = { kind: 'error', status: 503 } as const;
    world.cloud.faults.add({ operation: '*', effect });
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual([shown('n0')?.reason, shown('n1')?.reason], ['PlannedMaintenance', 'Preemption']);
    world.cloud.faults.clear();
    await world.clock.advance(310_000);
    assert.deepEqual([shown('n0')?.reason, shown('n1')?.reason], ['PlannedMaintenance', 'Preemption']);
    assert.deepEqual(replica.kube.writes(), []);
  });

  it('writes nothing while paused', async () => {
    replica.paused = true;
    await announce('n0', [preemption]);
    assert.equal(shown('n0'), undefined);
  });
});
