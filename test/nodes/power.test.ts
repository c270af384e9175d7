import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { PowerState } from '../../common/instance.ts';
import { annotations, conditions, taints } from '../../common/well-known.ts';
import type { Lookup } from '../../controller/clouds/cloud.ts';
import { deletions, type Member, secondsUntil } from './harness/fleet.ts';
import { fleetStage } from './harness/fleet-stage.ts';
import type { Replica, World, WorldOptions } from './harness/world.ts';

describe('a Node whose VM is powered off', () => {
  const start = fleetStage();
  let world: World;
  let replica: Replica;
  let members: readonly Member[];

  async function setUp(count: number, options: WorldOptions = {}): Promise<void> {
    ({ world, replica, members } = await start(count, options));
  }
  beforeEach(() => setUp(4));

  const off = (name: string) => world.cluster.hasTaint(name, taints.shutdown);
  const fenced = (name: string) => world.cluster.hasTaint(name, taints.outOfService);
  const powerWrites = () => replica.kube.writes().filter((write) => write === 'patch /api/v1/nodes/n0').length;
  function stop(member: Member): void {
    member.kubelet.die();
    world.cloud.model.stop(member.vm.id);
  }

  it('gets the shutdown taint once, with one event, and is never deleted', async () => {
    stop(members[0]!);
    const notReady = await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
    const seconds = await secondsUntil(world, () => off('n0'));
    assert.ok(seconds <= 20, `NotReady after ${notReady} s, tainted ${seconds} s later`);
    await world.clock.advance(3_600_000);
    assert.equal(powerWrites(), 1);
    assert.deepEqual(deletions(replica), []);
    assert.equal(replica.events.filter(({ reason }) => reason === 'ShutdownTaintAdded').length, 1);
    assert.equal(fenced('n0'), false, 'out-of-service is opt-in');
  });

  it('costs no read of the API server while it stays off, and ever fewer lookups', async () => {
    stop(members[0]!);
    await secondsUntil(world, () => off('n0'));
    await world.clock.advance(60_000);
    replica.kube.forgetCalls();
    const calls = world.cloudCalls();
    await world.clock.advance(3_600_000);
    assert.deepEqual(replica.kube.calls, []);
    const made = world.cloudCalls() - calls;
    assert.ok(made <= 60 + 13, `${made} calls in an hour`);
  });

  it('loses the taint when its VM runs again, and keeps every foreign taint', async () => {
    stop(members[0]!);
    await secondsUntil(world, () => off('n0'));
    const held = world.cluster.mustNode('n0').spec.taints ?? [];
    world.cluster.mergePatch('n0', { spec: { taints: [...held, { key: 'example.com/x', effect: 'NoExecute' }] } });
    world.cloud.model.start(members[0]!.vm.id);
    await world.clock.advance(65_000);
    assert.equal(off('n0'), false);
    assert.equal(world.cluster.hasTaint('n0', 'example.com/x'), true);
  });

  it('loses the taint when it is Ready, without a cloud call', async () => {
    stop(members[0]!);
    await secondsUntil(world, () => off('n0'));
    world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 500 } });
    world.cluster.setReady('n0', 'True');
    await world.clock.advance(5000);
    assert.equal(off('n0'), false);
  });

  it('loses the taint although the first try meets a failing API server', async () => {
    stop(members[0]!);
    await secondsUntil(world, () => off('n0'));
    world.core.faults.add({
      match: { verb: 'patch', resource: 'nodes', userAgent: 'mooring' },
      effect: { kind: 'answer', status: 503 },
      times: 2,
    });
    world.cloud.model.start(members[0]!.vm.id);
    world.cluster.setReady('n0', 'True');
    await world.clock.advance(40_000);
    assert.equal(off('n0'), false);
  });

  it('gets no taint while it is Ready or its lease is renewed, whatever the cloud says', async () => {
    world.cloud.model.stop(members[0]!.vm.id);
    world.cloud.model.stop(members[1]!.vm.id);
    world.cluster.setReady('n1', 'False');
    await world.clock.advance(900_000);
    assert.equal(off('n0'), false);
    assert.equal(off('n1'), false);
    for (const reason of ['Confirming', 'SignOfLife']) {
      assert.equal(await replica.gauge('mooring_node_deletions_withheld', `{reason="${reason}"}`), 0, reason);
    }
  });

  it('gets no taint while the cloud’s answer is unknown', async () => {
    world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 500 } });
    stop(members[0]!);
    await world.clock.advance(900_000);
    assert.equal(off('n0'), false);
  });

  it('calls no instance missing while the API server does not answer for signs of life of its Node', async () => {
    world.core.faults.add({
      match: { verb: 'get', resource: 'leases', namespace: 'kube-node-lease' },
      effect: { kind: 'answer', status: 503 },
    });
    stop(members[0]!);
    await world.clock.advance(120_000);
    assert.equal(world.cluster.condition('n0', conditions.instanceMissing), undefined);
    world.core.faults.clear();
    await secondsUntil(world, () => off('n0'));
  });

  it('calls an instance no longer missing once it is found, though it is off', async () => {
    members[0]!.kubelet.die();
    await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
    world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
    const missing = () => world.cluster.condition('n0', conditions.instanceMissing)?.status;
    await secondsUntil(world, () => missing() === 'True');
    world.cloud.model.stop(members[0]!.vm.id);
    await world.clock.advance(60_000);
    assert.equal(missing(), 'True');
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    await world.clock.advance(180_000);
    assert.deepEqual([off('n0'), missing()], [true, 'False']);
  });

  it('deletes a Node whose VM is terminated while off', async () => {
    stop(members[0]!);
    await secondsUntil(world, () => off('n0'));
    world.cloud.model.terminate(members[0]!.vm.id);
    await world.clock.advance(120_000);
    assert.deepEqual(deletions(replica), ['n0']);
  });

  it('gets the taint at once, however many VMs are off: off is no deletion and needs no budget', async () => {
    await setUp(30, { task: { outOfServiceTaint: true } });
    for (const member of members.slice(0, 8)) stop(member);
    const notReady = await secondsUntil(world, () => world.cluster.condition('n7', 'Ready')?.status !== 'True');
    const seconds = await secondsUntil(world, () => members.slice(0, 8).every(({ name }) => off(name)));
    assert.ok(seconds <= 20, `NotReady after ${notReady} s, tainted ${seconds} s later`);
    await world.clock.advance(240_000);
    assert.equal(members.filter(({ name }) => fenced(name)).length, 3, 'what detaches volumes keeps its budget');
    assert.match(world.lease.annotations[annotations.deletionLedger] ?? '', /^o\d+x\d/);
  });

  it('gets no taint while a kubelet renews a lease of 600 s, though its Node is Unknown', async () => {
    world.cluster.renewLease('n0', 0, 600);
    members[0]!.kubelet.die();
    world.cloud.model.stop(members[0]!.vm.id);
    for (let renewal = 0; renewal < 12; renewal += 1) {
      world.cluster.renewLease('n0', 0, 600);
      await world.clock.advance(150_000);
      assert.equal(off('n0'), false);
    }
    await secondsUntil(world, () => off('n0'));
  });

  describe('with the out-of-service taint configured', () => {
    beforeEach(() => setUp(4, { task: { outOfServiceTaint: true } }));

    it('gets both taints in one patch and loses both', async () => {
      stop(members[0]!);
      await secondsUntil(world, () => fenced('n0'));
      assert.equal(off('n0'), true);
      assert.equal(powerWrites(), 1);
      world.cloud.model.start(members[0]!.vm.id);
      world.cluster.setReady('n0', 'True');
      await world.clock.advance(10_000);
      assert.deepEqual([off('n0'), fenced('n0')], [false, false]);
    });

    it('gets the shutdown taint alone while its VM is suspended: pods go on when it is resumed', async () => {
      const { instances } = replica.context.resolver.configured[0]!.api!;
      const { lookup } = instances;
      let shown: PowerState = 'suspended';
      const asShown = (one: Lookup): Lookup =>
        one.state === 'found' && one.power === 'stopped' ? { ...one, power: shown } : one;
      Object.assign(instances, {
        lookup: async (...asked: Parameters<typeof lookup>) =>
          new Map([...(await lookup(...asked))].map(([key, one]) => [key, asShown(one)])),
      });
      stop(members[0]!);
      await secondsUntil(world, () => off('n0'));
      await world.clock.advance(900_000);
      assert.equal(fenced('n0'), false);
      assert.equal(powerWrites(), 1);
      assert.equal(world.lease.annotations[annotations.deletionLedger], undefined);
      shown = 'stopped';
      await secondsUntil(world, () => fenced('n0'));
      shown = 'suspended';
      await secondsUntil(world, () => !fenced('n0'));
      assert.equal(off('n0'), true);
    });

    it('keeps a person’s own taint, spends no budget on it, and writes no second one', async () => {
      const held = world.cluster.mustNode('n0').spec.taints ?? [];
      const own = { key: taints.outOfService, value: 'nodeshutdown', effect: 'NoExecute' };
      world.cluster.mergePatch('n0', { spec: { taints: [...held, own] } });
      stop(members[0]!);
      await secondsUntil(world, () => off('n0'));
      await world.clock.advance(900_000);
      assert.equal(powerWrites(), 1);
      assert.doesNotMatch(world.lease.annotations[annotations.deletionLedger] ?? '', /o\d/);
      world.cloud.model.start(members[0]!.vm.id);
      world.cluster.setReady('n0', 'True');
      await world.clock.advance(10_000);
      assert.deepEqual([off('n0'), fenced('n0')], [false, true]);
    });
  });
});
