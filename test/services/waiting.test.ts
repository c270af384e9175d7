import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { assertConverged } from './harness/converged.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

describe('the condition of a served Service', () => {
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    world = createWorld();
    replica = world.replica();
    world.node('n0');
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
  });
  afterEach(() => world.close());

  const shown = () => {
    const { status, reason, message } = world.services.condition('web')!;
    return `${status} ${reason}: ${message}`;
  };
  const ensured = 'True Ensured: the load balancer is as the Service asks';

  it('says which load balancer the cloud keeps changing, after five minutes, and says it once', async () => {
    const { id } = world.loadBalancerOf('web')!;
    await replica.stop();
    world.cloud.network.loadBalancers.setState(id, 'provisioning');
    replica = world.replica();
    await replica.start();
    world.node('n1');
    await world.clock.advance(240_000);
    assert.equal(shown(), ensured);
    await world.clock.advance(120_000);
    const late = 'for more than five minutes it could not be brought up to date';
    assert.equal(shown(), `False AwaitingCloud: ${late}; load balancer ${id}: the cloud is still changing it`);
    const { resourceVersion } = world.services.must('web').metadata;
    await world.clock.advance(3_600_000);
    assert.equal(world.services.must('web').metadata.resourceVersion, resourceVersion);
    assert.deepEqual(replica.reasons('web'), ['SyncLoadBalancerFailed']);
    world.cloud.network.loadBalancers.setState(id, 'active');
    await world.clock.advance(60_000);
    assert.equal(shown(), ensured);
    assertConverged(world, 'the cloud is done');
  });

  it('keeps the condition while the cloud is at work again and again, and accepts a call each time', async () => {
    await world.close();
    const step = { action: 'update', resource: 'pool', target: 'p', summary: 'set the pool' } as const;
    let isServed = false;
    let busyUntilMs = 0;
    world = createWorld({
      through: (loadBalancers) => ({
        ...loadBalancers,
        plan(desired) {
          const plan = loadBalancers.plan(desired);
          const leftMs = busyUntilMs - world.clock.monotonic();
          if (!isServed) return plan;
          return leftMs > 0 ? { ...plan, steps: [], waitMs: leftMs } : { ...plan, steps: [step] };
        },
        async apply(plan, options) {
          if (!isServed) return loadBalancers.apply(plan, options);
          busyUntilMs = world.clock.monotonic() + 60_000;
          options.onStep?.(step, true);
          const desired = plan.request.desired!;
          return loadBalancers.observe({ ...desired, id: undefined, attachTo: undefined });
        },
      }),
    });
    replica = world.replica();
    world.node('n0');
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
    isServed = true;
    world.node('n1');
    for (let minute = 0; minute < 20; minute += 1) {
      await world.clock.advance(60_000);
      assert.equal(shown(), ensured);
    }
  });

  it('counts no time of a refusal as waiting when the cloud is at work for a moment', async () => {
    await world.close();
    let is: 'served' | 'refused' | 'waiting' = 'served';
    world = createWorld({
      through: (loadBalancers) => ({
        ...loadBalancers,
        plan(desired) {
          const plan = loadBalancers.plan(desired);
          if (is === 'served') return plan;
          const refusal = { reason: 'Conflict', message: 'port 443 is held by another' } as const;
          return {
            ...plan,
            steps: [],
            ...(is === 'refused' ? { refusals: [refusal] } : { refusals: [], waitMs: 1000 }),
          };
        },
      }),
    });
    replica = world.replica();
    world.node('n0');
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
    is = 'refused';
    world.node('n1');
    await world.clock.advance(1_200_000);
    const refused = 'False Conflict: port 443 is held by another';
    assert.equal(shown(), refused);
    is = 'waiting';
    for (let second = 0; second < 310 && shown() === refused; second += 1) await world.clock.advance(1000);
    assert.match(shown(), /Provisioning: the cloud is still changing it/);
  });

  it('says after five minutes that the cloud puts every change off', async () => {
    const effect = { kind: 'error', status: 409, code: 'not-ready', retryAfterSeconds: 5 } as const;
    world.cloud.faults.add({ operation: 'pools.set-members', effect });
    world.node('n1');
    await world.clock.advance(240_000);
    assert.equal(shown(), ensured);
    await world.clock.advance(120_000);
    assert.match(shown(), /^False AwaitingCloud: for more than five minutes/);
    world.cloud.faults.clear();
    await world.clock.advance(60_000);
    assertConverged(world, 'the cloud is done');
  });

  it('says why a new leader cannot read the cloud, after five minutes', async () => {
    await replica.stop();
    world.cloud.faults.add({ operation: 'load-balancers.*', effect: { kind: 'error', status: 503 } });
    replica = world.replica();
    await replica.start();
    world.node('n1');
    await world.clock.advance(240_000);
    assert.equal(shown(), ensured);
    await world.clock.advance(120_000);
    assert.match(shown(), /^False AwaitingCloud: Unavailable: /);
    world.cloud.faults.clear();
    await world.clock.advance(120_000);
    assert.equal(shown(), ensured);
    assertConverged(world, 'the cloud answers');
  });
});
