import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, conditions } from '../../common/well-known.ts';
import { deletions, secondsUntil } from './harness/fleet.ts';
import { type FleetStage, fleetStage } from './harness/fleet-stage.ts';

describe('Nodes of a scope without any visible instance', () => {
  const start = fleetStage();
  const sixHours = 6 * 3_600_000;

  /** Every kubelet falls silent while its VM runs, and the credential sees another project from the next start on. */
  async function partition({ world, replica, members }: FleetStage, cut = members.length) {
    for (const { kubelet } of members.slice(0, cut)) kubelet.die();
    await replica.stop();
    world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
    const next = world.replica();
    await next.start();
    return next;
  }

  for (const count of [1, 2, 8, 20]) {
    it(`keeps all ${count} Nodes with a credential of another project while no kubelet is heard`, async () => {
      const stage = await start(count);
      const next = await partition(stage);
      await stage.world.clock.advance(sixHours);
      assert.deepEqual(deletions(next), []);
      for (const { name } of stage.members) assert.equal(stage.reason(name), 'CanaryNotFound');
      assert.equal(await next.gauge('mooring_node_deletions_withheld', '{reason="CanaryNotFound"}'), count);
    });
  }

  it('keeps all Nodes with the wrong credential when another kubelet renews though its Node is Unknown', async () => {
    const stage = await start(2);
    const next = await partition(stage, 1);
    for (let turn = 0; turn < 200; turn += 1) {
      stage.world.cluster.setReady('n1', 'Unknown');
      await stage.world.clock.advance(30_000);
    }
    assert.deepEqual(deletions(next), []);
    assert.equal(stage.reason('n0'), 'CanaryNotFound');
  });

  it('says once in condition and event how a person releases the Nodes', async () => {
    const stage = await start(2);
    const next = await partition(stage);
    await stage.world.clock.advance(3_600_000);
    const { uid } = stage.world.cluster.mustNode('n0').metadata;
    const command = `kubectl annotate node n0 ${annotations.releaseDeletion}=${uid}`;
    const { message } = stage.world.cluster.condition('n0', conditions.instanceMissing) ?? {};
    assert.ok(message?.includes(command), message);
    const told = next.events.filter(({ node, reason }) => node === 'n0' && reason === 'DeletionWithheld');
    assert.equal(told.length, 1);
    assert.ok(told[0]!.message.includes(command), told[0]!.message);
    assert.match(message ?? '', new RegExp(`no other recorded instance of scope ${stage.world.scope}`));
  });

  it('calls no Node missing any more with the right credential, and deletes only the one without a VM', async () => {
    const stage = await start(4);
    const { world, members, exists, reason } = stage;
    const next = await partition(stage);
    world.cloud.model.forget(members[0]!.vm.id);
    await world.clock.advance(3_600_000);
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    await secondsUntil(world, () => !exists('n0'), 200);
    const { message } = next.events.find(({ reason: why }) => why === 'DeletingNode')!;
    assert.match(message, /canary found/, 'silent kubelets, but their VMs are found by id');
    await world.clock.advance(120_000);
    assert.deepEqual(deletions(next), ['n0']);
    for (const { name } of members.slice(1)) assert.equal(reason(name), 'Found');
  });

  it('deletes a Node that a person has released once all other proofs are there, and no other Node', async () => {
    const stage = await start(3);
    const { world, members, exists, vanish } = stage;
    const [first, second, third] = members;
    for (const member of [first!, second!]) vanish(member);
    world.cloud.model.forget(third!.vm.id);
    await world.clock.advance(3_600_000);
    const release = (name: string) => {
      const { uid } = world.cluster.mustNode(name).metadata;
      world.cluster.mergePatch(name, { metadata: { annotations: { [annotations.releaseDeletion]: uid } } });
    };
    release('n0');
    release('n2');
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds >= 290, `${seconds} s`);
    await world.clock.advance(3_600_000);
    assert.deepEqual([exists('n1'), exists('n2')], [true, true], 'n1 is not released, n2 is alive');
  });

  it('keeps a Node when the release was for an earlier Node of that name', async () => {
    const stage = await start(2);
    const next = await partition(stage);
    stage.world.cluster.mergePatch('n0', {
      metadata: { annotations: { [annotations.releaseDeletion]: 'another-uid' } },
    });
    await stage.world.clock.advance(3_600_000);
    assert.deepEqual(deletions(next), []);
  });

  it('takes a silent Node whose VM is found by its id as a canary', async () => {
    const { world, members, exists, vanish } = await start(3);
    const [first, second, third] = members;
    second!.kubelet.die();
    third!.kubelet.die();
    await secondsUntil(world, () => world.cluster.condition('n1', 'Ready')?.status === 'Unknown');
    await world.clock.advance(30_000);
    vanish(first!);
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds <= 90, `${seconds} s`);
    assert.deepEqual([exists('n1'), exists('n2')], [true, true]);
  });

  it('deletes ten vanished Nodes while the VMs of two silent ones are found', async () => {
    const { world, replica, members, vanish } = await start(12, { budget: '100%/10m' });
    for (const member of members.slice(0, 10)) vanish(member);
    for (const { kubelet } of members.slice(10)) kubelet.die();
    await world.clock.advance(600_000);
    const gone = members.slice(0, 10).map(({ name }) => name);
    assert.deepEqual(deletions(replica).sort(), gone.sort());
  });

  it('deletes a vanished Node after five minutes while another VM is shown terminated', async () => {
    const { world, exists, members, vanish, terminate } = await start(2);
    vanish(members[0]!);
    terminate(members[1]!);
    await secondsUntil(world, () => !exists('n1'));
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds >= 200 && seconds <= 400, `${seconds} s`);
  });

  it('deletes the only Node after five minutes if it was found since the credential was loaded', async () => {
    const { world, first, exists, doubt } = await start(1);
    await doubt(first);
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds >= 299 && seconds <= 320, `${seconds} s`);
  });
});
