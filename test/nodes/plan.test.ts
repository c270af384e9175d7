import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { ReadReports } from '../../controller/app/follow-reports.ts';
import { isEmptyPlan, type Plan } from '../../controller/dry-run/planned-change.ts';
import { planOf } from '../commands/harness/plan-of.ts';
import { type Replica, reportedOf, type World } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

describe('the plan of Nodes', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;

  beforeEach(async () => {
    ({ world, replica } = begin());
    replica.nodes.start();
    await world.clock.advance(0);
  });

  const plan = (flags: readonly string[] = [], readReports?: ReadReports) =>
    planOf({ api: replica.kube, cloud: world.cloud, clock: world.clock, ...(readReports && { readReports }) }, flags);

  it('says what joining Nodes would get, and writes nothing', async () => {
    world.join('a');
    world.join('b');
    await world.clock.advance(0);
    const { changes, problems } = await plan();
    assert.deepEqual(problems, []);
    assert.deepEqual([...new Set(changes.map(({ object }) => object))].sort(), ['node a', 'node b']);
    assert.match(
      changes.map(({ what }) => what).join('\n'),
      /addresses: InternalIP .*spec providerID: simulated:.*spec taints: /s,
    );
    assert.deepEqual(replica.kube.writes(), []);
    assert.deepEqual(replica.events, []);
  });

  it('shows a Node of a platform that is none of ours as foreign, and does not count it as a change', async () => {
    world.cluster.register('old', { providerID: 'mesos://x' });
    await world.clock.advance(0);
    const made = await plan();
    assert.deepEqual(made.changes, [
      {
        of: 'kubernetes',
        object: 'node old',
        action: 'hold',
        what: 'it is foreign and never changed: no configured cloud accepts its providerID mesos://x',
      },
    ]);
    assert.ok(isEmptyPlan(made));
    assert.deepEqual(made.problems, []);
    assert.deepEqual(replica.kube.writes(), []);
  });

  it('plans nothing after a run has done it', async () => {
    world.join('a');
    await replica.start();
    await world.clock.advance(30_000);
    await replica.stopLeading();
    replica.kube.forgetCalls();
    assert.deepEqual(await plan(), { changes: [], problems: [] });
    assert.deepEqual(replica.kube.writes(), []);
  });

  it('says why a Node waits, and that an unreachable cloud leaves the plan in doubt', async () => {
    world.cluster.register('nobody');
    await world.clock.advance(0);
    const held = await plan();
    assert.match(held.changes.find(({ action }) => action === 'hold')?.what ?? '', /^InstanceNotFound: /);
    world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 503 } });
    world.join('a');
    await world.clock.advance(0);
    assert.match((await plan()).problems.join(), /instances of .*503/);
  });

  it('takes what agents have reported to the leader, and listens for those that it has not heard', async () => {
    const vm = world.cloud.model.create({ name: 'a', smbiosUuid: null });
    world.cluster.register('a');
    await world.clock.advance(0);
    const whyHeld = ({ changes }: Pick<Plan, 'changes'>) => changes.find(({ action }) => action === 'hold')?.what ?? '';
    assert.match(whyHeld(await plan()), /^AwaitingReport: .*hears agents with --reports-url only/);
    let heard = 0;
    const readReports: ReadReports = async (store) => {
      heard += 1;
      const stored = heard === 4 ? replica.reports.get('a') : undefined;
      if (stored) store.adopt(stored);
    };
    replica.report('a', { instance: reportedOf(vm) });
    assert.match(whyHeld(await plan([], readReports)), /^AwaitingReport: .*--listen waits for it$/);
    assert.equal(heard, 1);
    heard = 0;
    const { changes, problems } = await plan(['--listen=60s'], readReports);
    assert.deepEqual([heard, problems], [4, []], 'it ends as soon as all are heard');
    assert.match(changes.map(({ what }) => what).join('\n'), /spec providerID: simulated:/);
    assert.equal(whyHeld({ changes }), '');
    assert.deepEqual(replica.kube.writes(), []);
  });

  it('waits for no silent or foreign machine, and reports a problem where it hears no leader', async () => {
    world.join('a');
    world.cluster.setReady('a', 'Unknown');
    world.cluster.register('old', { providerID: 'mesos://x' });
    await world.clock.advance(0);
    let heard = 0;
    await plan(['--listen=60s'], async () => {
      heard += 1;
    });
    assert.equal(heard, 1);
    const before = world.clock.monotonic();
    const { problems } = await plan(['--listen=60s'], async () => {
      throw new Error('the controller answered 503');
    });
    assert.deepEqual(problems, ['the reports of the leader cannot be read: the controller answered 503']);
    assert.ok(world.clock.monotonic() - before >= 60_000);
  });

  it('shows a Node whose VM is terminated as one to delete', async () => {
    const vm = world.join('a');
    world.join('b');
    await replica.start();
    await world.clock.advance(30_000);
    await replica.stopLeading();
    world.cloud.model.terminate(vm.id);
    world.cluster.setReady('a', 'Unknown');
    await world.clock.advance(60_000);
    const { changes } = await plan();
    assert.deepEqual(
      changes.filter(({ object }) => object === 'node a').map(({ action }) => action),
      ['delete'],
    );
    assert.ok(world.cluster.node('a'));
  });
});
