import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { annotations, conditions, taints } from '../../common/well-known.ts';
import { createRouteWorld, type RouteReplica, type RouteWorld, type RouteWorldOptions } from './harness/route-world.ts';

const a4 = '10.244.0.0/24';
const b4 = '10.244.1.0/24';
const c4 = '10.244.2.0/24';
const a6 = 'fd00:10:0:1::/64';

describe('pod routes', () => {
  let world: RouteWorld;
  let replica: RouteReplica;

  function begin(options: RouteWorldOptions = {}): void {
    world = createRouteWorld(options);
    replica = world.routeReplica();
  }
  afterEach(() => world.close());

  const events = (name: string) =>
    replica.base.events.filter(({ node, reason }) => node === name && reason === 'FailedToCreateRoute').length;

  it('are made for every range of every Node, and the Nodes say so', async () => {
    begin();
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

  it('cost nothing while nothing happens, but a look every five minutes', async () => {
    begin();
    for (let at = 0; at < 5; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
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

  it('cost no change at all after a restart with nothing changed', async () => {
    begin();
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

  it('come within a second when a Node joins, and when it is given its range', async () => {
    begin();
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

  it('go when the Node went and its VM with it', async () => {
    begin();
    const vm = world.add('a', [a4]);
    world.add('b', [b4]);
    await replica.start();
    await world.clock.advance(60_000);
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    await world.clock.advance(2000);
    assert.deepEqual(world.table(), [`${b4} -> b`]);
  });

  it('of a Node that vanished while its VM lives go only as the budget allows', async () => {
    begin({ budget: '1/10m' });
    for (let at = 0; at < 4; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
    await replica.start();
    await world.clock.advance(60_000);
    for (let at = 0; at < 3; at += 1) world.cluster.remove(`n${at}`);
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

  it('of Nodes that vanished go only as the budget allows when the cloud denies every instance', async () => {
    begin({ budget: '1/10m' });
    for (let at = 0; at < 4; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
    await replica.start();
    await world.clock.advance(60_000);
    for (const operation of ['instances.list', 'instances.lookup'])
      world.cloud.faults.add({ operation, effect: { kind: 'missing-items', count: 100 } });
    world.cloud.faults.add({
      operation: 'instances.get',
      effect: { kind: 'error', status: 404, code: 'instance-not-found' },
    });
    for (let at = 0; at < 3; at += 1) world.cluster.remove(`n${at}`);
    await world.clock.advance(120_000);
    assert.equal(world.routes().length, 3);
  });

  it('keep what the budget spent across a restart', async () => {
    begin({ budget: '1/10m' });
    for (let at = 0; at < 3; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
    await replica.start();
    await world.clock.advance(60_000);
    for (let at = 0; at < 3; at += 1) world.cluster.remove(`n${at}`);
    await world.clock.advance(60_000);
    assert.equal(world.routes().length, 2);
    await replica.stop();
    const next = world.routeReplica();
    await next.start();
    await world.clock.advance(120_000);
    assert.equal(world.routes().length, 2);
  });

  it('of Nodes whose end was announced go without a budget', async () => {
    begin({ budget: '1/10m' });
    for (let at = 0; at < 4; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
    await replica.start();
    await world.clock.advance(60_000);
    for (let at = 0; at < 4; at += 1) {
      const mark = [{ key: taints.toBeDeletedByAutoscaler, effect: 'NoSchedule', value: '1' }];
      world.cluster.mergePatch(`n${at}`, { spec: { taints: mark } });
    }
    await world.clock.advance(1000);
    for (let at = 0; at < 4; at += 1) world.cluster.remove(`n${at}`);
    await world.clock.advance(5000);
    assert.deepEqual(world.table(), []);
  });

  it('of Nodes that this controller deletes go without a budget', async () => {
    begin({ budget: '1/10m' });
    for (let at = 0; at < 4; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
    await replica.start();
    await world.clock.advance(60_000);
    for (const node of [...replica.base.nodes.values()]) replica.half.noteDeletion(node);
    for (let at = 0; at < 4; at += 1) world.cluster.remove(`n${at}`);
    await world.clock.advance(5000);
    assert.deepEqual(world.table(), []);
  });

  it('stay when the API server still shows the Node', async () => {
    begin();
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

  it('stay while the API server does not answer whether the Node is gone', async () => {
    begin();
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

  it('of others are left alone, and a Node whose range they take is told once', async () => {
    begin();
    const other = world.cloud.model.create({ name: 'router' });
    world.add('a', [a4]);
    world.add('b', [b4]);
    world.foreignRoute(a4, other);
    world.foreignRoute(c4, other);
    world.foreignRoute('192.168.0.0/24', other);
    await replica.start();
    await world.clock.advance(900_000);
    assert.deepEqual(world.table(), [`${a4} -> router`, `${b4} -> b`, `${c4} -> router`, '192.168.0.0/24 -> router']);
    assert.equal(world.network('a'), 'True ForeignRoute');
    assert.equal(world.mutations(), 1);
    assert.equal(events('a'), 1);
    assert.equal(await replica.metric('mooring_routes', `{scope="${world.scope}",state="foreign"}`), 1);
  });

  it('are made as soon as a look shows that the foreign one is gone', async () => {
    begin();
    const other = world.cloud.model.create({ name: 'router' });
    world.add('a', [a4]);
    const foreign = world.foreignRoute(a4, other);
    await replica.start();
    await world.clock.advance(10_000);
    world.cloud.network.routes.delete(foreign.id);
    await world.clock.advance(300_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('are not stolen: of two Nodes with one range the first keeps its route', async () => {
    begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(2000);
    world.add('b', [a4]);
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.equal(world.network('b'), 'True DuplicatePodCIDR');
    assert.equal(events('b'), 1);
    assert.equal(world.mutations(), 1);
  });

  it('go to the second Node when the first one went', async () => {
    begin();
    const vm = world.add('a', [a4]);
    await replica.start();
    world.add('b', [a4]);
    await world.clock.advance(10_000);
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    await world.clock.advance(30_000);
    assert.deepEqual(world.table(), [`${a4} -> b`]);
    assert.equal(world.network('b'), 'False RouteCreated');
  });

  it('that somebody removed are made again at the next look, and the Node is not marked meanwhile', async () => {
    begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    replica.base.kube.forgetCalls();
    for (const { id } of world.routes()) world.cloud.network.routes.delete(id);
    await world.clock.advance(301_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.deepEqual(replica.writes(), []);
  });

  it('that lead into nothing are removed if they are ours', async () => {
    begin();
    const vm = world.add('a', [a4]);
    world.add('b', [b4]);
    const other = world.cloud.model.create({ name: 'router' });
    world.foreignRoute(c4, other);
    await replica.start();
    await world.clock.advance(5000);
    await replica.stop();
    // While nobody looked.
    world.cloud.model.terminate(vm.id);
    world.cloud.model.terminate(other.id);
    world.cluster.remove('a');
    const next = world.routeReplica();
    await next.start();
    await world.clock.advance(5000);
    assert.deepEqual(
      world
        .routes()
        .map(({ destination }) => destination)
        .sort(),
      [b4, c4],
    );
  });

  it('that drop packets though the Node is ready are made anew once, not for ever', async () => {
    begin();
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

  it('beyond the quota are not tried, and the Nodes say why; room is used at once when it comes', async () => {
    begin();
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

  it('are not the business of foreign Nodes, nor of those that wait for initialisation', async () => {
    begin();
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

  it('are left as they are while the Node is paused, and followed up when it is not', async () => {
    begin();
    world.add('a', [a4]);
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: 'true' } } });
    await replica.start();
    await world.clock.advance(600_000);
    assert.deepEqual(world.table(), []);
    assert.deepEqual(replica.writes(), []);
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: null } } });
    await world.clock.advance(2000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('are left as they are while everything is paused', async () => {
    begin();
    replica.base.paused = true;
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), []);
    replica.base.paused = false;
    await world.clock.advance(4000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
  });

  it('are not changed by a replica whose lease runs out', async () => {
    begin();
    replica.fenced = true;
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(30_000);
    assert.deepEqual(world.table(), []);
    replica.fenced = false;
    await world.clock.advance(3000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
  });

  it('are only talked about in a dry run, once', async () => {
    begin({ dryRun: true });
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(1_200_000);
    assert.equal(world.mutations(), 0);
    assert.deepEqual(replica.writes(), []);
    assert.equal(replica.logged.filter((line) => line.includes('would change')).length, 1);
  });

  for (const [why, options] of [
    ['--cluster-cidr is empty', { clusterCidr: '' }],
    ['--configure-cloud-routes is false', { enabled: false }],
  ] as const)
    it(`are off when ${why}, with one line that says so`, async () => {
      begin(options);
      world.add('a', [a4]);
      await replica.start();
      await world.clock.advance(600_000);
      assert.equal(world.reads() + world.mutations(), 0);
      assert.deepEqual(
        replica.logged.map((line) => line.replace(/^\S+ /, '')),
        [`INFO  routes are off why=${JSON.stringify(why)}`],
      );
      assert.equal(replica.half.routesRun(world.scope, undefined as never), false);
    });

  it('leave a network plugin its own condition', async () => {
    begin();
    world.add('a', [a4]);
    const user = (await import('../sandbox/kube/auth/user.ts')).admin;
    const set = (status: string, reason: string) =>
      world.core.handle({
        method: 'PATCH',
        path: '/api/v1/nodes/a/status',
        query: new URLSearchParams(),
        headers: { 'content-type': 'application/strategic-merge-patch+json' },
        body: JSON.stringify({ status: { conditions: [{ type: conditions.networkUnavailable, status, reason }] } }),
        user,
      });
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

describe('a Node that joins where routes are kept', () => {
  let world: RouteWorld;
  afterEach(() => world.close());

  it('is closed for pods until its route stands', async () => {
    world = createRouteWorld({ nodeHalf: true });
    const replica = world.routeReplica();
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
