import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditions } from '../../common/well-known.ts';
import { a4, b4, routeStage } from './harness/route-stage.ts';
import { clusterUid, place } from './harness/route-world.ts';

describe('pod routes while their table cannot be read', () => {
  const begin = routeStage();

  it('marks no routed Node while the table cannot be read', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    replica.base.kube.forgetCalls();
    const mutations = world.mutations();
    world.cloud.faults.add({ operation: 'routes.list', effect: { kind: 'error', status: 503 } });
    await world.clock.advance(3_600_000);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.deepEqual(replica.writes(), []);
    assert.equal(world.mutations(), mutations);
    assert.ok(world.reads() < 60, String(world.reads()));
  });

  it('creates routes of new Nodes from the last read, and deletes none', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    world.cloud.faults.add({ operation: 'routes.list', effect: { kind: 'error', status: 503 } });
    world.cluster.remove('a');
    world.add('b', [b4]);
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> a`, `${b4} -> b`]);
    world.cloud.faults.clear();
    await world.clock.advance(180_000);
    assert.deepEqual(world.table(), [`${b4} -> b`]);
  });

  it('changes no route while the table was never read', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    world.cloud.faults.add({ operation: 'routes.list', times: 5, effect: { kind: 'error', status: 503 } });
    await replica.start();
    await world.clock.advance(5000);
    assert.equal(world.mutations(), 0);
    assert.equal(world.network('a'), undefined);
    await world.clock.advance(180_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
  });

  it("tells a new Node the cloud's refusal to read the table by condition, event and gauge", async () => {
    const { world, replica: first } = begin();
    world.add('a', [a4]);
    await first.start();
    await world.clock.advance(5000);
    await first.stop();
    const refused = { kind: 'error', status: 403, code: 'forbidden' } as const;
    world.cloud.faults.add({ operation: 'routes.list', effect: refused });
    const next = world.routeReplica();
    await next.start();
    world.add('b', [b4]);
    await world.clock.advance(60_000);
    assert.deepEqual([world.network('a'), world.network('b')], ['False RouteCreated', 'True NoRouteCreated']);
    assert.match(
      world.cluster.condition('b', conditions.networkUnavailable)?.message ?? '',
      /^the routes of the cloud could not be read: .*403 forbidden/,
    );
    assert.deepEqual(
      next.base.events.map(({ reason, node }) => `${reason} ${node}`),
      ['FailedToCreateRoute b'],
    );
    const blocked = () => next.metric('mooring_routes_blocked', `{scope="${world.scope}",reason="NoRouteCreated"}`);
    assert.equal(await blocked(), 1);
    world.cloud.faults.clear();
    await world.clock.advance(180_000);
    assert.deepEqual([world.network('b'), await blocked()], ['False RouteCreated', 0]);
  });

  it('creates no route twice, and marks no Node, when a list leaves routes out', async () => {
    const { world, replica, events } = begin();
    world.addMany(5);
    await replica.start();
    await world.clock.advance(5000);
    const before = world.routes().map(({ id }) => id);
    replica.base.kube.forgetCalls();
    world.cloud.faults.add({ operation: 'routes.list', times: 1, effect: { kind: 'missing-items', count: 3 } });
    await world.clock.advance(400_000);
    assert.deepEqual(
      world.routes().map(({ id }) => id),
      before,
    );
    assert.deepEqual(replica.writes(), []);
    assert.equal(events().length, 0);
  });

  it('changes no Node when a whole list of routes comes back empty', async () => {
    const { world, replica } = begin();
    world.addMany(3);
    await replica.start();
    await world.clock.advance(5000);
    replica.base.kube.forgetCalls();
    world.cloud.faults.add({ operation: 'routes.list', times: 1, effect: { kind: 'missing-items', count: 100 } });
    world.cloud.faults.add({ operation: 'routes.create', times: 2, effect: { kind: 'silence' } });
    await world.clock.advance(900_000);
    assert.equal(world.routes().length, 3);
    assert.deepEqual(replica.writes(), []);
  });

  it('changes no Node while the credential sees nothing', async () => {
    const { world, replica, events } = begin();
    world.addMany(3);
    await replica.start();
    await world.clock.advance(5000);
    replica.base.kube.forgetCalls();
    world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
    await world.clock.advance(900_000);
    for (let at = 0; at < 3; at += 1) assert.equal(world.network(`n${at}`), 'False RouteCreated');
    assert.deepEqual(events(), []);
  });

  it('keeps the route of a Node that a stale cache leaves out when it has the range of a gone one', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    await replica.stopLeading();
    replica.base.kube.hold();
    world.cluster.remove('a');
    const vm = world.add('b', [a4]);
    world.loseRoutes();
    const tags = { 'mooring.dev/cluster': clusterUid };
    const spec = { destination: a4, instanceId: vm.id, description: '', tags, clientToken: undefined };
    world.cloud.network.routes.create(place, spec);
    await replica.start();
    await world.clock.advance(120_000);
    assert.deepEqual(world.table(), [`${a4} -> b`]);
    assert.equal(replica.base.nodes.get('b'), undefined, 'the cache is still stale');
    replica.base.kube.release();
  });
});
