import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { silentLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { seededRandom } from '../../common/process/random.ts';
import { WithheldError } from '../../controller/clouds/permit.ts';
import type { EventTarget, KubeEvent } from '../../controller/kube/event-sink.ts';
import { createListWatch } from '../../controller/kube/list-watch.ts';
import { type MemoryLease, memoryLeadership, memoryLease } from '../../controller/kube/testing/memory-leadership.ts';
import { createBudgetKeeper } from '../../controller/model/budget-keeper.ts';
import { type ServiceView, viewService } from '../../controller/model/service-view.ts';
import { orphanMetrics } from '../../controller/services/orphans/metrics.ts';
import { orphanLedgerKey } from '../../controller/services/orphans/orphan-ledger.ts';
import { createOrphanSweep } from '../../controller/services/orphans/orphan-sweep.ts';
import { openSimulated } from '../clouds/simulated/open.ts';
import { inProcessHttp } from '../kit/cloud/in-process.ts';
import { inProcessKube } from '../nodes/harness/kube-in-process.ts';
import { createWorld, type World } from './harness/world.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** A process that does nothing but sweep. */
function sweeper(world: World, lease: MemoryLease, options: { deleteOrphans?: boolean; budget?: number } = {}) {
  const { clock, core, cloud } = world;
  const api = inProcessKube(core, clock);
  const services = createListWatch<ServiceView>({
    api,
    path: '/api/v1/services',
    trim: (raw) => viewService(raw, () => false),
    clock,
    random: seededRandom(1),
    log: silentLog,
  });
  const opened = openSimulated({
    config: { endpoint: 'http://cloud', project: 'demo', region: 'sim-1', credential: { text: cloud.credential } },
    context: { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} },
    http: inProcessHttp(cloud.api, clock),
    credential: async () => cloud.credential,
  });
  const { loadBalancers } = opened;
  assert.ok(loadBalancers);
  const serving = { name: 'simulated', scope: opened.scope, loadBalancers };
  const events: { target: EventTarget; event: KubeEvent }[] = [];
  const registry = createMetricRegistry();
  const leadership = memoryLeadership(lease);
  const state = { paused: false, fenced: false };
  let seen: Awaited<ReturnType<typeof loadBalancers.observeAll>> | undefined;
  const sweep = createOrphanSweep(
    {
      api,
      clock,
      random: () => 0.5,
      log: silentLog,
      services,
      clouds: [serving],
      events: { emit: (target, event) => events.push({ target, event }) },
      metrics: registry.define(orphanMetrics),
      permit() {
        if (state.fenced) throw new WithheldError('Fenced', 'not sent: this replica does not lead');
      },
      paused: () => state.paused,
    },
    {
      cluster: async () => ({ uid: world.clusterUid, name: 'blue' }),
      observed: () => seen,
      leadership,
      budget: createBudgetKeeper({ limit: { count: options.budget ?? 10 }, windowMs: 600_000 }, leadership, clock),
      deleteOrphans: options.deleteOrphans ?? false,
    },
  );
  const stop = new AbortController();
  let auditing = true;
  return {
    api,
    events,
    state,
    sweep,
    async start() {
      services.start();
      await clock.advance(0);
      void (async () => {
        while (auditing) {
          seen = await loadBalancers.observeAll(world.clusterUid);
          await new Promise<void>((resolve) => clock.setTimer(600_000, resolve));
        }
      })();
      void sweep.lead(stop.signal);
      await clock.advance(61_000);
    },
    /** From now on the cache of Services hears nothing. */
    freeze: () => services.stop(),
    async gauge() {
      const line = (await registry.text())
        .split('\n')
        .find((each) => each.startsWith('mooring_orphaned_load_balancers{'));
      return line === undefined ? 0 : Number(line.slice(line.lastIndexOf(' ') + 1));
    },
    async stop() {
      auditing = false;
      stop.abort();
      await clock.advance(0);
      void services.stop();
      opened.close();
    },
  };
}

