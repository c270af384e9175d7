import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { CloudError } from '../common/cloud-error.ts';
import type { Instance, Notice } from '../common/instance.ts';
import { sleep } from '../common/process/clock.ts';
import { silentLog } from '../common/process/log.ts';
import { createMetricRegistry } from '../common/process/metrics.ts';
import { fakeClock } from '../common/testing/fake-clock.ts';
import type { LocalInterface, MetadataSource } from './metadata/source.ts';
import { agentMetrics } from './metrics.ts';
import { observe } from './observe.ts';

function instanceAt(...addresses: readonly string[]): Instance {
  const typed = addresses.map((address) => ({ type: 'InternalIP' as const, address }));
  return { cloud: 'test', id: 'i-1', providerID: 'test://i-1', addresses: typed };
}

const outage = new CloudError({ cloud: 'test', operation: 'GET /', kind: 'Unavailable', message: 'status 503' });

/** An observer on a fake clock, with half-way randomness, so that jitter is none. */
function start(
  context: TestContext,
  extra: Partial<MetadataSource> = {},
  next: () => Promise<Instance> = async () => instanceAt('10.0.0.7'),
) {
  const clock = fakeClock();
  const registry = createMetricRegistry();
  const reads: number[] = [];
  const changes: number[] = [];
  const state: { next: () => Promise<Instance>; interfaces: LocalInterface[] } = {
    next,
    interfaces: [{ name: 'eth0', mac: '0a', addresses: ['10.0.0.7'] }],
  };
  const stop = new AbortController();
  context.after(() => stop.abort());
  const source: MetadataSource = {
    cloud: 'test',
    read(signal) {
      reads.push(clock.monotonic());
      return Promise.race([
        state.next(),
        new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => reject(new CloudError({ ...outageDetails, kind: 'Timeout' })), {
            once: true,
          });
        }),
      ]);
    },
    ...extra,
  };
  const observer = observe(
    {
      source,
      clock,
      random: () => 0.5,
      log: silentLog,
      metrics: registry.define(agentMetrics),
      pollIntervalMs: 60_000,
      interfaces: () => state.interfaces,
      onChange: () => changes.push(clock.monotonic()),
    },
    stop.signal,
  );
  return { clock, observer, reads, changes, state, stop, registry };
}

const outageDetails = { cloud: 'test', operation: 'GET /', message: 'status 503' };

test('reads at start and every poll interval, and reports only changes', async (context) => {
  const { clock, observer, reads, changes, state } = start(context);
  await clock.advance(0);
  assert.deepEqual(observer.current().instance, instanceAt('10.0.0.7'));
  await clock.advance(120_000);
  assert.deepEqual(reads, [0, 60_000, 120_000]);
  assert.deepEqual(changes, [0]);
  state.next = async () => instanceAt('10.0.0.7', '10.0.0.8');
  await clock.advance(60_000);
  assert.deepEqual(changes, [0, 180_000]);
});

test('keeps the last observation through failures, with their count and its age', async (context) => {
  const { clock, observer, changes, state } = start(context);
  await clock.advance(60_000);
  state.next = async () => Promise.reject(outage);
  await clock.advance(60_000);
  const { instance, metadata } = observer.current();
  assert.deepEqual(instance, instanceAt('10.0.0.7'));
  assert.equal(metadata.ok, false);
  assert.equal(metadata.ageSeconds, 60);
  assert.equal(metadata.failures, 1);
  assert.match(metadata.error ?? '', /status 503/);
  assert.equal(changes.length, 2, 'the failure is news');
  await clock.advance(30_000);
  assert.ok(observer.current().metadata.failures > 1);
  assert.ok(observer.current().metadata.ageSeconds >= 90);
  assert.equal(changes.length, 2, 'further failures are none');
  state.next = async () => instanceAt('10.0.0.7');
  await clock.advance(60_000);
  assert.deepEqual(observer.current().metadata, { ok: true, ageSeconds: 0, failures: 0 });
  assert.equal(changes.length, 3);
});

test('a service that never answered has the age of the observer', async (context) => {
  const { clock, observer } = start(context, {}, () => new Promise(() => {}));
  await clock.advance(15_000);
  assert.equal(observer.current().metadata.ageSeconds, 15);
  await clock.advance(60_000);
  const { ageSeconds, failures } = observer.current().metadata;
  assert.deepEqual([ageSeconds, failures > 0], [75, true]);
});

