import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, conditions, taints } from '../../common/well-known.ts';
import { KubeError } from '../../controller/kube/api.ts';
import { deletions } from './harness/fleet.ts';
import { fleetStage } from './harness/fleet-stage.ts';
import { reportedOf } from './harness/world.ts';

describe('many Nodes that vanish at once', () => {
  const start = fleetStage();

  it('deletes no more than the budget; the rest say BudgetExhausted and go as the window moves', async () => {
    const { world, replica, members, exists, reason, vanish } = await start(20);
    for (const member of members.slice(0, 6)) vanish(member);
    await world.clock.advance(180_000);
    assert.equal(deletions(replica).length, 2);
    assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="BudgetExhausted"}'), 4);
    const waiting = members.slice(0, 6).filter(({ name }) => exists(name));
    for (const { name } of waiting) assert.equal(reason(name), 'BudgetExhausted');
    await world.clock.advance(540_000);
    assert.equal(deletions(replica).length, 3, '10 % of 18 is 1 in the next window');
  });

  it('releases one Node by its uid when a person says so; a stale uid releases nothing', async () => {
    const { world, replica, members, exists, vanish } = await start(20);
    for (const member of members.slice(0, 6)) vanish(member);
    await world.clock.advance(180_000);
    const [one, other] = members.slice(0, 6).filter(({ name }) => exists(name));
    const release = (name: string, uid: string) =>
      world.cluster.mergePatch(name, { metadata: { annotations: { [annotations.releaseDeletion]: uid } } });
    release(one!.name, world.cluster.mustNode(one!.name).metadata.uid);
    release(other!.name, 'some-other-uid');
    await world.clock.advance(60_000);
    assert.equal(exists(one!.name), false);
    assert.equal(exists(other!.name), true);
    const message = world.cluster.condition(other!.name, conditions.instanceMissing)?.message ?? '';
    assert.match(
      message,
      /kubectl annotate node \S+ mooring\.dev\/release-deletion=\S+ --overwrite .*"some-other-uid"/,
    );
    const deleting = replica.events.filter((each) => each.reason === 'DeletingNode' && each.node === one!.name);
    assert.match(deleting.at(-1)?.message ?? '', /released by a person/);
  });

  it('refills no budget by a restart', async () => {
    const { world, replica, members, vanish } = await start(20);
    for (const member of members.slice(0, 6)) vanish(member);
    await world.clock.advance(180_000);
    await replica.stop();
    const next = world.replica();
    await next.start();
    await world.clock.advance(180_000);
    assert.deepEqual(deletions(next), []);
    assert.match(world.lease.annotations[annotations.deletionLedger] ?? '', /^d\d+x\d+/);
  });

  it('spends its budget once on a Node whose deletion fails at first', async () => {
    const { world, replica, members, exists, vanish } = await start(10);
    let failures = 2;
    replica.kube.intercept = ({ verb, path }) => {
      if (verb !== 'delete' || !path.startsWith('/api/v1/nodes/') || failures === 0) return;
      failures -= 1;
      throw new KubeError({ status: 503, reason: 'ServiceUnavailable', message: 'not now' });
    };
    for (const member of members.slice(0, 2)) vanish(member);
    await world.clock.advance(300_000);
    assert.equal(failures, 0);
    const left = members.slice(0, 2).filter(({ name }) => exists(name));
    assert.deepEqual([left.length, deletions(replica).length], [1, 1]);
  });

  it('deletes nothing while the ledger cannot be written', async () => {
    const { world, replica, first, reason, vanish } = await start(20);
    world.lease.broken = true;
    vanish(first);
    await world.clock.advance(300_000);
    assert.deepEqual(deletions(replica), []);
    assert.equal(reason('n0'), 'BudgetExhausted');
  });

  it('spends no budget on terminated Nodes, nor on those that an autoscaler marked', async () => {
    const { world, replica, members, vanish, terminate } = await start(20);
    for (const member of members.slice(0, 4)) terminate(member);
    const mark = (name: string, key: string) =>
      world.cluster.mergePatch(name, { spec: { taints: [{ key, effect: 'NoSchedule' }] } });
    mark('n4', taints.toBeDeletedByAutoscaler);
    mark('n5', taints.disruptedByKarpenter);
    // It belongs on Machines of Cluster API; on its Node a kubelet can write it.
    world.cluster.mergePatch('n6', { metadata: { annotations: { 'cluster.x-k8s.io/delete-machine': '' } } });
    for (const member of members.slice(4, 6)) vanish(member);
    await world.clock.advance(240_000);
    assert.deepEqual(
      deletions(replica).sort(),
      members.slice(0, 6).map(({ name }) => name),
    );
    assert.equal(world.lease.annotations[annotations.deletionLedger], undefined);
    vanish(members[6]!);
    await world.clock.advance(240_000);
    assert.match(world.lease.annotations[annotations.deletionLedger] ?? '', /^d\d+x1$/);
  });

  it('deletes half of the Nodes at most whose ends agents announced, and one of the others', async () => {
    const { world, replica, members, reason, vanish } = await start(20);
    for (const { name, vm } of members.slice(0, 15))
      replica.report(name, { instance: reportedOf(vm), notices: [{ kind: 'preemption' }] });
    await world.clock.advance(5000);
    for (const member of members.slice(0, 15)) vanish(member);
    vanish(members[15]!);
    await world.clock.advance(240_000);
    const gone = deletions(replica);
    assert.equal(gone.length, 11, 'half of 20, and one of the unexplained');
    assert.ok(gone.includes('n15'));
    for (const { name } of members.slice(0, 15))
      if (!gone.includes(name)) assert.equal(reason(name), 'BudgetExhausted');
    assert.match(world.lease.annotations[annotations.deletionLedger] ?? '', /a\d+x\d+/);
  });

  for (const [what, deadline] of [
    ['a month ahead', '2026-02-01T00:00:00Z'],
    ['at a time that cannot be read', 'next month'],
  ] as const) {
    it(`counts an absence as unexpected when its end was announced ${what}`, async () => {
      const { world, replica, members, vanish } = await start(20);
      for (const { name, vm } of members.slice(0, 6))
        replica.report(name, { instance: reportedOf(vm), notices: [{ kind: 'termination', deadline }] });
      await world.clock.advance(5000);
      for (const member of members.slice(0, 6)) vanish(member);
      await world.clock.advance(240_000);
      assert.equal(deletions(replica).length, 2, 'as many as unexpected ones');
    });
  }
});
