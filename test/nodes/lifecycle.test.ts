import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations, taints } from '../../common/well-known.ts';
import { deletions, fleet, type Member, secondsUntil } from './harness/fleet.ts';
import { createWorld, type Replica, reportedOf, type World, type WorldOptions } from './harness/world.ts';

const missing = 'CloudInstanceMissing';

describe('a Node whose VM is gone', () => {
  let world: World;
  let replica: Replica;
  let members: Member[];

  async function setUp(count: number, options: WorldOptions = {}, ageSeconds?: number): Promise<void> {
    await world?.close();
    world = createWorld(options);
    replica = world.replica();
    await replica.start();
    members = await fleet(world, count, ageSeconds === undefined ? {} : { ageSeconds });
    replica.kube.forgetCalls();
  }
  afterEach(() => world.close());

  const exists = (name: string) => world.cluster.node(name) !== undefined;
  const reason = (name: string) => world.cluster.condition(name, missing)?.reason;
  const [first, second] = [() => members[0]!, () => members[1]!];

  /** The machine dies and its VM is no longer known to the cloud, as if it had never been. */
  function vanish(member: Member): void {
    member.kubelet.die();
    world.cloud.model.forget(member.vm.id);
  }
  function terminate(member: Member): void {
    member.kubelet.die();
    world.cloud.model.terminate(member.vm.id);
  }

  it('two answers count as two by when they were asked for, however long a pass waits for its canaries', async () => {
    await setUp(4, { half: { statusUpdateMs: 60_000 } });
    // The kubelet's silence shows at 474 s; the refresh at 480 s asks for another look at once.
    await world.clock.advance(24_000);
    vanish(first());
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

  describe('when the cloud shows it terminated', () => {
    beforeEach(() => setUp(4));

    it('goes within 30 s of an orderly end, which its agent announced', async () => {
      replica.report('n0', { instance: reportedOf(first().vm) });
      await world.clock.advance(30_000);
      replica.report('n0', { instance: reportedOf(first().vm), leaving: true });
      await world.clock.advance(3000);
      world.cluster.setReady('n0', 'False');
      await world.clock.advance(2000);
      terminate(first());
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(seconds <= 30, `${seconds} s`);
      assert.deepEqual(deletions(replica), ['n0']);
    });

    it('goes within 30 s of an orderly end even while its Node is still shown Ready', async () => {
      replica.report('n0', { instance: reportedOf(first().vm), leaving: true });
      await world.clock.advance(2000);
      terminate(first());
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(seconds <= 30, `${seconds} s`);
    });

    it('goes within 20 s of NotReady when the machine just died', async () => {
      terminate(first());
      const notReady = await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
      assert.ok(notReady <= 60);
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(seconds <= 20, `${seconds} s`);
    });

    it('goes although it is young: a terminal state needs no five minutes', async () => {
      await setUp(4, {}, 60);
      terminate(first());
      assert.ok((await secondsUntil(world, () => !exists('n0'))) <= 75);
    });

    it('stays while it renews its lease: life vetoes', async () => {
      world.cloud.model.terminate(first().vm.id);
      world.cluster.setReady('n0', 'Unknown');
      await world.clock.advance(600_000);
      assert.equal(exists('n0'), true);
      assert.equal(reason('n0'), 'SignOfLife');
      assert.equal(
        replica.events.filter(({ node, reason: why }) => node === 'n0' && why === 'DeletionWithheld').length,
        1,
      );
    });

    it('stays while its agent reports: life vetoes', async () => {
      terminate(first());
      for (let minute = 0; minute < 40; minute += 1) {
        replica.report('n0', { instance: reportedOf(first().vm) });
        await world.clock.advance(15_000);
      }
      assert.equal(exists('n0'), true);
    });

    it('is told by an event with the evidence, and the delete carries UID and resourceVersion', async () => {
      const uid = world.cluster.mustNode('n0').metadata.uid;
      terminate(first());
      await secondsUntil(world, () => !exists('n0'));
      const call = replica.kube.calls.find(({ verb }) => verb === 'delete');
      assert.ok(call);
      const { preconditions } = call.body as { preconditions: { uid: string; resourceVersion: string } };
      assert.equal(preconditions.uid, uid);
      assert.match(preconditions.resourceVersion, /^\d+$/);
      const event = replica.events.find(({ reason: why }) => why === 'DeletingNode');
      assert.match(event?.message ?? '', /terminated/);
      assert.equal(await replica.gauge('mooring_node_deletions_total', '{evidence="gone"}'), 1);
    });
  });

  describe('when the cloud knows no such instance', () => {
    beforeEach(() => setUp(4));

    it('goes after two answers 15 s apart while a canary was found, and costs no budget-free look', async () => {
      vanish(first());
      const notReady = await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(seconds >= 15 && seconds <= 20, `NotReady after ${notReady} s, gone ${seconds} s later`);
      const event = replica.events.find(({ reason: why }) => why === 'DeletingNode');
      assert.match(event?.message ?? '', /canary found/);
    });

    it('stays for five minutes where there is no canary to ask for', async () => {
      await setUp(1);
      vanish(first());
      await secondsUntil(world, () => reason('n0') === 'Confirming');
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(seconds >= 299 && seconds <= 320, `${seconds} s`);
    });

    it('stays when the canaries cannot be found either: wrong credentials delete nothing, and it says why', async () => {
      for (const member of [first(), second()]) member.kubelet.die();
      world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
      await world.clock.advance(1_800_000);
      assert.deepEqual(deletions(replica), []);
      assert.equal(reason('n0'), 'CanaryNotFound');
      assert.equal(reason('n1'), 'CanaryNotFound');
      assert.ok((await replica.gauge('mooring_node_deletions_withheld', '{reason="CanaryNotFound"}')) >= 2);
      const told = replica.events.filter(({ node, reason: why }) => node === 'n0' && why === 'DeletionWithheld');
      assert.equal(told.length, 1);
    });

    it('begins its row of answers anew after the credentials were wrong', async () => {
      vanish(first());
      world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
      await secondsUntil(world, () => reason('n0') === 'CanaryNotFound');
      world.cloud.credentials.setMode(world.cloud.credential, 'ok');
      await secondsUntil(world, () => reason('n0') === 'Confirming', 120);
      assert.ok((await secondsUntil(world, () => !exists('n0'))) >= 15);
    });

    for (const [what, break_] of [
      ['unauthorized', () => world.cloud.credentials.setMode(world.cloud.credential, 'unauthorized')],
      ['forbidden', () => world.cloud.credentials.setMode(world.cloud.credential, 'forbidden')],
      ['server errors', () => world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 500 } })],
      [
        'throttling',
        () => world.cloud.faults.add({ operation: '*', effect: { kind: 'throttle', retryAfterSeconds: 5 } }),
      ],
      ['silence', () => world.cloud.faults.add({ operation: '*', effect: { kind: 'silence' } })],
      ['broken bodies', () => world.cloud.faults.add({ operation: '*', effect: { kind: 'malformed' } })],
      ['a wrong shape', () => world.cloud.faults.add({ operation: '*', effect: { kind: 'wrong-shape' } })],
    ] as const) {
      it(`stays for ever while the cloud answers with ${what}: unknown is never absent`, async () => {
        break_();
        vanish(first());
        await world.clock.advance(1_200_000);
        assert.deepEqual(deletions(replica), []);
      });
    }

    it('an unknown answer in between counts for nothing, and the deletion waits for the next good one', async () => {
      vanish(first());
      await secondsUntil(world, () => reason('n0') === 'Confirming');
      world.cloud.credentials.setMode(world.cloud.credential, 'unauthorized');
      await world.clock.advance(120_000);
      assert.equal(exists('n0'), true);
      assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="CloudUnknown"}'), 1);
      world.cloud.credentials.setMode(world.cloud.credential, 'ok');
      assert.ok((await secondsUntil(world, () => !exists('n0'))) <= 120);
    });

    it('stays when partial answers leave it out of lists: a list only nominates', async () => {
      world.cloud.faults.add({
        operation: 'instances.lookup',
        effect: { kind: 'missing-items', ids: [first().vm.id] },
      });
      world.cloud.faults.add({ operation: 'instances.list', effect: { kind: 'missing-items', ids: [first().vm.id] } });
      first().kubelet.die();
      second().kubelet.die();
      await world.clock.advance(1_200_000);
      assert.deepEqual(deletions(replica), []);
    });

    it('stays while its Node is Ready', async () => {
      first().kubelet.die();
      world.cloud.model.forget(first().vm.id);
      await world.clock.advance(30_000);
      world.cluster.setReady('n0', 'True');
      for (let minute = 0; minute < 30; minute += 1) {
        world.cluster.setReady('n0', 'True');
        await world.clock.advance(30_000);
      }
      assert.equal(exists('n0'), true);
    });

    it('stays until it is five minutes old', async () => {
      await setUp(4, {}, 60);
      vanish(first());
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(60 + seconds >= 300, `${60 + seconds} s old`);
      assert.ok(60 + seconds <= 330, `${60 + seconds} s old`);
    });

    it('stays when it was never found in this scope', async () => {
      world.cluster.mergePatch('n0', { metadata: { annotations: { [annotations.instance]: 'elsewhere inc' } } });
      world.cloud.model.forget(first().vm.id);
      first().kubelet.die();
      await world.clock.advance(900_000);
      assert.equal(exists('n0'), true);
      assert.equal(reason('n0'), 'NeverFound');
    });

    it('a lease renewed between both answers begins the row anew', async () => {
      vanish(first());
      await secondsUntil(world, () => reason('n0') === 'Confirming');
      await world.clock.advance(5000);
      world.cluster.renewLease('n0');
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(seconds >= 25, `${seconds} s`);
    });

    it('a report between both answers begins the row anew', async () => {
      vanish(first());
      await secondsUntil(world, () => reason('n0') === 'Confirming');
      await world.clock.advance(5000);
      replica.report('n0', { instance: reportedOf(first().vm) });
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(seconds >= 25, `${seconds} s`);
    });

    it('an instance that a list alone shows is no canary: its own request must find it', async () => {
      await setUp(2);
      world.cloud.faults.add({
        operation: 'instances.get',
        instance: second().vm.id,
        effect: { kind: 'error', status: 503 },
      });
      vanish(first());
      // Both are looked at in one pass each time: the list that nominates n0 shows n1.
      for (let turn = 0; turn < 24; turn += 1) {
        world.cluster.setReady('n0', turn % 2 === 0 ? 'Unknown' : 'False');
        world.cluster.setReady('n1', turn % 2 === 0 ? 'Unknown' : 'False');
        await world.clock.advance(5000);
      }
      assert.equal(exists('n0'), true);
      assert.equal(reason('n0'), 'CanaryNotFound');
    });

    it('reads leases live: one that the cluster renewed a moment before the decision is seen', async () => {
      vanish(first());
      await secondsUntil(world, () => reason('n0') === 'Confirming');
      replica.kube.intercept = (call) => {
        if (call.verb === 'get' && call.path.endsWith('/leases/n0')) world.cluster.renewLease('n0');
      };
      await world.clock.advance(300_000);
      assert.equal(exists('n0'), true);
      assert.equal(reason('n0'), 'SignOfLife');
    });

    it('a kubelet whose clock runs an hour ahead neither saves its dead Node for an hour nor is believed alive', async () => {
      world.cluster.renewLease('n0', -3_600_000);
      vanish(first());
      world.cluster.renewLease('n0', -3_600_000);
      const notReady = await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(seconds <= 40, `NotReady after ${notReady} s, gone ${seconds} s later`);
    });

    it('a kubelet whose clock lags an hour behind keeps its Node while it renews', async () => {
      world.cloud.model.forget(first().vm.id);
      world.cluster.setReady('n0', 'Unknown');
      first().kubelet.die();
      for (let tick = 0; tick < 60; tick += 1) {
        world.cluster.renewLease('n0', 3_600_000);
        await world.clock.advance(10_000);
      }
      assert.equal(exists('n0'), true);
    });

    it('stays when the API server does not answer about its life', async () => {
      world.core.faults.add({
        match: { verb: 'get', resource: 'leases', userAgent: 'mooring' },
        effect: { kind: 'answer', status: 503 },
      });
      vanish(first());
      await world.clock.advance(600_000);
      assert.equal(exists('n0'), true);
      assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="LifeUnknown"}'), 1);
    });

    it('the Node re-created between decision and delete stays', async () => {
      vanish(first());
      await secondsUntil(world, () => reason('n0') === 'Confirming');
      replica.kube.intercept = (call) => {
        if (call.verb !== 'delete') return;
        replica.kube.intercept = undefined;
        world.cluster.remove('n0');
        world.cluster.register('n0');
      };
      await world.clock.advance(60_000);
      assert.equal(exists('n0'), true);
      assert.deepEqual(deletions(replica), ['n0'], 'tried once, refused by its preconditions');
    });

    it('evidence that had to wait for other writes is read again: who renewed his lease meanwhile stays', async () => {
      await setUp(4, { half: { concurrentNodeSyncs: 1 } });
      const both = members.slice(0, 2);
      both.forEach(terminate);
      let held: string | undefined;
      replica.kube.intercept = async (call) => {
        if (call.verb !== 'delete') return;
        replica.kube.intercept = undefined;
        held = call.path;
        await new Promise<void>((resolve) => world.clock.setTimer(11_000, resolve));
      };
      await secondsUntil(world, () => held !== undefined);
      const other = both.find(({ name }) => !held?.endsWith(`/${name}`))!.name;
      world.cluster.renewLease(other);
      await world.clock.advance(15_000);
      assert.deepEqual(deletions(replica).length, 1);
      assert.equal(exists(other), true);
      assert.ok((await secondsUntil(world, () => !exists(other))) <= 90, 'it goes once it is quiet again');
    });

    it('the Node that shows life in its status between decision and delete stays', async () => {
      vanish(first());
      await secondsUntil(world, () => reason('n0') === 'Confirming');
      replica.kube.intercept = (call) => {
        if (call.verb !== 'delete') return;
        replica.kube.intercept = undefined;
        world.cluster.setReady('n0', 'True');
      };
      await world.clock.advance(30_000);
      assert.equal(exists('n0'), true);
    });

    it('found again, it is told so: the condition turns False and the gauge goes down', async () => {
      first().kubelet.die();
      const faults = world.cloud.faults;
      faults.add({
        operation: 'instances.get',
        instance: first().vm.id,
        effect: { kind: 'error', status: 404, code: 'instance-not-found' },
      });
      faults.add({ operation: 'instances.lookup', effect: { kind: 'missing-items', ids: [first().vm.id] } });
      await secondsUntil(world, () => reason('n0') === 'Confirming');
      faults.clear();
      await world.clock.advance(60_000);
      assert.equal(reason('n0'), 'Found');
      assert.equal(world.cluster.condition('n0', missing)?.status, 'False');
      assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="Confirming"}'), 0);
    });
  });

  describe('and many vanish at once', () => {
    beforeEach(() => setUp(20));

    it('no more than the budget go, the rest says BudgetExhausted and goes as the window moves', async () => {
      for (const member of members.slice(0, 6)) vanish(member);
      await world.clock.advance(180_000);
      assert.equal(deletions(replica).length, 2);
      assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="BudgetExhausted"}'), 4);
      const waiting = members.slice(0, 6).filter(({ name }) => exists(name));
      for (const { name } of waiting) assert.equal(reason(name), 'BudgetExhausted');
      await world.clock.advance(540_000);
      assert.equal(deletions(replica).length, 3, '10 % of 18 is 1 in the next window');
    });

    it('a person releases one by its uid; a stale uid releases nothing', async () => {
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
    });

    it('a restart refills nothing', async () => {
      for (const member of members.slice(0, 6)) vanish(member);
      await world.clock.advance(180_000);
      await replica.stop();
      const next = world.replica();
      await next.start();
      await world.clock.advance(180_000);
      assert.deepEqual(deletions(next), []);
      assert.match(world.lease.annotations[annotations.deletionLedger] ?? '', /^d\d+x\d+/);
    });

    it('nothing goes while the ledger cannot be written', async () => {
      world.lease.broken = true;
      vanish(first());
      await world.clock.advance(300_000);
      assert.deepEqual(deletions(replica), []);
      assert.equal(reason('n0'), 'BudgetExhausted');
    });

    it('explained ones are free: terminated, marked by the autoscaler, Karpenter or Cluster API, or announced', async () => {
      for (const member of members.slice(0, 4)) terminate(member);
      const mark = (name: string, key: string) =>
        world.cluster.mergePatch(name, { spec: { taints: [{ key, effect: 'NoSchedule' }] } });
      mark('n4', taints.toBeDeletedByAutoscaler);
      mark('n5', taints.disruptedByKarpenter);
      world.cluster.mergePatch('n6', { metadata: { annotations: { [annotations.clusterApiDelete]: '' } } });
      replica.report('n7', { instance: reportedOf(members[7]!.vm), notices: [{ kind: 'preemption' }] });
      for (const member of members.slice(4, 8)) vanish(member);
      await world.clock.advance(240_000);
      assert.deepEqual(
        deletions(replica).sort(),
        members.slice(0, 8).map(({ name }) => name),
      );
      assert.equal(world.lease.annotations[annotations.deletionLedger], undefined);
    });
  });

  describe('the look at it', () => {
    it('is one batched lookup for all that are NotReady, ever more rarely while they are found', async () => {
      await setUp(30);
      for (const member of members.slice(0, 25)) member.kubelet.die();
      await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
      const calls = world.cloudCalls();
      await world.clock.advance(600_000);
      const made = world.cloudCalls() - calls;
      assert.ok(made <= 18, `${made} calls in ten minutes for 25 nodes`);
    });

    it('is not put off by a storm of hints and heartbeats of others', async () => {
      await setUp(6);
      terminate(first());
      world.cluster.setReady('n0', 'Unknown');
      world.cluster.setReady('n1', 'Unknown');
      let gone = Number.POSITIVE_INFINITY;
      for (let tick = 0; tick < 600 && gone === Number.POSITIVE_INFINITY; tick += 1) {
        world.cluster.heartbeat('n1');
        await world.clock.advance(100);
        if (!exists('n0')) gone = tick / 10;
      }
      assert.ok(gone <= 40, `${gone} s`);
    });

    it('leaves nothing behind in the gauge for a Node that a person deleted meanwhile', async () => {
      await setUp(4);
      vanish(first());
      await secondsUntil(world, () => reason('n0') === 'Confirming');
      replica.kube.intercept = (call) => {
        if (call.verb === 'get' && call.path.endsWith('/leases/n0')) {
          replica.kube.intercept = undefined;
          world.cluster.renewLease('n0');
          queueMicrotask(() => world.cluster.remove('n0'));
        }
      };
      await world.clock.advance(120_000);
      assert.equal(exists('n0'), false);
      for (const why of ['Confirming', 'SignOfLife', 'CanaryNotFound', 'LifeUnknown']) {
        assert.equal(await replica.gauge('mooring_node_deletions_withheld', `{reason="${why}"}`), 0, why);
      }
    });
  });

  describe('in one of several scopes', () => {
    it('goes although the cloud of another scope does not answer', async () => {
      await world?.close();
      const geography = { here: { r1: ['r1a'] }, there: { r2: ['r2a'] } };
      const clouds = [
        { project: 'there', region: 'r2' },
        { project: 'here', region: 'r1' },
      ];
      world = createWorld({ geography, clouds });
      replica = world.replica();
      await replica.start();
      const here = await fleet(world, 3, { project: 'here', region: 'r1', prefix: 'a', ageSeconds: 10 });
      const there = await fleet(world, 3, { project: 'there', region: 'r2', prefix: 'b' });
      world.cloud.faults.add({ operation: '*', project: 'there', effect: { kind: 'silence' } });
      for (const { kubelet } of there) kubelet.die();
      await world.clock.advance(50_000);
      terminate(here[0]!);
      const seconds = await secondsUntil(world, () => !exists('a0'));
      assert.ok(seconds <= 70, `${seconds} s`);
      assert.equal(exists('b0'), true);
    });
  });
});
