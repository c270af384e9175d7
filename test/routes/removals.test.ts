import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { taints } from '../../common/well-known.ts';
import { deletionNoteMs } from '../../controller/nodes/expected-termination.ts';
import { a4, b4, c4, type RouteStage, routeStage } from './harness/route-stage.ts';

describe('pod routes of Nodes that are gone', () => {
  const begin = routeStage();

  /** Many Nodes whose routes stand, where one route may go in ten minutes. */
  async function routed(count: number): Promise<RouteStage> {
    const stage = begin({ budget: '1/10m' });
    stage.world.addMany(count);
    await stage.replica.start();
    await stage.world.clock.advance(60_000);
    return stage;
  }

  it('deletes a route when the Node is gone and its VM with it', async () => {
    const { world, replica } = begin();
    const vm = world.add('a', [a4]);
    world.add('b', [b4]);
    await replica.start();
    await world.clock.advance(60_000);
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    await world.clock.advance(2000);
    assert.deepEqual(world.table(), [`${b4} -> b`]);
  });

  it('deletes routes within the budget where Nodes vanished and their VMs live', async () => {
    const { world, replica } = await routed(4);
    world.removeMany(3);
    await world.clock.advance(120_000);
    assert.equal(world.routes().length, 3);
    assert.equal(
      await replica.metric('mooring_route_removals_withheld', `{scope="${world.scope}",reason="BudgetExhausted"}`),
      2,
    );
    assert.equal(replica.logged.filter((line) => line.includes('kept for now')).length, 1);
    await world.clock.advance(600_000);
    assert.equal(world.routes().length, 2);
    await world.clock.advance(600_000);
    assert.equal(world.routes().length, 1);
  });

  it('deletes routes within the budget when the cloud denies every instance', async () => {
    const { world } = await routed(4);
    for (const operation of ['instances.list', 'instances.lookup'])
      world.cloud.faults.add({ operation, effect: { kind: 'missing-items', count: 100 } });
    world.cloud.faults.add({
      operation: 'instances.get',
      effect: { kind: 'error', status: 404, code: 'instance-not-found' },
    });
    world.removeMany(3);
    await world.clock.advance(120_000);
    assert.equal(world.routes().length, 3);
  });

  it('keeps the spent budget of routes across a restart', async () => {
    const { world, replica } = await routed(3);
    world.removeMany(3);
    await world.clock.advance(60_000);
    assert.equal(world.routes().length, 2);
    await replica.stop();
    const next = world.routeReplica();
    await next.start();
    await world.clock.advance(120_000);
    assert.equal(world.routes().length, 2);
  });

  it('deletes routes without a budget where the end of the Node was announced', async () => {
    const { world } = await routed(4);
    for (let at = 0; at < 4; at += 1) {
      const mark = [{ key: taints.toBeDeletedByAutoscaler, effect: 'NoSchedule', value: '1' }];
      world.cluster.mergePatch(`n${at}`, { spec: { taints: mark } });
    }
    await world.clock.advance(1000);
    world.removeMany(4);
    await world.clock.advance(5000);
    assert.deepEqual(world.table(), []);
  });

  it('deletes routes without a budget where this controller deletes the Node', async () => {
    const { world, replica } = await routed(4);
    for (const node of [...replica.base.nodes.values()]) replica.task.noteDeletion(node);
    world.removeMany(4);
    await world.clock.advance(5000);
    assert.deepEqual(world.table(), []);
  });

  it('deletes routes within the budget where this controller failed to delete the Nodes long before', async () => {
    const { world, replica } = await routed(4);
    for (const node of [...replica.base.nodes.values()]) replica.task.noteDeletion(node);
    await world.clock.advance(deletionNoteMs);
    world.removeMany(4);
    await world.clock.advance(5000);
    assert.equal(world.routes().length, 3);
  });

  it('keeps a route while the API server still shows the Node', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    const gone = world.cluster.mustNode('a');
    world.cluster.remove('a');
    // It comes back under the same name before the watch says so.
    replica.base.kube.intercept = (call) => {
      if (call.verb === 'get' && call.path === '/api/v1/nodes/a') {
        replica.base.kube.intercept = undefined;
        replica.base.kube.hold();
        world.cluster.register('a', { tainted: false, providerID: gone.spec.providerID ?? '' });
        world.setPodCIDRs('a', [a4]);
      }
    };
    await world.clock.advance(3000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    const before = world.mutations();
    replica.base.kube.release();
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.mutations(), before);
  });

  it('keeps a route while the API server does not answer whether the Node is gone', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    world.add('b', [b4]);
    await replica.start();
    await world.clock.advance(60_000);
    let broken = true;
    replica.base.kube.intercept = (call) => {
      if (broken && call.verb === 'get' && call.path.startsWith('/api/v1/nodes/')) throw new Error('injected');
    };
    world.cluster.remove('a');
    await world.clock.advance(60_000);
    assert.equal(world.routes().length, 2);
    assert.equal(
      await replica.metric('mooring_route_removals_withheld', `{scope="${world.scope}",reason="LifeUnknown"}`),
      1,
    );
    broken = false;
    await world.clock.advance(60_000);
    assert.equal(world.routes().length, 1);
  });

  it('deletes a route of ours that leads nowhere, and keeps a foreign one', async () => {
    const { world, replica } = begin();
    const vm = world.add('a', [a4]);
    world.add('b', [b4]);
    const other = world.cloud.model.create({ name: 'router' });
    world.foreignRoute(c4, other);
    await replica.start();
    await world.clock.advance(5000);
    await replica.stop();
    // Without a leader.
    world.cloud.model.terminate(vm.id);
    world.cloud.model.terminate(other.id);
    world.cluster.remove('a');
    const next = world.routeReplica();
    await next.start();
    await world.clock.advance(5000);
    assert.deepEqual(world.destinations(), [b4, c4]);
  });
});
