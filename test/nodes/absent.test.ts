import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, conditions } from '../../common/well-known.ts';
import { deletions, secondsUntil } from './harness/fleet.ts';
import { fleetStage } from './harness/fleet-stage.ts';
import type { World } from './harness/world.ts';

describe('a Node whose VM the cloud does not have', () => {
  const start = fleetStage();

  it('deletes the Node after two absent answers 15 s apart while a canary is found, with an event', async () => {
    const { world, replica, first, exists, vanish } = await start();
    vanish(first);
    const notReady = await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds >= 15 && seconds <= 20, `NotReady after ${notReady} s, gone ${seconds} s later`);
    const event = replica.events.find(({ reason: why }) => why === 'DeletingNode');
    assert.match(event?.message ?? '', /canary found/);
  });

  it('keeps the Node for five minutes where there is no canary', async () => {
    const { world, first, exists, doubt } = await start(1);
    await doubt(first);
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds >= 299 && seconds <= 320, `${seconds} s`);
  });

  it('counts two answers by the time of their calls, however long a pass waits for its canaries', async () => {
    const { world, members, first, exists, reason, vanish } = await start(4, { task: { statusUpdateMs: 60_000 } });
    // The kubelet's silence shows at 474 s; the refresh at 480 s asks for another look at once.
    await world.clock.advance(24_000);
    vanish(first);
    await world.clock.advance(51_000);
    assert.equal(reason('n0'), 'Confirming');
    for (const { vm } of members.slice(1)) {
      const effect = { kind: 'latency', ms: 9900 } as const;
      world.cloud.faults.add({ operation: 'instances.get', instance: vm.id, effect });
    }
    // The second answer came at 480.2 s, the canaries with it at 490.1 s.
    await world.clock.advance(16_000);
    assert.equal(exists('n0'), true);
    world.cloud.faults.clear();
    assert.ok((await secondsUntil(world, () => !exists('n0'))) <= 30);
  });

  it('keeps the Node and says why when the canaries are not found either, as with wrong credentials', async () => {
    const { world, replica, first, second, reason } = await start();
    for (const member of [first, second]) member.kubelet.die();
    world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
    await world.clock.advance(1_800_000);
    assert.deepEqual(deletions(replica), []);
    assert.equal(reason('n0'), 'CanaryNotFound');
    assert.equal(reason('n1'), 'CanaryNotFound');
    assert.ok((await replica.gauge('mooring_node_deletions_withheld', '{reason="CanaryNotFound"}')) >= 2);
    const told = replica.events.filter(({ node, reason: why }) => node === 'n0' && why === 'DeletionWithheld');
    assert.equal(told.length, 1);
  });

  it('counts absent answers from the start again after wrong credentials', async () => {
    const { world, first, exists, reason, vanish } = await start();
    vanish(first);
    world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
    await secondsUntil(world, () => reason('n0') === 'CanaryNotFound');
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    await secondsUntil(world, () => reason('n0') === 'Confirming', 120);
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds >= 15 && seconds <= 30, `${seconds} s`);
  });

  for (const [what, break_] of [
    ['unauthorized', ({ cloud }: World) => cloud.credentials.setMode(cloud.credential, 'unauthorized')],
    ['forbidden', ({ cloud }: World) => cloud.credentials.setMode(cloud.credential, 'forbidden')],
    [
      'server errors',
      ({ cloud }: World) => cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 500 } }),
    ],
    [
      'throttling',
      ({ cloud }: World) => cloud.faults.add({ operation: '*', effect: { kind: 'throttle', retryAfterSeconds: 5 } }),
    ],
    ['silence', ({ cloud }: World) => cloud.faults.add({ operation: '*', effect: { kind: 'silence' } })],
    ['broken bodies', ({ cloud }: World) => cloud.faults.add({ operation: '*', effect: { kind: 'malformed' } })],
    ['a wrong shape', ({ cloud }: World) => cloud.faults.add({ operation: '*', effect: { kind: 'wrong-shape' } })],
  ] as const) {
    it(`keeps the Node for ever while the cloud answers with ${what}: unknown is never absent`, async () => {
      const { world, replica, first, vanish } = await start();
      break_(world);
      vanish(first);
      await world.clock.advance(1_200_000);
      assert.deepEqual(deletions(replica), []);
    });
  }

  it('ignores an unknown answer in between and deletes after the next absent one', async () => {
    const { world, replica, first, exists, doubt } = await start();
    await doubt(first);
    world.cloud.credentials.setMode(world.cloud.credential, 'unauthorized');
    await world.clock.advance(120_000);
    assert.equal(exists('n0'), true);
    assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="CloudUnknown"}'), 1);
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    assert.ok((await secondsUntil(world, () => !exists('n0'))) <= 120);
  });

  it('keeps a Node that partial lists leave out: a list is no proof', async () => {
    const { world, replica, first, second } = await start();
    world.cloud.faults.add({
      operation: 'instances.lookup',
      effect: { kind: 'missing-items', ids: [first.vm.id] },
    });
    world.cloud.faults.add({ operation: 'instances.list', effect: { kind: 'missing-items', ids: [first.vm.id] } });
    first.kubelet.die();
    second.kubelet.die();
    await world.clock.advance(1_200_000);
    assert.deepEqual(deletions(replica), []);
  });

  it('takes no instance as canary that only a list shows', async () => {
    const { world, first, second, exists, reason, vanish } = await start(2);
    world.cloud.faults.add({
      operation: 'instances.get',
      instance: second.vm.id,
      effect: { kind: 'error', status: 503 },
    });
    vanish(first);
    // Both are looked at in one pass each time: the list that nominates n0 shows n1.
    for (let turn = 0; turn < 24; turn += 1) {
      world.cluster.setReady('n0', turn % 2 === 0 ? 'Unknown' : 'False');
      world.cluster.setReady('n1', turn % 2 === 0 ? 'Unknown' : 'False');
      await world.clock.advance(5000);
    }
    assert.equal(exists('n0'), true);
    assert.equal(reason('n0'), 'CanaryNotFound');
  });

  it('keeps the Node until it is five minutes old', async () => {
    const { world, first, exists, vanish } = await start(4, {}, 60);
    vanish(first);
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(60 + seconds >= 300, `${60 + seconds} s old`);
    assert.ok(60 + seconds <= 330, `${60 + seconds} s old`);
  });

  it('keeps a Node that was never found in this scope', async () => {
    const { world, first, exists, reason } = await start();
    world.cluster.mergePatch('n0', { metadata: { annotations: { [annotations.instance]: 'elsewhere inc' } } });
    world.cloud.model.forget(first.vm.id);
    first.kubelet.die();
    await world.clock.advance(900_000);
    assert.equal(exists('n0'), true);
    assert.equal(reason('n0'), 'NeverFound');
  });

  it('clears the missing condition and the gauge when the instance is found again', async () => {
    const { world, replica, first, reason } = await start();
    first.kubelet.die();
    const faults = world.cloud.faults;
    faults.add({
      operation: 'instances.get',
      instance: first.vm.id,
      effect: { kind: 'error', status: 404, code: 'instance-not-found' },
    });
    faults.add({ operation: 'instances.lookup', effect: { kind: 'missing-items', ids: [first.vm.id] } });
    await secondsUntil(world, () => reason('n0') === 'Confirming');
    faults.clear();
    await world.clock.advance(60_000);
    assert.equal(reason('n0'), 'Found');
    assert.equal(world.cluster.condition('n0', conditions.instanceMissing)?.status, 'False');
    assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="Confirming"}'), 0);
  });
});
