import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { silentLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { seededRandom } from '../../common/process/random.ts';
import { type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import { metricValue } from '../../common/testing/metric-value.ts';
import { annotations } from '../../common/well-known.ts';
import { createListWatch } from '../../controller/kube/list-watch.ts';
import { viewService } from '../../controller/model/service-view.ts';
import { serviceMetrics } from '../../controller/services/metrics.ts';
import { createUnservedTask } from '../../controller/services/unserved/unserved-task.ts';
import { createKubeApiCore } from '../kit/kube-api/kube-api-core.ts';
import { inProcessKube } from '../nodes/harness/kube-in-process.ts';
import { type ServiceBook, serviceBook } from './harness/service-book.ts';

const why = { reason: 'Unsupported', message: 'no configured cloud has load balancers: gce (report-only)' } as const;
const finalizers = ['service.kubernetes.io/load-balancer-cleanup'];

describe('Services that no configured cloud serves', () => {
  let clock: FakeClock;
  let services: ServiceBook;
  let events: string[];
  let running: Awaited<ReturnType<typeof leader>>;
  let core: ReturnType<typeof createKubeApiCore>;

  async function leader(cause: typeof why | undefined, loadBalancerClasses: readonly string[] = []) {
    const random = seededRandom(1);
    const common = { clock, random, log: silentLog };
    const api = inProcessKube(core, clock);
    const registry = createMetricRegistry();
    const cache = createListWatch({
      api,
      path: '/api/v1/services',
      trim: (raw: unknown) => viewService(raw, () => false),
      ...common,
    });
    const state = { paused: false };
    const task = createUnservedTask(
      {
        api,
        services: cache,
        ...common,
        metrics: registry.define(serviceMetrics),
        paused: () => state.paused,
        events: { emit: ({ name }, { reason, message }) => void events.push(`${name} ${reason} ${message}`) },
      },
      { why: cause, loadBalancerClasses },
    );
    const stop = new AbortController();
    cache.start();
    const done = task.lead(stop.signal);
    await clock.advance(0);
    return {
      api,
      state,
      gauge: (name: string, labels?: string) => metricValue(registry, name, labels),
      async stop() {
        stop.abort();
        await clock.advance(0);
        await done;
        void cache.stop();
        await clock.advance(0);
      },
    };
  }

  beforeEach(async () => {
    clock = fakeClock(undefined, 4);
    core = createKubeApiCore({ clock, random: seededRandom(2) });
    services = serviceBook(core);
    events = [];
    running = await leader(why);
  });
  afterEach(() => running.stop());

  it('gives a Service that no cloud serves a condition, an event and a count after a minute', async () => {
    services.create('web');
    await clock.advance(59_000);
    assert.equal(services.condition('web'), undefined);
    await clock.advance(2000);
    assert.partialDeepStrictEqual(services.condition('web'), { status: 'False', ...why });
    assert.deepEqual(events, [`web SyncLoadBalancerFailed Unsupported: ${why.message}`]);
    assert.equal(await running.gauge('mooring_services', '{reason="Unsupported"}'), 1);
  });

  it('tells a Service once that no cloud serves it: a new leader writes and says nothing more', async () => {
    services.create('web');
    await clock.advance(61_000);
    await running.stop();
    running = await leader(why);
    await clock.advance(600_000);
    assert.deepEqual([events.length, running.api.writes()], [1, []]);
    assert.equal(await running.gauge('mooring_services', '{reason="Unsupported"}'), 1);
  });

  it('leaves a Service alone that another controller gives an address within the minute', async () => {
    services.create('web');
    await clock.advance(30_000);
    services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } });
    await clock.advance(600_000);
    assert.equal(services.condition('web'), undefined);
    assert.deepEqual([events, running.api.writes()], [[], []]);
  });

  it('removes the condition when another controller gives an address later', async () => {
    services.create('web');
    await clock.advance(61_000);
    services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } });
    await clock.advance(1000);
    assert.equal(services.condition('web'), undefined);
    assert.equal(await running.gauge('mooring_services', '{reason="Unsupported"}'), 0);
  });

  it('removes the condition when the Service asks for no load balancer any more', async () => {
    services.create('web');
    await clock.advance(61_000);
    services.patch('web', { spec: { type: 'ClusterIP' } });
    await clock.advance(1000);
    assert.equal(services.condition('web'), undefined);
  });

  it('says where the load balancer stands that keeps a deleted Service', async () => {
    services.create('web', { finalizers, annotations: { [annotations.loadBalancer]: 'aws/eu-1/42 lb-1' } });
    services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } });
    await clock.advance(61_000);
    assert.equal(services.condition('web'), undefined);
    services.delete('web');
    await clock.advance(61_000);
    assert.partialDeepStrictEqual(services.condition('web'), { status: 'False', reason: 'ScopeNotServed' });
    assert.match(services.condition('web')!.message, /aws\/eu-1\/42/);
    assert.deepEqual(services.must('web').metadata.finalizers, finalizers);
  });

  it('leaves a Service alone while it or everything is paused', async () => {
    running.state.paused = true;
    services.create('web');
    services.create('paused', { annotations: { [annotations.paused]: 'true' } });
    await clock.advance(120_000);
    assert.deepEqual(running.api.writes(), []);
    running.state.paused = false;
    await clock.advance(70_000);
    assert.equal(services.condition('web')?.reason, 'Unsupported');
    assert.equal(services.condition('paused'), undefined);
  });

  it('writes an event but no condition while the class is left to a controller that gave no address', async () => {
    services.create('web', { spec: { loadBalancerClass: 'example.com/other' } });
    services.create('served', { spec: { loadBalancerClass: 'example.com/other' } });
    services.patchStatus('served', { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } });
    for (const cause of [why, undefined]) {
      await running.stop();
      events = [];
      running = await leader(cause);
      await clock.advance(600_000);
      assert.equal(events.length, 1);
      assert.match(events[0]!, /^web OtherLoadBalancerClass spec.loadBalancerClass example.com\/other is left to/);
      assert.deepEqual(running.api.writes(), []);
      assert.equal(await running.gauge('mooring_services_of_other_class'), 1);
    }
    services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '192.0.2.2' }] } } });
    await clock.advance(1000);
    assert.equal(await running.gauge('mooring_services_of_other_class'), 0);
  });

  it('says nothing about Services, with a class of ours or without, where a cloud serves', async () => {
    await running.stop();
    running = await leader(undefined, ['example.com/ours']);
    services.create('web', { spec: { loadBalancerClass: 'example.com/ours' } });
    services.create('plain');
    await clock.advance(600_000);
    assert.deepEqual([events, running.api.writes()], [[], []]);
  });
});
