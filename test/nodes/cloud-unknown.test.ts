import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditions } from '../../common/well-known.ts';
import { secondsUntil } from './harness/fleet.ts';
import { fleetStage } from './harness/fleet-stage.ts';
import { providerID, type World } from './harness/world.ts';

describe('a cloud that does not answer', () => {
  const start = fleetStage();

  const refuse = ({ cloud }: World) => cloud.credentials.setMode(cloud.credential, 'unauthorized');
  const missing = ({ cluster }: World, name: string) => cluster.condition(name, conditions.instanceMissing);

  it('marks a Node CloudUnknown a minute after Ready ended, with the error, an event and the metric', async () => {
    const { world, replica, first, reason, vanish } = await start();
    refuse(world);
    vanish(first);
    await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
    await world.clock.advance(55_000);
    assert.equal(missing(world, 'n0'), undefined);
    await secondsUntil(world, () => reason('n0') === 'CloudUnknown', 60);
    assert.match(missing(world, 'n0')?.message ?? '', /Unauthorized/);
    await world.clock.advance(600_000);
    assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="CloudUnknown"}'), 1);
    const told = replica.events.filter(({ reason: why }) => why === 'DeletionWithheld');
    assert.deepEqual(
      told.map(({ node, message }) => [node, message.includes('Unauthorized')]),
      [['n0', true]],
    );
  });

  it('writes each Node that is not Ready once, and no other', async () => {
    const { world, replica, members } = await start(40);
    refuse(world);
    for (const { kubelet } of members.slice(0, 10)) kubelet.die();
    await world.clock.advance(300_000);
    // Another error has another text.
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 500 } });
    await world.clock.advance(1_800_000);
    assert.equal(replica.kube.writes().filter((write) => write.includes('/nodes/')).length, 10);
  });

  it('marks a Node that is not initialised AwaitingCloud, and not CloudUnknown', async () => {
    const { world } = await start(1);
    refuse(world);
    const vm = world.cloud.model.create({ name: 'late' });
    world.cluster.register('late', { providerID: providerID(vm), systemUuid: vm.smbiosUuid ?? '' });
    world.cluster.setReady('late', 'False');
    await world.clock.advance(300_000);
    assert.equal(world.cluster.condition('late', conditions.cloudInitialized)?.reason, 'AwaitingCloud');
    assert.equal(missing(world, 'late'), undefined);
  });

  it('ends CloudUnknown once the cloud answers', async () => {
    const { world, replica, first, second, reason, exists, vanish } = await start();
    refuse(world);
    vanish(first);
    second.kubelet.die();
    await secondsUntil(world, () => reason('n0') === 'CloudUnknown' && reason('n1') === 'CloudUnknown');
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    await secondsUntil(world, () => !exists('n0') && reason('n1') === 'Found', 150);
    assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="CloudUnknown"}'), 0);
  });

  it('ends CloudUnknown once the Node is Ready', async () => {
    const { world, replica, first, reason } = await start();
    refuse(world);
    first.kubelet.die();
    await secondsUntil(world, () => reason('n0') === 'CloudUnknown');
    world.cluster.setReady('n0', 'True');
    await secondsUntil(world, () => missing(world, 'n0')?.status === 'False', 120);
    assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="CloudUnknown"}'), 0);
  });
});