test('retries after failures with growing pauses, up to the poll interval', async (context) => {
  const { clock, reads } = start(context, {}, async () => Promise.reject(outage));
  await clock.advance(200_000);
  assert.deepEqual(reads.slice(0, 8), [0, 1000, 3000, 7000, 15_000, 31_000, 63_000, 123_000]);
});

test('a service that asks for a pause is not called during it', async (context) => {
  const throttled = new CloudError({ ...outageDetails, kind: 'Throttled', retryAfterMs: 40_000 });
  const { clock, reads } = start(context, {}, async () => Promise.reject(throttled));
  await clock.advance(79_000);
  assert.deepEqual(reads, [0, 40_000]);
});

test('a hint does not shorten a pause that the service asks for', async (context) => {
  const throttled = new CloudError({ ...outageDetails, kind: 'Throttled', retryAfterMs: 40_000 });
  const { clock, observer, reads } = start(context, {}, async () => Promise.reject(throttled));
  await clock.advance(10_000);
  observer.hint('asked');
  await clock.advance(29_000);
  assert.deepEqual(reads, [0]);
  await clock.advance(1000);
  assert.deepEqual(reads, [0, 40_000]);
});

test('shows no instance before the first success, and reports the failure', async (context) => {
  const { clock, observer, changes } = start(context, {}, async () => Promise.reject(outage));
  await clock.advance(0);
  assert.equal(observer.current().instance, undefined);
  assert.deepEqual(changes, [0]);
  assert.equal(observer.current().metadata.ok, false);
});

test('a hint reads at once, then every 15 seconds for two minutes', async (context) => {
  const { clock, observer, reads } = start(context);
  await clock.advance(10_000);
  observer.hint('asked');
  await clock.advance(170_000);
  assert.deepEqual(
    reads,
    [0, 10, 25, 40, 55, 70, 85, 100, 115, 130, 190].slice(0, 10).map((seconds) => seconds * 1000),
  );
});

test('a change of local interfaces is a hint, never the data', async (context) => {
  const { clock, observer, reads, state } = start(context);
  await clock.advance(5000);
  assert.deepEqual(reads, [0]);
  state.interfaces = [{ name: 'eth0', mac: '0a', addresses: ['10.0.0.7', '10.0.0.99'] }];
  await clock.advance(5000);
  assert.deepEqual(reads, [0, 8000]);
  assert.deepEqual(observer.current().instance, instanceAt('10.0.0.7'));
});

test('interfaces that cannot be read for a while end neither their checks nor those of notices', async (context) => {
  let looks = 0;
  const noNotices = async (): Promise<readonly Notice[]> => {
    looks += 1;
    return [];
  };
  const { clock, reads, state } = start(context, { notices: noNotices });
  const { interfaces } = state;
  const broken = () => {
    throw new Error('too many open files');
  };
  Object.defineProperty(state, 'interfaces', { configurable: true, get: broken });
  await clock.advance(9000);
  const before = looks;
  assert.ok(before >= 2);
  Object.defineProperty(state, 'interfaces', { value: [...interfaces, { name: 'eth1', mac: '0b', addresses: [] }] });
  await clock.advance(5000);
  assert.ok(looks > before);
  assert.equal(reads.length, 2);
});

test('a hint during a read is not lost', async (context) => {
  const gate = Promise.withResolvers<Instance>();
  const { clock, observer, reads } = start(context, {}, () => gate.promise);
  await clock.advance(100);
  observer.hint('asked');
  gate.resolve(instanceAt('10.0.0.7'));
  await clock.advance(100);
  assert.equal(reads.length, 2);
});

test('a long poll that returns is followed by a read, one that fails by a pause', async (context) => {
  let release = Promise.withResolvers<void>();
  let waits = 0;
  const { clock, reads } = start(context, {
    async waitForChange() {
      waits += 1;
      await release.promise;
    },
  });
  await clock.advance(10_000);
  const first = release;
  release = Promise.withResolvers();
  first.resolve();
  await clock.advance(5000);
  assert.deepEqual(reads, [0, 10_000]);
  assert.equal(waits, 2);
  const second = release;
  release = Promise.withResolvers();
  second.reject(outage);
  await clock.advance(500);
  assert.equal(waits, 2);
  await clock.advance(1000);
  assert.equal(waits, 3);
  assert.equal(reads.length, 2);
});

