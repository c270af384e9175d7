import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { annotations, conditions, taints } from '../../common/well-known.ts';
import { deletions, type Member } from './harness/fleet.ts';
import { fleetStage } from './harness/fleet-stage.ts';
import type { Replica, World } from './harness/world.ts';

describe('a pause', () => {
  const start = fleetStage();
  let world: World;
  let replica: Replica;
  let members: readonly Member[];
  beforeEach(async () => {
    ({ world, replica, members } = await start());
  });

  const pause = (name: string, value: string | null) =>
    world.cluster.mergePatch(name, { metadata: { annotations: { [annotations.paused]: value } } });

  const patches = () => replica.kube.writes().filter((write) => write.startsWith('patch /api/v1/nodes/n0'));

  it('stops updates and taints of its Node, which are caught up afterwards', async () => {
    pause('n0', 'true');
    members[0]!.kubelet.die();
    world.cloud.model.stop(members[0]!.vm.id);
    world.cluster.mergePatch('n0', { metadata: { labels: { 'topology.kubernetes.io/zone': null } } });
    await world.clock.advance(900_000);
    assert.deepEqual(replica.kube.writes(), []);
    pause('n0', null);
    await world.clock.advance(90_000);
    assert.equal(world.cluster.hasTaint('n0', taints.shutdown), true);
    assert.notEqual(world.cluster.mustNode('n0').metadata.labels?.['topology.kubernetes.io/zone'], undefined);
  });

  it('stops all writes but the deletion of the Node where its own kubelet may have set it', async () => {
    pause('n0', 'true');
    members[0]!.kubelet.die();
    world.cloud.model.terminate(members[0]!.vm.id);
    await world.clock.advance(120_000);
    assert.deepEqual(deletions(replica), ['n0']);
    assert.deepEqual(patches(), []);
  });

  it('still needs the proof that the instance is gone before its Node is deleted', async () => {
    pause('n0', 'true');
    members[0]!.kubelet.die();
    world.cloud.model.forget(members[0]!.vm.id);
    await world.clock.advance(60_000);
    assert.deepEqual(deletions(replica), []);
    await world.clock.advance(240_000);
    assert.deepEqual(deletions(replica), ['n0']);
    assert.deepEqual(patches(), []);
  });

  it("stops a Node's deletion and says why where only a person may have set it, until it ends", async () => {
    replica.pausedNodes.add('n0');
    members[0]!.kubelet.die();
    world.cloud.model.terminate(members[0]!.vm.id);
    await world.clock.advance(900_000);
    assert.deepEqual(deletions(replica), []);
    assert.equal(world.cluster.condition('n0', conditions.instanceMissing)?.reason, 'DeletionPaused');
    assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="DeletionPaused"}'), 1);
    replica.pausedNodes.delete('n0');
    await world.clock.advance(30_000);
    assert.deepEqual(deletions(replica), ['n0']);
  });

  it('keeps what was written on the Node before', async () => {
    members[0]!.kubelet.die();
    world.cloud.model.stop(members[0]!.vm.id);
    await world.clock.advance(120_000);
    assert.equal(world.cluster.hasTaint('n0', taints.shutdown), true);
    pause('n0', 'true');
    world.cloud.model.start(members[0]!.vm.id);
    world.cluster.setReady('n0', 'True');
    await world.clock.advance(120_000);
    assert.equal(world.cluster.hasTaint('n0', taints.shutdown), true);
    pause('n0', null);
    await world.clock.advance(5000);
    assert.equal(world.cluster.hasTaint('n0', taints.shutdown), false);
  });

  it('stops a deletion between the decision and the call', async () => {
    members[0]!.kubelet.die();
    world.cloud.model.terminate(members[0]!.vm.id);
    replica.kube.intercept = (call) => {
      if (call.verb === 'get') replica.pausedNodes.add('n0');
    };
    await world.clock.advance(600_000);
    assert.notEqual(world.cluster.node('n0'), undefined);
  });

  it('counts only with the value true', async () => {
    pause('n0', 'false');
    world.cluster.mergePatch('n0', { metadata: { labels: { 'topology.kubernetes.io/zone': null } } });
    await world.clock.advance(1000);
    assert.notEqual(world.cluster.mustNode('n0').metadata.labels?.['topology.kubernetes.io/zone'], undefined);
  });

  it('stops all writes while everything is paused, and catches up within seconds', async () => {
    replica.paused = true;
    world.join('late');
    members[0]!.kubelet.die();
    world.cloud.model.terminate(members[0]!.vm.id);
    members[1]!.kubelet.die();
    world.cloud.model.stop(members[1]!.vm.id);
    world.cluster.mergePatch('n2', { metadata: { labels: { 'topology.kubernetes.io/zone': null } } });
    await world.clock.advance(900_000);
    assert.deepEqual(replica.kube.writes(), []);
    replica.paused = false;
    await world.clock.advance(6000);
    assert.equal(world.cluster.hasTaint('late', taints.uninitialized), false);
    assert.notEqual(world.cluster.mustNode('n2').metadata.labels?.['topology.kubernetes.io/zone'], undefined);
    await world.clock.advance(30_000);
    assert.deepEqual(deletions(replica), ['n0']);
    assert.equal(world.cluster.hasTaint('n1', taints.shutdown), true);
  });

  it('stops in the middle of a burst of writes when everything is paused', async () => {
    for (let index = 0; index < 200; index += 1) world.join(`late-${index}`);
    let writes = 0;
    replica.kube.intercept = (call) => {
      if (call.verb !== 'patch') return;
      writes += 1;
      if (writes === 40) replica.paused = true;
    };
    await world.clock.advance(60_000);
    // At most the writes that were under way, two patches each.
    assert.ok(writes <= 40 + 2 * 16, `${writes} writes`);
  });
});