describe('the sweep of orphans', () => {
  let world: World;
  let lease: MemoryLease;
  let running: ReturnType<typeof sweeper>[];

  beforeEach(() => {
    world = createWorld({ deletingMs: 20_000 });
    lease = memoryLease();
    running = [];
  });
  afterEach(async () => {
    for (const each of running) await each.stop();
    await world.close();
  });

  async function begin(options: Parameters<typeof sweeper>[2] = {}) {
    const one = sweeper(world, lease, options);
    running.push(one);
    await one.start();
    return one;
  }

  /** A Service whose finalizer is stripped while no controller runs. */
  async function strip(...names: string[]): Promise<void> {
    const replica = world.replica();
    if (world.cluster.names().length === 0) world.node('n0');
    for (const name of names) world.services.create(name);
    await replica.start();
    await world.clock.advance(5000);
    await replica.stop();
    for (const name of names) {
      assert.ok(world.loadBalancerOf(name), `${name} has a load balancer`);
      world.services.patch(name, { metadata: { finalizers: null } });
      world.services.delete(name);
    }
    await world.clock.advance(700_000);
  }

  it('reports an orphan at once in an event, a metric and the ledger, and changes nothing', async () => {
    await strip('web');
    world.services.create('other', { spec: { type: 'ClusterIP' } });
    const before = world.mutationCount();
    const { events, gauge, sweep } = await begin();
    assert.equal(await gauge(), 1);
    assert.deepEqual(
      events.map(({ target, event }) => [target.kind, target.name, event.type, event.reason]),
      [['Namespace', 'kube-system', 'Warning', 'OrphanedLoadBalancer']],
    );
    assert.match(events[0]?.event.message ?? '', /default\/web \(uid .*does not exist/);
    assert.equal(sweep.orphans()[0]?.service, 'default/web');
    assert.ok(lease.annotations[orphanLedgerKey]);
    await world.clock.advance(3 * day);
    assert.equal(world.mutationCount(), before);
    assert.equal(events.length, 1);
    assert.equal(world.loadBalancers().length, 1);
  });

  it('finds none where every Service exists, without a list of Services', async () => {
    const replica = world.replica();
    world.node('n0');
    world.services.create('web');
    await replica.start();
    await world.clock.advance(700_000);
    const { api, gauge } = await begin();
    const lists = api.calls.length;
    await world.clock.advance(2 * hour);
    assert.equal(await gauge(), 0);
    assert.equal(api.calls.length, lists);
    assert.equal(lease.annotations[orphanLedgerKey], undefined);
  });

  it('takes no load balancer for an orphan because the cache lags behind', async () => {
    await strip('gone');
    const replica = world.replica();
    await replica.start();
    const one = sweeper(world, lease, { deleteOrphans: true });
    running.push(one);
    await one.start();
    await one.freeze();
    world.services.create('late');
    await world.clock.advance(2 * day);
    assert.ok(world.loadBalancerOf('late'));
    assert.equal(one.sweep.orphans().length, 0);
    assert.ok(!one.events.some(({ event }) => event.message.includes('default/late')));
  });

  it('deletes an orphan after a day with its address, and proves it', async () => {
    await strip('web');
    const { events, gauge } = await begin({ deleteOrphans: true });
    await world.clock.advance(23 * hour);
    assert.equal(world.loadBalancers().length, 1);
    await world.clock.advance(2 * hour);
    assert.equal(world.loadBalancers().length, 0);
    assert.equal(world.cloud.network.addresses.store.all().length, 0);
    assert.equal(events.at(-1)?.event.reason, 'DeletedOrphanedLoadBalancer');
    assert.equal(await gauge(), 0);
    assert.equal(lease.annotations[orphanLedgerKey], undefined);
  });

  it('reports no deletion of an orphan that stays for the sake of another Service', async () => {
    await strip('web');
    const { loadBalancers } = world.cloud.network;
    const [orphan] = world.loadBalancers();
    world.services.create('guest', { spec: { type: 'ClusterIP' } });
    const tags = {
      'mooring.dev/cluster': world.clusterUid,
      'mooring.dev/service-uid': world.services.must('guest').metadata.uid ?? '',
      'mooring.dev/service': 'default/guest',
    };
    for (const pool of orphan!.pools) Object.assign(pool, { tags });
    const { events } = await begin({ deleteOrphans: true });
    await world.clock.advance(26 * hour);
    assert.ok(loadBalancers.store.get(orphan!.id), 'the pool of the other Service is in it');
    assert.ok(!events.some(({ event }) => event.reason === 'DeletedOrphanedLoadBalancer'));
  });

  it('remembers across restarts when it first observed an orphan', async () => {
    await strip('web');
    const first = await begin({ deleteOrphans: true });
    await world.clock.advance(20 * hour);
    await first.stop();
    running = [];
    await world.clock.advance(3 * hour);
    await begin({ deleteOrphans: true });
    await world.clock.advance(0.5 * hour);
    assert.equal(world.loadBalancers().length, 1);
    await world.clock.advance(2 * hour);
    assert.equal(world.loadBalancers().length, 0);
  });

  it('trusts no wall clock that jumps', async () => {
    await strip('web');
    lease.annotations = { [orphanLedgerKey]: '' };
    const one = await begin({ deleteOrphans: true });
    await one.stop();
    running = [];
    world.clock.stepWall(2 * day);
    await begin({ deleteOrphans: true });
    await world.clock.advance(500_000);
    assert.equal(world.loadBalancers().length, 1);
  });

  it('deletes orphans within its budget, one at a time', async () => {
    await strip('a', 'b', 'c');
    await begin({ deleteOrphans: true, budget: 1 });
    await world.clock.advance(24 * hour - 60_000);
    const left: number[] = [];
    for (let look = 0; look < 5; look += 1) {
      await world.clock.advance(600_000);
      left.push(world.loadBalancers().length);
    }
    assert.equal(left.at(-1), 0);
    assert.ok(left.includes(2) && left.includes(1), `one at a time: ${left}`);
  });

  it('gives a new load balancer ten minutes to show its Service', async () => {
    const tags = {
      'mooring.dev/cluster': world.clusterUid,
      'mooring.dev/service-uid': 'x',
      'mooring.dev/service': 'a/b',
    };
    const parts = { families: ['IPv4' as const], addresses: [], pools: [], listeners: [], clientToken: undefined };
    world.cloud.network.loadBalancers.create('demo/sim-1', { name: 'young', tags, scheme: 'external', ...parts });
    const { gauge } = await begin();
    await world.clock.advance(500_000);
    assert.equal(await gauge(), 0);
    await world.clock.advance(900_000);
    assert.equal(await gauge(), 1);
  });

  it('leaves retained load balancers and those of another cluster alone', async () => {
    world.node('n0');
    const replica = world.replica();
    world.services.create('kept', { annotations: { 'mooring.dev/load-balancer-retain': 'true' } });
    await replica.start();
    await world.clock.advance(5000);
    world.services.delete('kept');
    await world.clock.advance(60_000);
    await replica.stop();
    assert.equal(world.services.get('kept'), undefined);
    world.cloud.network.loadBalancers.create('demo/sim-1', {
      name: 'theirs',
      tags: { 'mooring.dev/cluster': 'cluster-2', 'mooring.dev/service-uid': 'x', 'mooring.dev/service': 'a/b' },
      scheme: 'external',
      families: ['IPv4'],
      addresses: [],
      pools: [],
      listeners: [],
      clientToken: undefined,
    });
    const { gauge } = await begin({ deleteOrphans: true });
    await world.clock.advance(3 * day);
    assert.equal(await gauge(), 0);
    assert.equal(world.loadBalancers().length, 2);
  });

  it('deletes nothing while paused or without the lease', async () => {
    await strip('web');
    const { state } = await begin({ deleteOrphans: true });
    state.paused = true;
    await world.clock.advance(2 * day);
    assert.equal(world.loadBalancers().length, 1);
    state.paused = false;
    state.fenced = true;
    await world.clock.advance(hour);
    assert.equal(world.loadBalancers().length, 1);
    state.fenced = false;
    await world.clock.advance(hour);
    assert.equal(world.loadBalancers().length, 0);
  });

  it('keeps an orphan whose Service came back from a backup at the last moment', async () => {
    await strip('web');
    const one = await begin({ deleteOrphans: true });
    const uid = one.sweep.orphans()[0]?.uid ?? '';
    await world.clock.advance(23 * hour);
    // The list that decides shows it again; caches and the last sweep do not.
    one.api.intercept = undefined;
    const call = one.api.call.bind(one.api);
    one.api.call = async <T>(request: Parameters<typeof call>[0]): Promise<T> => {
      const answer = await call<{ items?: object[]; metadata: object }>(request);
      if (request.verb === 'list' && request.path === '/api/v1/services') {
        return {
          ...answer,
          items: [
            ...(answer.items ?? []),
            { metadata: { name: 'web', namespace: 'default', uid, resourceVersion: '1' } },
          ],
        } as T;
      }
      return answer as T;
    };
    await world.clock.advance(3 * hour);
    assert.equal(world.loadBalancers().length, 1);
    assert.deepEqual(one.sweep.orphans(), []);
  });

  it('waits while the Services cannot be read', async () => {
    await strip('web');
    const one = await begin({ deleteOrphans: true });
    await world.clock.advance(23 * hour);
    one.api.intercept = (call) => {
      if (call.verb === 'list') throw new Error('injected');
    };
    await world.clock.advance(3 * hour);
    assert.equal(world.loadBalancers().length, 1);
    one.api.intercept = undefined;
    await world.clock.advance(hour);
    assert.equal(world.loadBalancers().length, 0);
  });
});
