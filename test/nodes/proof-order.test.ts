import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, taints } from '../../common/well-known.ts';
import { secondsUntil } from './harness/fleet.ts';
import { fleetStage } from './harness/fleet-stage.ts';

describe('more absent Nodes than a pass can prove', () => {
  const start = fleetStage();

  /** 150 of 200 Nodes vanish, and the budget lets two of them go within the hour. */
  async function exhausted() {
    const stage = await start(200, { budget: '2/1h' });
    for (const member of stage.members.slice(0, 150)) stage.vanish(member);
    await stage.world.clock.advance(300_000);
    return { ...stage, left: stage.members.slice(0, 150).filter(({ name }) => stage.exists(name)) };
  }

  it('says of each why it is kept, and asks for them seldom while the budget has no room', async () => {
    const { world, left, reason } = await exhausted();
    assert.equal(left.length, 148);
    for (const { name } of left) assert.equal(reason(name), 'BudgetExhausted');
    const from = world.trace.length;
    await world.clock.advance(300_000);
    const written = world.trace
      .slice(from)
      .filter((line) => /kube (patch|post) /.test(line) && /Missing|Withheld/.test(line));
    assert.deepEqual(written, [], 'nothing new is said of them');
    const proofs = world.trace.slice(from).filter((line) => /instances.get 404/.test(line));
    assert.ok(proofs.length <= 2 * left.length, `${proofs.length} proofs`);
  });

  it('deletes at once what needs no budget: a Node marked by the autoscaler, one that a person released', async () => {
    const { world, members, left, exists, vanish } = await exhausted();
    const marked = members[150]!;
    const released = left[0]!;
    world.cluster.mergePatch(marked.name, {
      spec: { taints: [{ key: taints.toBeDeletedByAutoscaler, effect: 'NoSchedule' }] },
    });
    vanish(marked);
    const { uid } = world.cluster.mustNode(released.name).metadata;
    world.cluster.mergePatch(released.name, { metadata: { annotations: { [annotations.releaseDeletion]: uid } } });
    assert.ok((await secondsUntil(world, () => !exists(released.name))) < 30);
    assert.ok((await secondsUntil(world, () => !exists(marked.name))) < 120);
  });

  it('deletes others when the window moves', async () => {
    const { world, left, exists } = await exhausted();
    await world.clock.advance(3_600_000);
    assert.equal(left.filter(({ name }) => !exists(name)).length, 2);
  });

  it('says of those whose first proof waits that it does, on the Node once it has lasted a minute', async () => {
    const { world, replica, members, reason, vanish } = await start(200);
    for (const member of members.slice(0, 150)) vanish(member);
    const postponed = () => replica.gauge('mooring_node_deletions_withheld', '{reason="ProofPostponed"}');
    while (!((await postponed()) > 0)) await world.clock.advance(1000);
    await world.clock.advance(50_000);
    assert.ok(!members.some(({ name }) => reason(name) === 'ProofPostponed'));
    const seconds = await secondsUntil(world, () => members.some(({ name }) => reason(name) === 'ProofPostponed'));
    assert.ok(seconds <= 15, `${seconds} s`);
  });
});