test('long polls that end at once do not loop without delay', async (context) => {
  const { clock, reads } = start(context, { waitForChange: async () => {} });
  await clock.advance(10_000);
  assert.ok(reads.length <= 12, `${reads.length} reads in ten seconds`);
});

test('polls announcements while waiting for changes fails', async (context) => {
  let announced: readonly Notice[] = [];
  let waiting: () => Promise<void> = () => Promise.reject(outage);
  const looks: number[] = [];
  const { clock, observer } = start(context, {
    waitForChange: () => waiting(),
    async notices() {
      looks.push(clock.monotonic());
      return announced;
    },
  });
  await clock.advance(30_000);
  announced = [{ kind: 'preemption' }];
  await clock.advance(4000);
  assert.deepEqual(observer.current().notices, announced);
  waiting = () => sleep(clock, 20_000);
  await clock.advance(120_000);
  looks.length = 0;
  await clock.advance(19_000);
  assert.ok(looks.length <= 2, `asked ${looks.length} times though the service tells by itself`);
});

test('changed notices are reported; if only they cannot be read, the old ones stay', async (context) => {
  let announced: () => Promise<Notice[]> = async () => [];
  const { clock, observer, changes, state } = start(context, { notices: () => announced() });
  await clock.advance(0);
  announced = async () => [{ kind: 'preemption' }];
  await clock.advance(60_000);
  assert.deepEqual(observer.current().notices, [{ kind: 'preemption' }]);
  assert.equal(changes.length, 2);
  announced = async () => Promise.reject(outage);
  state.next = async () => instanceAt('10.0.0.9');
  await clock.advance(60_000);
  assert.deepEqual(observer.current().notices, [{ kind: 'preemption' }]);
  assert.deepEqual(observer.current().instance, instanceAt('10.0.0.9'));
  assert.equal(observer.current().metadata.ok, true);
});

test('a read that hangs is given up, counted and tried again', async (context) => {
  const { clock, observer, reads } = start(context, {}, () => new Promise(() => {}));
  await clock.advance(20_000);
  assert.equal(observer.current().metadata.failures, 1);
  await clock.advance(1000);
  assert.equal(reads.length, 2);
  assert.equal(observer.stuck(), undefined);
});

test('stops with its signal and leaves no timer behind', async (context) => {
  const { clock, reads, stop } = start(context);
  await clock.advance(1000);
  stop.abort();
  await clock.advance(300_000);
  assert.equal(reads.length, 1);
  assert.equal(clock.pending, 0);
});

test('counts reads by outcome', async (context) => {
  const { clock, state, registry } = start(context);
  await clock.advance(0);
  state.next = async () => Promise.reject(outage);
  await clock.advance(60_000);
  const text = await registry.text();
  assert.match(text, /mooring_agent_metadata_reads_total\{cloud="test",outcome="ok"\} 1/);
  assert.match(text, /mooring_agent_metadata_reads_total\{cloud="test",outcome="Unavailable"\} 1/);
});

test('interfaces and notices share one timer of four seconds, even with a slow service', async (context) => {
  const looks: [string, number][] = [];
  const { clock, state } = start(context, {
    async notices() {
      looks.push(['notices', clock.monotonic()]);
      if (clock.monotonic() > 0) await sleep(clock, 700);
      return [];
    },
  });
  await clock.advance(1);
  const { interfaces } = state;
  Object.defineProperty(state, 'interfaces', {
    get() {
      looks.push(['interfaces', clock.monotonic()]);
      return interfaces;
    },
  });
  await clock.advance(12_000);
  assert.deepEqual(
    looks.filter(([, at]) => at > 0),
    [4000, 8000, 12_000].flatMap((at) => [
      ['interfaces', at],
      ['notices', at],
    ]),
  );
});

test('a notice is reported within five seconds, between two polls', async (context) => {
  let announced: readonly Notice[] = [];
  const { clock, observer, reads, changes } = start(context, { notices: async () => announced });
  await clock.advance(20_000);
  announced = [{ kind: 'preemption', deadline: '2026-01-01T00:02:00Z' }];
  await clock.advance(5000);
  assert.deepEqual(observer.current().notices, announced);
  assert.deepEqual(reads, [0], 'the instance is not read again for it');
  assert.equal(changes.length, 2);
  announced = [];
  await clock.advance(5000);
  assert.deepEqual(observer.current().notices, []);
  assert.equal(changes.length, 3);
});
