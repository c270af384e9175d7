import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditions, taints } from '../../common/well-known.ts';
import { a4, a6, b4, c4, routeStage } from './harness/route-stage.ts';

describe('pod routes', () => {
  const begin = routeStage();

  it('creates a route for every range of every Node, and says so on the Nodes', async () => {
    const { world, replica } = begin();
    world.add('a', [a4, a6]);
    world.add('b', [b4]);
    await replica.start();
    await world.clock.advance(2000);
    assert.deepEqual(world.table(), [`${a4} -> a`, `${b4} -> b`, `${a6} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.equal(world.network('b'), 'False RouteCreated');
    assert.equal(world.mutations(), 3);
    assert.equal(world.reads(), 1);
    assert.deepEqual(replica.writes().sort(), ['patch /api/v1/nodes/a/status', 'patch /api/v1/nodes/b/status']);
    const body = replica.base.kube.calls.find(({ verb }) => verb === 'patch')?.body as {
      status: { conditions: { type: string }[] };
    };
    assert.deepEqual(Object.keys(body.status), ['conditions']);
    assert.deepEqual(
      body.status.conditions.map(({ type }) => type),
      [conditions.networkUnavailable],
    );
  });

  it('reads the table once at the start, before the Nodes are listed', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    world.cloud.faults.add({ operation: 'routes.list', effect: { kind: 'latency', ms: 1500 } });
    const stop = new AbortController();
    const term = replica.task.lead(stop.signal);
    await world.clock.advance(1000);
    await replica.base.start();
    await world.clock.advance(300);
    assert.equal(world.mutations(), 0);
    await world.clock.advance(1700);
    assert.deepEqual([world.reads(), world.table()], [1, [`${a4} -> a`]]);
    stop.abort();
    await term;
  });

  it('reads the table once in five minutes while nothing changes', async () => {
    const { world, replica } = begin();
    world.addMany(5);
    await replica.start();
    await world.clock.advance(10_000);
    const [reads, mutations] = [world.reads(), world.mutations()];
    replica.base.kube.forgetCalls();
    for (let beat = 0; beat < 60; beat += 1) {
      for (let at = 0; at < 5; at += 1) world.cluster.heartbeat(`n${at}`);
      await world.clock.advance(60_000);
    }
    assert.equal(world.mutations(), mutations);
    assert.ok(world.reads() - reads <= 12, String(world.reads() - reads));
    assert.deepEqual(replica.writes(), []);
  });

  it('changes no route after a restart with nothing changed', async () => {
    const { world, replica } = begin();
    world.add('a', [a4, a6]);
    world.add('b', [b4]);
    await replica.start();
    await world.clock.advance(5000);
    await replica.stop();
    const before = world.mutations();
    const next = world.routeReplica();
    await next.start();
    await world.clock.advance(600_000);
    assert.equal(world.mutations(), before);
    assert.deepEqual(next.writes(), []);
    assert.equal(next.base.events.length, 0);
  });

  it('creates a route within a second after a Node joins or gets its range', async () => {
    const { world, replica } = begin();
    await replica.start();
    world.add('a', [a4]);
    world.add('b', []);
    await world.clock.advance(1000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('b'), undefined);
    world.setPodCIDRs('b', [b4]);
    await world.clock.advance(1000);
    assert.deepEqual(world.table(), [`${a4} -> a`, `${b4} -> b`]);
    assert.equal(world.network('b'), 'False RouteCreated');
    assert.equal(world.reads(), 1);
  });

  it('creates a route again that was removed by hand, and does not mark the Node meanwhile', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    replica.base.kube.forgetCalls();
    world.loseRoutes();
    await world.clock.advance(301_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.deepEqual(replica.writes(), []);
  });

  it('replaces a route that drops packets once, not for ever, though the Node is ready', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    const [old] = world.routes();
    world.cloud.network.routes.setBroken(old!.id, true);
    await world.clock.advance(301_000);
    const [made] = world.routes();
    assert.notEqual(made?.id, old?.id);
    assert.equal(world.mutations(), 3);
    assert.equal(world.network('a'), 'False RouteCreated');
    world.cloud.network.routes.setBroken(made!.id, true);
    await world.clock.advance(900_000);
    assert.equal(world.mutations(), 3);
  });

  it('tries no route beyond the quota, says why on the Node, and uses free room at once', async () => {
    const { world, replica } = begin();
    world.cloud.network.quotas.set('routes', 2);
    const vm = world.add('a', [a4]);
    await world.clock.advance(1000);
    world.add('b', [b4]);
    await world.clock.advance(1000);
    world.add('c', [c4]);
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> a`, `${b4} -> b`]);
    assert.equal(world.network('c'), 'True QuotaExceeded');
    assert.equal(world.mutations(), 2);
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    await world.clock.advance(10_000);
    assert.deepEqual(world.table(), [`${b4} -> b`, `${c4} -> c`]);
    assert.equal(world.network('c'), 'False RouteCreated');
  });

  it('creates no route for foreign Nodes, nor for those that wait for initialisation', async () => {
    const { world, replica } = begin();
    world.cluster.register('foreign', { tainted: false, providerID: 'aws:///eu-1a/i-1' });
    world.setPodCIDRs('foreign', [a4]);
    const vm = world.cloud.model.create({ name: 'joining' });
    world.cluster.register('joining', { providerID: `simulated://sim-1/${vm.id}` });
    world.setPodCIDRs('joining', [b4]);
    await replica.start();
    await world.clock.advance(600_000);
    assert.deepEqual(world.table(), []);
    assert.deepEqual(replica.writes(), []);
  });

  for (const [level, why, options] of [
    ['WARN ', '--cluster-cidr is empty; give it, or --configure-cloud-routes=false', { clusterCidr: '' }],
    ['INFO ', '--configure-cloud-routes is false', { enabled: false }],
  ] as const)
    it(`turns routes off, with one line that says so, when ${why}`, async () => {
      const { world, replica } = begin(options);
      world.add('a', [a4]);
      await replica.start();
      await world.clock.advance(600_000);
      assert.equal(world.reads() + world.mutations(), 0);
      assert.deepEqual(
        replica.logged.map((line) => line.replace(/^\S+ /, '')),
        [`${level} routes are off why=${JSON.stringify(why)}`],
      );
      assert.equal(replica.task.routesEnabled(world.scope, undefined as never), false);
    });

  it('leaves a network plugin its own condition', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    const set = (status: string, reason: string) =>
      world.cluster.setCondition('a', { type: conditions.networkUnavailable, status, reason });
    set('False', 'CalicoIsUp');
    await replica.start();
    await world.clock.advance(60_000);
    assert.equal(world.network('a'), 'False CalicoIsUp');
    set('True', 'CalicoIsDown');
    await world.clock.advance(60_000);
    assert.equal(world.network('a'), 'True CalicoIsDown');
    assert.deepEqual(replica.writes(), []);
    // What a person sets under our reason is put right.
    set('True', 'NoRouteCreated');
    await world.clock.advance(2000);
    assert.equal(world.network('a'), 'False RouteCreated');
  });
});

describe('a Node that joins where routes are configured', () => {
  const begin = routeStage();

  it('takes no pods until its route stands', async () => {
    const { world, replica } = begin({ nodeTask: true });
    await replica.start();
    world.join('a');
    await world.clock.advance(5000);
    assert.equal(world.cluster.hasTaint('a', taints.uninitialized), false);
    assert.equal(world.network('a'), 'True NoRouteCreated');
    world.setPodCIDRs('a', [a4]);
    await world.clock.advance(2000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
    const order = world.trace.filter((line) => line.includes('routes.create') || line.includes('"taints"'));
    assert.match(order[0] ?? '', /"taints"/);
  });
});
