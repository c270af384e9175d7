import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { admin } from '../sandbox/kube/auth/user.ts';
import {
  clusterUid,
  createRouteWorld,
  place,
  type RouteReplica,
  type RouteWorld,
  type RouteWorldOptions,
} from './harness/route-world.ts';

const a4 = '10.244.0.0/24';
const b4 = '10.244.1.0/24';

describe('pod routes while the cloud fails', () => {
  let world: RouteWorld;
  let replica: RouteReplica;

  function begin(options: RouteWorldOptions = {}): void {
    world = createRouteWorld(options);
    replica = world.routeReplica();
  }
  afterEach(() => world.close());

  const creations = () => world.cloud.calls.total('routes.create');
  const events = () => replica.base.events.map(({ reason, node }) => `${reason} ${node}`);

  it('are made exactly once though the answer is lost', async () => {
    begin();
    world.add('a', [a4]);
    world.cloud.faults.add({ operation: 'routes.create', times: 1, effect: { kind: 'lost-answer' } });
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.ok(creations() <= 2);
  });

  it('are removed though the answer is lost', async () => {
    begin();
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

  it('that cannot be made are tried again with back-off; the Node says so once, and says when they are', async () => {
    begin();
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

  it('are not doubted because the table cannot be read', async () => {
    begin();
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

  it('of new Nodes are made from what is known while the table cannot be read; none is removed', async () => {
    begin();
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

  it('are not touched while the table was never read', async () => {
    begin();
    world.add('a', [a4]);
    world.cloud.faults.add({ operation: 'routes.list', times: 5, effect: { kind: 'error', status: 503 } });
    await replica.start();
    await world.clock.advance(5000);
    assert.equal(world.mutations(), 0);
    assert.equal(world.network('a'), undefined);
    await world.clock.advance(180_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
  });

  it('that a list leaves out are made again, which shows that they are there: nothing is doubled, no Node is marked', async () => {
    begin();
    for (let at = 0; at < 5; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
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

  it('flip no Node when a whole list comes out empty', async () => {
    begin();
    for (let at = 0; at < 3; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
    await replica.start();
    await world.clock.advance(5000);
    replica.base.kube.forgetCalls();
    world.cloud.faults.add({ operation: 'routes.list', times: 1, effect: { kind: 'missing-items', count: 100 } });
    world.cloud.faults.add({ operation: 'routes.create', times: 2, effect: { kind: 'silence' } });
    await world.clock.advance(900_000);
    assert.equal(world.routes().length, 3);
    assert.deepEqual(replica.writes(), []);
  });

  it('flip no Node while the credential is one that sees nothing', async () => {
    begin();
    for (let at = 0; at < 3; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
    await replica.start();
    await world.clock.advance(5000);
    replica.base.kube.forgetCalls();
    world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
    await world.clock.advance(900_000);
    for (let at = 0; at < 3; at += 1) assert.equal(world.network(`n${at}`), 'False RouteCreated');
    assert.deepEqual(events(), []);
  });

  it('keep the route of a Node that a stale cache does not know: another has its range there', async () => {
    begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    await replica.stopLeading();
    replica.base.kube.hold();
    world.cluster.remove('a');
    const vm = world.add('b', [a4]);
    for (const { id } of world.routes()) world.cloud.network.routes.delete(id);
    const tags = { 'mooring.dev/cluster': clusterUid };
    const spec = { destination: a4, instanceId: vm.id, description: '', tags, clientToken: undefined };
    world.cloud.network.routes.create(place, spec);
    await replica.start();
    await world.clock.advance(120_000);
    assert.deepEqual(world.table(), [`${a4} -> b`]);
    replica.base.kube.release();
  });

  it('wait as long as the cloud asks', async () => {
    begin();
    for (let at = 0; at < 20; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
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

  it('mark no Node that said it was routed while the cloud only asks for patience', async () => {
    begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    replica.base.kube.forgetCalls();
    for (const { id } of world.routes()) world.cloud.network.routes.delete(id);
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

  it('mark a Node whose route is lost and cannot be made, and only then', async () => {
    begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    for (const { id } of world.routes()) world.cloud.network.routes.delete(id);
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

  it('mark a Node whose route is lost when every try to make it ends without an answer', async () => {
    begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    for (const { id } of world.routes()) world.cloud.network.routes.delete(id);
    world.cloud.faults.add({ operation: 'routes.create', effect: { kind: 'silence' } });
    await world.clock.advance(600_000);
    assert.equal(world.network('a'), 'True NoRouteCreated');
  });

  it('one bad route keeps no other from being made', async () => {
    begin({ concurrentRoutes: 2 });
    const vms = Array.from({ length: 10 }, (_, at) => world.add(`n${at}`, [`10.244.${at}.0/24`]));
    for (const { id } of vms.slice(0, 3)) world.cloud.model.terminate(id);
    await replica.start();
    await world.clock.advance(10_000);
    assert.equal(world.routes().length, 7);
  });

  it('made for a Node that went meanwhile are removed again at once', async () => {
    begin();
    await replica.start();
    world.cloud.faults.add({ operation: 'routes.create', effect: { kind: 'latency', ms: 5000 } });
    world.add('a', [a4]);
    await world.clock.advance(1000);
    world.cluster.remove('a');
    await world.clock.advance(3000);
    assert.deepEqual(world.table(), []);
    await world.clock.advance(20_000);
    assert.equal(creations(), 1);
    assert.deepEqual(world.table(), []);
  });

  it('of a Node that comes back during the last look are not removed', async () => {
    begin();
    const vm = world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    const mutations = world.mutations();
    world.cloud.faults.add({ operation: 'instances.*', effect: { kind: 'latency', ms: 3000 } });
    world.cluster.remove('a');
    await world.clock.advance(2000);
    world.cluster.register('a', { tainted: false, providerID: `simulated://sim-1/${vm.id}` });
    world.setPodCIDRs('a', [a4]);
    await world.clock.advance(60_000);
    assert.equal(world.mutations(), mutations);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('that wait their turn to be removed stay when the Node comes back', async () => {
    begin({ concurrentRoutes: 1, budget: '10/10m' });
    const vms = ['a', 'b'].map((name, at) => ({ name, range: [a4, b4][at]!, vm: world.add(name, [[a4, b4][at]!]) }));
    await replica.start();
    await world.clock.advance(60_000);
    const before = world.routes().map(({ id }) => id);
    world.cloud.faults.add({ operation: 'routes.delete', effect: { kind: 'latency', ms: 1000 } });
    for (const { name } of vms) world.cluster.remove(name);
    // The first removal begins after the debounce and takes a second; the second one would begin right after it.
    await world.clock.advance(1100);
    for (const { name, vm, range } of vms) {
      world.cluster.register(name, { tainted: false, providerID: `simulated://sim-1/${vm.id}` });
      world.setPodCIDRs(name, [range]);
    }
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> a`, `${b4} -> b`]);
    assert.equal(world.cloud.calls.total('routes.delete'), 1);
    assert.equal(world.routes().filter(({ id }) => before.includes(id)).length, 1);
  });

  it('that were removed to be made anew are not removed a second time', async () => {
    begin();
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

  it('follow an address at the next look, which comes at once', async () => {
    begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    const reads = world.reads();
    const { addresses = [] } = world.cluster.mustNode('a').status;
    world.core.handle({
      method: 'PATCH',
      path: '/api/v1/nodes/a/status',
      query: new URLSearchParams(),
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ status: { addresses: [...addresses, { type: 'InternalIP', address: '10.9.9.9' }] } }),
      user: admin,
    });
    await world.clock.advance(15_000);
    assert.equal(world.reads(), reads + 1);
  });

  it('do not remove what took their place since the last look', async () => {
    begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    const other = world.cloud.model.create({ name: 'router' });
    for (const { id } of world.routes()) world.cloud.network.routes.delete(id);
    world.foreignRoute(a4, other);
    world.cluster.remove('a');
    await world.clock.advance(400_000);
    assert.deepEqual(world.table(), [`${a4} -> router`]);
  });

  it('say on the Node what a full table says though it told no quota', async () => {
    begin();
    world.add('a', [a4]);
    world.cloud.faults.add({
      operation: 'routes.create',
      times: 3,
      effect: { kind: 'error', status: 403, code: 'quota-exceeded' },
    });
    await replica.start();
    await world.clock.advance(30_000);
    assert.equal(world.network('a'), 'True QuotaExceeded');
    await world.clock.advance(200_000);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.deepEqual(world.table(), [`${a4} -> a`]);
  });

  it('survive a Kubernetes API that refuses the condition: it is written when it can be', async () => {
    begin();
    world.add('a', [a4]);
    let broken = true;
    replica.base.kube.intercept = (call) => {
      if (broken && call.verb === 'patch') throw new Error('injected');
    };
    await replica.start();
    await world.clock.advance(30_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), undefined);
    broken = false;
    await world.clock.advance(120_000);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.equal(creations(), 1);
  });

  it('a heartbeat in between costs one more read, not a lost condition', async () => {
    begin();
    world.add('a', [a4]);
    let beats = 0;
    replica.base.kube.intercept = (call) => {
      if (call.verb === 'patch' && beats < 1) {
        beats += 1;
        world.cluster.heartbeat('a');
      }
    };
    await replica.start();
    await world.clock.advance(5000);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.equal(replica.writes().length, 2);
  });

  it('stop within two seconds when a person pauses everything in the middle', async () => {
    begin({ concurrentRoutes: 1 });
    for (let at = 0; at < 50; at += 1) world.add(`n${at}`, [`10.244.${at}.0/24`]);
    world.cloud.faults.add({ operation: 'routes.create', effect: { kind: 'latency', ms: 100 } });
    await replica.start();
    await world.clock.advance(1500);
    replica.base.paused = true;
    await world.clock.advance(2000);
    const [made, writes] = [creations(), replica.writes().length];
    assert.ok(made > 5 && made < 50);
    await world.clock.advance(600_000);
    assert.deepEqual([creations(), replica.writes().length], [made, writes]);
    replica.base.paused = false;
    await world.clock.advance(20_000);
    assert.equal(world.routes().length, 50);
  });

  it('stop for a Node that is paused while its route waits to be tried again', async () => {
    begin();
    world.add('a', [a4]);
    world.cloud.faults.add({ operation: 'routes.create', effect: { kind: 'error', status: 500 } });
    await replica.start();
    await world.clock.advance(10_000);
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: 'true' } } });
    await world.clock.advance(1000);
    const made = creations();
    world.cloud.faults.clear();
    await world.clock.advance(600_000);
    assert.equal(creations(), made);
    assert.deepEqual(world.table(), []);
  });
});
