import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import type { ObservedLoadBalancer } from '../../controller/clouds/load-balancers.ts';
import { assertConverged } from './harness/converged.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

describe('failures of Services', () => {
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    world = createWorld();
    replica = world.replica();
    world.node('n0');
    world.node('n1');
  });
  afterEach(() => world.close());

  const create = 'load-balancers.create';

  for (const status of [403, 404, 409, 500, 503]) {
    it(`shows a ${status} from the cloud and tries again with growing delays`, async () => {
      await replica.start();
      world.cloud.faults.add({ operation: create, effect: { kind: 'error', status }, times: 4 });
      world.services.create('web');
      await world.clock.advance(2000);
      const [tries] = [world.cloud.calls.total(create)];
      assert.equal(tries, 1);
      await world.clock.advance(20_000);
      assert.equal(world.services.condition('web')?.status, 'False');
      assert.ok(world.cloud.calls.total(create) <= 3, `${world.cloud.calls.total(create)} tries in 22 s`);
      await world.clock.advance(120_000);
      assertConverged(world, `after ${status}`);
    });
  }

  it('serves a change of the Service that the cache shows after our write of its addresses', async () => {
    await replica.start();
    world.services.create('web');
    await world.clock.advance(5000);
    const ports = (port: number) => world.services.patch('web', { spec: { ports: [{ port, protocol: 'TCP' }] } });
    let changed = false;
    replica.kube.intercept = ({ verb, path }) => {
      if (changed || verb !== 'patch' || !path.endsWith('/web/status')) return;
      changed = true;
      replica.kube.hold();
      ports(82);
    };
    ports(81);
    await world.clock.advance(5000);
    assert.ok(changed);
    replica.kube.release();
    await world.clock.advance(20_000);
    assert.deepEqual(
      world.loadBalancerOf('web')?.listeners.map(({ port }) => port),
      [82],
    );
    assertConverged(world, 'after the change');
  });

  it('starts with the shortest delay again after a success', async () => {
    await replica.start();
    world.cloud.faults.add({ operation: create, effect: { kind: 'error', status: 503 }, times: 4 });
    world.services.create('web');
    await world.clock.advance(120_000);
    assertConverged(world, 'after five tries');
    world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 503 }, times: 1 });
    world.services.patch('web', { spec: { ports: [{ port: 81, protocol: 'TCP' }] } });
    await world.clock.advance(12_000);
    assertConverged(world, 'after two tries');
  });

  for (const [status, afterMs] of [
    [422, 3000],
    [503, 20_000],
  ] as const)
    it(`answers a correction that fails with the same reason as before, ${status}, by its own message`, async () => {
      await replica.start();
      world.services.create('web');
      await world.clock.advance(2000);
      const port = (name: string, number: number) => ({ name, port: number, protocol: 'TCP' });
      const effect = { kind: 'error', status } as const;
      const said = () => [world.services.condition('web')?.message ?? '', replica.lastEvent('web') ?? ''];
      world.cloud.faults.add({ operation: 'listeners.create', effect });
      world.services.patch('web', { spec: { ports: [port('a', 80), port('b', 443)] } });
      await world.clock.advance(3_600_000);
      for (const text of said()) assert.match(text, /listener/);
      const [events] = [replica.reasons('web').length];
      world.cloud.faults.clear();
      world.cloud.faults.add({ operation: 'pools.update', effect });
      world.services.patch('web', { spec: { ports: [port('a', 80)], sessionAffinity: 'ClientIP' } });
      await world.clock.advance(afterMs);
      for (const text of said()) assert.match(text, /pool/);
      await world.clock.advance(3_600_000);
      const later = replica.reasons('web').slice(events);
      assert.deepEqual(later, ['SyncLoadBalancerFailed']);
    });

  /** Triggers changes of the members for ten minutes. Returns how often this was called in that time. */
  async function triesWithOtherNodes(operation: string): Promise<number> {
    const before = world.cloud.calls.total(operation);
    for (let change = 0; change < 300; change += 1) {
      world.node(`m${change}`);
      await world.clock.advance(2000);
    }
    return world.cloud.calls.total(operation) - before;
  }

  const twoPorts = [80, 443].map((port) => ({ name: `p${port}`, port, protocol: 'TCP' }));
  const refused = { kind: 'error', status: 422 } as const;

  it('adds a Node within a minute while another step fails for good, and tries once a minute for many', async () => {
    const failing = 'listeners.create';
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
    world.cloud.faults.add({ operation: failing, effect: refused });
    world.services.patch('web', { spec: { ports: twoPorts } });
    await world.clock.advance(30_000);
    world.node('n2');
    await world.clock.advance(60_000);
    assert.equal(world.loadBalancerOf('web')?.pools[0]?.members.length, 3);
    await world.clock.advance(3_600_000);
    const tries = await triesWithOtherNodes(failing);
    assert.ok(tries >= 9 && tries <= 11, `${tries} tries in ten minutes`);
    await world.clock.advance(60_000);
    assert.equal(world.loadBalancerOf('web')?.pools[0]?.members.length, 303);
    assert.equal(world.services.condition('web')?.reason, 'RefusedByCloud');
  });

  for (const [what, failing, effect] of [
    ['could not be created', create, refused],
    ['waits for a throttled call', 'listeners.create', { kind: 'throttle' }],
    ['waits for quota', 'listeners.create', { kind: 'error', status: 403, code: 'quota-exceeded' }],
  ] as const)
    it(`keeps the delay of a load balancer that ${what} while Nodes come`, async () => {
      await replica.start();
      world.services.create('web', { spec: { type: failing === create ? 'ClusterIP' : 'LoadBalancer' } });
      await world.clock.advance(2000);
      world.cloud.faults.add({ operation: failing, effect });
      world.services.patch('web', { spec: { type: 'LoadBalancer', ports: twoPorts } });
      await world.clock.advance(3_600_000);
      const tries = await triesWithOtherNodes(failing);
      assert.ok(tries >= 1 && tries <= 3, `${tries} tries in ten minutes`);
    });

  it('keeps the delay of a load balancer while Nodes of another cloud come', async () => {
    await world.close();
    world = createWorld({ regions: ['sim-1', 'sim-2'] });
    replica = world.replica();
    const failing = 'listeners.create';
    await replica.start();
    world.services.create('web', { annotations: { [annotations.cloud]: 'http://cloud/demo/sim-2' } });
    await world.clock.advance(2000);
    world.cloud.faults.add({ operation: failing, effect: refused });
    world.services.patch('web', { spec: { ports: twoPorts } });
    await world.clock.advance(3_600_000);
    const tries = await triesWithOtherNodes(failing);
    assert.ok(tries >= 1 && tries <= 3, `${tries} tries in ten minutes`);
  });

  it('tries other members no sooner than the cloud says', async () => {
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
    const operation = 'pools.set-members';
    world.cloud.faults.add({ operation, effect: { kind: 'throttle', retryAfterSeconds: 40 }, times: 1 });
    world.node('n2');
    await world.clock.advance(10_000);
    world.node('n3');
    await world.clock.advance(25_000);
    assert.equal(world.cloud.calls.total(operation), 1);
    await world.clock.advance(20_000);
    assert.equal(world.loadBalancerOf('web')?.pools[0]?.members.length, 4);
  });

  it('tries a change that the cloud accepts and never makes at growing intervals', async () => {
    await world.close();
    const step = { action: 'update', resource: 'pool', target: 'p', summary: 'set the pool' } as const;
    let tries = 0;
    let shown: ObservedLoadBalancer | undefined;
    world = createWorld({
      through: (loadBalancers) => ({
        ...loadBalancers,
        async observe({ owner }) {
          shown = {
            id: 'lb-1',
            name: 'x',
            owner,
            state: 'active',
            ingress: [{ ip: '192.0.2.1' }],
            members: [],
            attached: false,
            retained: false,
            createdAtMs: undefined,
            service: undefined,
          };
          return shown;
        },
        plan: (desired) => ({ ...loadBalancers.plan(desired), steps: [step], waitMs: undefined }),
        async apply() {
          tries += 1;
          return shown;
        },
      }),
    });
    replica = world.replica();
    world.services.create('web');
    await replica.start();
    await world.clock.advance(600_000);
    assert.ok(tries >= 4 && tries <= 10, `${tries} tries in ten minutes`);
    assert.match(world.services.condition('web')?.message ?? '', /set the pool: the cloud accepted the change/);
  });

  it('repeats a throttled call when the cloud says so, no sooner, without an event', async () => {
    await replica.start();
    world.cloud.faults.add({ operation: create, effect: { kind: 'throttle', retryAfterSeconds: 40 }, times: 1 });
    world.services.create('web');
    await world.clock.advance(39_000);
    assert.equal(world.cloud.calls.total(create), 1);
    await world.clock.advance(30_000);
    assertConverged(world, 'throttled once');
    assert.deepEqual(replica.reasons('web'), ['EnsuringLoadBalancer', 'EnsuredLoadBalancer']);
  });

  it('creates nothing again and keeps finalizers with a credential that sees nothing', async () => {
    await replica.start();
    world.services.create('stays');
    world.services.create('goes');
    await world.clock.advance(10_000);
    assertConverged(world, 'served');
    await replica.stop();
    world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
    const changes = world.mutationCount();
    const next = world.replica();
    await next.start();
    world.services.delete('goes');
    await world.clock.advance(1_200_000);
    assert.equal(world.mutationCount(), changes);
    assert.ok(world.services.must('goes').metadata.finalizers);
    assert.equal(world.services.condition('goes')?.reason, 'CredentialRefused');
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    await world.clock.advance(700_000);
    assertConverged(world, 'seen again');
    assert.equal(world.services.get('goes'), undefined);
    assert.equal(world.loadBalancers().length, 1);
  });

  it('draws no conclusion from the past of a credential that sees again during the check', async () => {
    await replica.start();
    world.services.create('stays');
    world.services.create('goes');
    await world.clock.advance(10_000);
    world.cloud.faults.add({ operation: 'instances.*', effect: { kind: 'latency', ms: 4000 } });
    world.cloud.credentials.setMode(world.cloud.credential, 'sees-nothing');
    world.services.delete('goes');
    await world.clock.advance(3000);
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    world.cloud.faults.clear();
    await world.clock.advance(120_000);
    assert.equal(world.services.get('goes'), undefined);
    assert.equal(world.loadBalancers().length, 1);
  });

  it('counts a missing resource as deleted after five minutes where no Node shows the visibility', async () => {
    await replica.start();
    world.services.create('web');
    await world.clock.advance(10_000);
    for (const name of world.cluster.names()) world.cluster.remove(name);
    await world.clock.advance(60_000);
    world.services.delete('web');
    await world.clock.advance(200_000);
    assert.ok(world.services.get('web'));
    await world.clock.advance(400_000);
    assert.equal(world.services.get('web'), undefined);
    assert.deepEqual(world.loadBalancers(), []);
  });

  it('shows a refused credential in the condition, not in many events', async () => {
    await replica.start();
    for (let index = 0; index < 5; index += 1) world.services.create(`s${index}`);
    world.cloud.faults.add({ operation: 'addresses.create', effect: { kind: 'error', status: 401 } });
    await world.clock.advance(600_000);
    assert.equal(world.services.condition('s0')?.reason, 'CredentialRefused');
    assert.deepEqual(
      replica.events.filter(({ reason }) => reason !== 'EnsuringLoadBalancer'),
      [],
    );
    world.cloud.faults.clear();
    await world.clock.advance(700_000);
    assertConverged(world, 'good again');
  });

  it('doubles nothing after a lost answer', async () => {
    await replica.start();
    for (const operation of ['addresses.create', create, 'load-balancers.delete', 'addresses.delete'])
      world.cloud.faults.add({ operation, effect: { kind: 'lost-answer' }, times: 1 });
    world.services.create('web');
    await world.clock.advance(60_000);
    assertConverged(world, 'answers lost');
    assert.equal(world.loadBalancers().length, 1);
    world.services.delete('web');
    await world.clock.advance(60_000);
    assertConverged(world, 'deleted, answers lost');
  });

  it('doubles nothing after a lost answer while lists lag behind', async () => {
    await replica.start();
    world.cloud.faults.add({ operation: 'load-balancers.list', effect: { kind: 'stale', ageMs: 3000 } });
    world.cloud.faults.add({ operation: 'load-balancers.find', effect: { kind: 'stale', ageMs: 3000 } });
    world.cloud.faults.add({ operation: 'addresses.list', effect: { kind: 'stale', ageMs: 3000 } });
    world.cloud.faults.add({ operation: create, effect: { kind: 'lost-answer' }, times: 1 });
    world.services.create('web');
    await world.clock.advance(60_000);
    assertConverged(world, 'answer lost, lists late');
    world.cloud.faults.add({ operation: create, effect: { kind: 'lost-answer' }, times: 1 });
    world.services.create('short');
    await world.clock.advance(100);
    world.services.delete('short');
    await world.clock.advance(120_000);
    assertConverged(world, 'deleted before its lists showed it');
  });

  for (const [what, deleted] of [
    ['deleted meanwhile', true],
    ['still wanted', false],
  ] as const) {
    it(`finds what a leader created in its last moment though searches show it late: ${what}`, async () => {
      const doomed = world.replica({ death: { call: 5, moment: 'unanswered' } });
      await doomed.start();
      world.services.create('web');
      await world.clock.advance(100);
      assert.match(doomed.life.calls.at(-1) ?? '', /POST .*load-balancers$/);
      assert.equal(world.loadBalancers().length, 1);
      if (deleted) world.services.delete('web');
      for (const operation of ['load-balancers.*', 'addresses.*'])
        world.cloud.faults.add({ operation, effect: { kind: 'stale', ageMs: 4500 } });
      await doomed.stop();
      await replica.start();
      await world.clock.advance(120_000);
      assertConverged(world, what);
      assert.equal(world.services.get('web') === undefined, deleted);
      // Sent again with the same token, it answers the one that is there.
      assert.ok(world.cloud.calls.total('load-balancers.create') <= 2);
      assert.equal(world.loadBalancers().length, deleted ? 0 : 1);
    });
  }

  it('plans a status write again on the current object after a conflict', async () => {
    await replica.start();
    let conflicts = 0;
    replica.kube.intercept = ({ verb, body }) => {
      if (verb !== 'patch' || !JSON.stringify(body).includes('ingress') || conflicts > 0) return;
      conflicts += 1;
      world.services.annotate('web', { 'example.com/other': 'x' });
    };
    world.services.create('web');
    await world.clock.advance(2000);
    assert.equal(conflicts, 1);
    assertConverged(world, 'conflict');
    assert.equal(world.services.must('web').metadata.annotations?.['example.com/other'], 'x');
  });

  it('leaves nothing of a Service that goes in the middle of its creation', async () => {
    await replica.start();
    world.cloud.faults.add({ operation: create, effect: { kind: 'latency', ms: 3000 }, times: 1 });
    world.services.create('web');
    await world.clock.advance(1000);
    world.services.patch('web', { metadata: { finalizers: null } });
    world.services.delete('web');
    await world.clock.advance(60_000);
    assertConverged(world, 'gone meanwhile');
    assert.equal(world.loadBalancers().length, 0);
  });

  it('waits for a cloud that is silent at the start, and says so on the waiting Services', async () => {
    world.cloud.faults.add({ operation: 'load-balancers.list', effect: { kind: 'error', status: 503 } });
    world.services.create('web');
    await replica.start();
    await world.clock.advance(60_000);
    assert.equal(world.services.condition('web')?.reason, 'AwaitingCloud');
    assert.deepEqual(world.mutations(), {});
    world.cloud.faults.clear();
    await world.clock.advance(70_000);
    assertConverged(world, 'it answers');
  });

  it('makes no writes on served Services when the cloud is down for minutes at a change of leader', async () => {
    await replica.start();
    for (let index = 0; index < 10; index += 1) world.services.create(`s${index}`);
    await world.clock.advance(5000);
    await replica.stop();
    world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 503 } });
    const next = world.replica();
    await next.start();
    await world.clock.advance(280_000);
    assert.deepEqual([next.kube.writes(), next.events], [[], []]);
    world.services.delete('s0');
    await world.clock.advance(20_000);
    assert.ok(world.services.get('s0'));
    world.cloud.faults.clear();
    await world.clock.advance(120_000);
    assertConverged(world, 'back');
  });

  it('keeps the finalizer after a failed deletion until the cloud says gone', async () => {
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
    world.cloud.faults.add({ operation: 'load-balancers.delete', effect: { kind: 'error', status: 500 }, times: 3 });
    world.services.delete('web');
    await world.clock.advance(12_000);
    assert.ok(world.services.must('web').metadata.finalizers);
    assert.equal(world.services.condition('web')?.reason, 'AwaitingCloud');
    await world.clock.advance(120_000);
    assertConverged(world, 'deleted in the end');
  });

  it('keeps the finalizer while the read that proves the deletion fails', async () => {
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
    world.cloud.faults.add({ operation: 'load-balancers.get', effect: { kind: 'error', status: 503 } });
    world.services.delete('web');
    await world.clock.advance(60_000);
    assert.equal(world.loadBalancers().length, 0);
    assert.ok(world.services.must('web').metadata.finalizers);
    world.cloud.faults.clear();
    await world.clock.advance(300_000);
    assert.equal(world.services.get('web'), undefined);
  });

  it('leaves out a member that the cloud refuses for five minutes, and serves the others', async () => {
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
    const poisoned = world.node('poisoned');
    world.cloud.model.forget(poisoned.id);
    const good = world.node('n9');
    await world.clock.advance(20_000);
    const members = () => world.loadBalancerOf('web')?.pools[0]?.members.map(({ instanceId }) => instanceId) ?? [];
    assert.ok(members().includes(good.id));
    assert.ok(!members().includes(poisoned.id));
    const shown = world.services.condition('web');
    assert.deepEqual([shown?.status, shown?.reason], ['True', 'MembersRefused']);
    assert.match(shown?.message ?? '', /poisoned/);
    assert.ok(replica.reasons('web').includes('LoadBalancerMembersRefused'));
    const calls = world.cloud.calls.total('pools.set-members');
    await world.clock.advance(250_000);
    assert.equal(world.cloud.calls.total('pools.set-members'), calls);
    await world.clock.advance(120_000);
    assert.ok(world.cloud.calls.total('pools.set-members') > calls);
  });

  it('tries again and reports a write that the API server refuses', async () => {
    await replica.start();
    const remove = world.core.faults.add({
      match: { verb: 'patch', userAgent: 'mooring' },
      effect: { kind: 'answer', status: 403 },
    });
    world.services.create('web');
    await world.clock.advance(60_000);
    assert.deepEqual(world.mutations(), {});
    assert.ok(replica.reasons('web').includes('SyncLoadBalancerFailed'));
    remove();
    await world.clock.advance(120_000);
    assertConverged(world, 'allowed again');
  });

  it('changes nothing for a wrong source range and names it', async () => {
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
    const before = world.mutationCount();
    world.services.annotate('web', { [annotations.sourceRanges]: '10.0.0.0/33' });
    await world.clock.advance(60_000);
    const shown = world.services.condition('web');
    assert.deepEqual([shown?.status, shown?.reason], ['False', 'InvalidSourceRanges']);
    assert.match(shown?.message ?? '', /10\.0\.0\.0\/33.*until it is corrected.*its members follow the Nodes/);
    assert.equal(world.mutationCount(), before);
    world.services.annotate('web', { [annotations.sourceRanges]: '10.0.0.0/8' });
    await world.clock.advance(2000);
    assertConverged(world, 'corrected');
  });

  it('names what the cloud cannot do and does the rest', async () => {
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
    world.services.annotate('web', { 'service.beta.kubernetes.io/simulated-load-balancer-tls': 'nonsense' });
    world.node('n9');
    await world.clock.advance(10_000);
    assert.equal(world.services.condition('web')?.reason, 'Unsupported');
    assert.equal(world.loadBalancerOf('web')?.pools[0]?.members.length, 3);
  });

  it('names a full account by a reason of its own', async () => {
    await replica.start();
    world.cloud.network.quotas.set('addresses', 1);
    world.services.create('a');
    world.services.create('b');
    await world.clock.advance(20_000);
    const reasons = ['a', 'b'].map((name) => world.services.condition(name)?.reason).sort();
    assert.deepEqual(reasons, ['Ensured', 'QuotaExceeded']);
  });
});
