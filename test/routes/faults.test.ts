import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { a4, b4, routeStage } from './harness/route-stage.ts';

describe('pod routes while the cloud fails', () => {
  const begin = routeStage();

  it('creates a route once though the answer is lost', async () => {
    const { world, replica, creations } = begin();
    world.add('a', [a4]);
    world.cloud.faults.add({ operation: 'routes.create', times: 1, effect: { kind: 'lost-answer' } });
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.ok(creations() <= 2);
  });

  it('deletes a route though the answer is lost', async () => {
    const { world, replica } = begin();
    const vm = world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    world.cloud.faults.add({ operation: 'routes.delete', times: 1, effect: { kind: 'lost-answer' } });
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), []);
    assert.equal(await replica.metric('mooring_routes', `{scope="${world.scope}",state="surplus"}`), 0);
  });

  it('tries a route that cannot be created again with back-off, and says so once on the Node', async () => {
    const { world, replica, creations, events } = begin();
    world.add('a', [a4]);
    world.add('b', [b4]);
    world.cloud.faults.add({ operation: 'routes.create', effect: { kind: 'error', status: 500 } });
    await replica.start();
    await world.clock.advance(600_000);
    assert.equal(world.network('a'), 'True NoRouteCreated');
    assert.ok(events().filter((event) => event === 'FailedToCreateRoute a').length === 1, String(events()));
    assert.ok(creations() < 40, String(creations()));
    const writes = replica.writes().filter((write) => write.includes('/a/'));
    assert.equal(writes.length, 1);
    world.cloud.faults.clear();
    await world.clock.advance(150_000);
    assert.deepEqual(world.table(), [`${a4} -> a`, `${b4} -> b`]);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('waits as long as the cloud asks', async () => {
    const { world, replica, creations, events } = begin();
    world.addMany(20);
    world.cloud.faults.add({
      operation: 'routes.create',
      times: 4,
      effect: { kind: 'throttle', retryAfterSeconds: 20 },
    });
    await replica.start();
    await world.clock.advance(15_000);
    const early = creations();
    assert.ok(early <= 32, String(early));
    await world.clock.advance(120_000);
    assert.equal(world.routes().length, 20);
    for (let at = 0; at < 20; at += 1) assert.equal(world.network(`n${at}`), 'False RouteCreated');
    assert.equal(events().length, 0);
  });

  it('marks no routed Node while the cloud only throttles', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    replica.base.kube.forgetCalls();
    world.loseRoutes();
    const fault = world.cloud.faults.add({
      operation: 'routes.create',
      effect: { kind: 'throttle', retryAfterSeconds: 5 },
    });
    await world.clock.advance(400_000);
    assert.equal(world.network('a'), 'False RouteCreated');
    world.cloud.faults.remove(fault);
    await world.clock.advance(130_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.deepEqual(replica.writes(), []);
  });

  it('marks a Node only when its route is lost and cannot be created', async () => {
    const { world, replica, events } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    world.loseRoutes();
    world.cloud.faults.add({ operation: 'routes.create', effect: { kind: 'error', status: 403 } });
    await world.clock.advance(290_000);
    assert.equal(world.network('a'), 'False RouteCreated');
    await world.clock.advance(30_000);
    assert.equal(world.network('a'), 'True NoRouteCreated');
    assert.deepEqual(events(), ['FailedToCreateRoute a']);
    world.cloud.faults.clear();
    await world.clock.advance(130_000);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('marks a Node whose route is lost when every try to create it ends without an answer', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    world.loseRoutes();
    world.cloud.faults.add({ operation: 'routes.create', effect: { kind: 'silence' } });
    await world.clock.advance(600_000);
    assert.equal(world.network('a'), 'True NoRouteCreated');
  });

  it('reads the table again after a write to an outdated one, and marks no new Node for it', async () => {
    const { world, replica } = begin();
    await replica.start();
    await world.clock.advance(5000);
    const effect = { kind: 'error', status: 409, code: 'revision-mismatch' } as const;
    world.cloud.faults.add({ operation: 'routes.create', times: 1, effect });
    world.add('a', [a4]);
    await world.clock.advance(10_000);
    assert.equal(world.cloud.calls.total('routes.list'), 2);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.equal(replica.writes().length, 1);
  });

  it('creates the other routes while some cannot be created', async () => {
    const { world, replica } = begin({ concurrentRoutes: 2 });
    const vms = world.addMany(10);
    for (const { id } of vms.slice(0, 3)) world.cloud.model.terminate(id);
    await replica.start();
    await world.clock.advance(10_000);
    assert.equal(world.routes().length, 7);
  });

  it('deletes a route once to replace it, though its replacement fails at first', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    world.cloud.faults.add({ operation: 'routes.create', times: 2, effect: { kind: 'error', status: 403 } });
    world.cluster.remove('a');
    world.add('b', [a4]);
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> b`]);
    assert.equal(world.cloud.calls.total('routes.delete'), 1);
  });

  it('says on the Node what a full table says though it told no quota', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    world.cloud.faults.add({
      operation: 'routes.create',
      times: 3,
      effect: { kind: 'error', status: 403, code: 'quota-exceeded' },
    });
    await replica.start();
    await world.clock.advance(30_000);
    const blocked = () => replica.metric('mooring_routes_blocked', `{scope="${world.scope}",reason="QuotaExceeded"}`);
    assert.deepEqual([world.network('a'), await blocked()], ['True QuotaExceeded', 1]);
    await world.clock.advance(200_000);
    assert.deepEqual([world.network('a'), await blocked()], ['False RouteCreated', 0]);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
  });
});
