import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { type KubeApi, type KubeCall, KubeError } from './api.ts';
import type { EventTarget } from './event-sink.ts';
import { createEventSink, type EventSinkOptions } from './events.ts';

const node: EventTarget = { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'uid-1' };
const service: EventTarget = { apiVersion: 'v1', kind: 'Service', name: 'web', namespace: 'shop', uid: 'uid-2' };

type Body = Readonly<Record<string, unknown>> & {
  readonly metadata: { readonly name: string; readonly namespace: string };
};

function setUp(options: Partial<EventSinkOptions> = {}) {
  const clock = fakeClock(Date.parse('2026-01-01T00:00:00.789Z'));
  const calls: KubeCall[] = [];
  const dropped: string[] = [];
  const failures: (KubeError | 'never')[] = [];
  const api: KubeApi = {
    async call<T>(call: KubeCall) {
      calls.push(call);
      const failure = failures.shift();
      if (failure === 'never') {
        return new Promise<T>((_, reject) => {
          call.signal?.addEventListener('abort', () =>
            reject(new KubeError({ status: 0, reason: 'Aborted', message: '' })),
          );
        });
      }
      if (failure) throw failure;
      return {} as T;
    },
    watch: async () => {},
  };
  const sink = createEventSink({
    api,
    clock,
    random: seededRandom(1),
    log: silentLog,
    component: 'mooring-controller',
    host: 'cp-1',
    onDropped: (why) => dropped.push(why),
    ...options,
  });
  return { clock, calls, dropped, failures, sink };
}

const failed = (status: number, reason: string, retryAfterMs?: number) =>
  new KubeError({ status, reason, message: reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });

describe('the event sink', () => {
  it('writes a core/v1 Event; of a cluster-scoped object into namespace default', async () => {
    const { clock, calls, sink } = setUp();
    sink.emit(node, { type: 'Normal', reason: 'Synced', message: 'Node synced successfully' });
    assert.equal(calls.length, 0, 'never in the caller’s own time');
    await clock.advance(0);
    const call = calls[0]!;
    assert.deepEqual([call.verb, call.path], ['create', '/api/v1/namespaces/default/events']);
    const { metadata, ...rest } = call.body as Body;
    assert.match(metadata.name, /^node-1\.[0-9a-f]{16}$/);
    assert.equal(metadata.namespace, 'default');
    assert.deepEqual(rest, {
      apiVersion: 'v1',
      kind: 'Event',
      involvedObject: { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'uid-1' },
      type: 'Normal',
      reason: 'Synced',
      message: 'Node synced successfully',
      count: 1,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      source: { component: 'mooring-controller', host: 'cp-1' },
      reportingComponent: 'mooring-controller',
      reportingInstance: 'cp-1',
    });
  });

  it('shows characters that would control a terminal by their code points', async () => {
    const { sink, calls } = setUp();
    sink.emit(node, { type: 'Warning', reason: 'CloudUnreachable', message: 'a\n\u001b[2J\u202e' });
    await sink.stop();
    assert.equal(JSON.parse(JSON.stringify(calls[0]?.body)).message, 'a\\u{a}\\u{1b}[2J\\u{202e}');
  });

  it('writes events of a namespaced object beside it', async () => {
    const { clock, calls, sink } = setUp();
    sink.emit(service, { type: 'Warning', reason: 'SyncLoadBalancerFailed', message: 'no quota' });
    await clock.advance(0);
    assert.equal(calls[0]!.path, '/api/v1/namespaces/shop/events');
    assert.equal((calls[0]!.body as { involvedObject: { namespace: string } }).involvedObject.namespace, 'shop');
  });

  it('counts a repeated event on the first one', async () => {
    const { clock, calls, sink } = setUp();
    const event = { type: 'Warning', reason: 'CloudUnreachable', message: 'timeout' } as const;
    sink.emit(node, event);
    await clock.advance(61_000);
    sink.emit(node, event);
    sink.emit(node, event);
    await clock.advance(0);
    assert.equal(calls.length, 2);
    const { metadata } = calls[0]!.body as Body;
    assert.equal(calls[1]!.verb, 'patch');
    assert.equal(calls[1]!.patch, 'merge');
    assert.equal(calls[1]!.path, `/api/v1/namespaces/default/events/${metadata.name}`);
    assert.deepEqual(calls[1]!.body, { count: 3, lastTimestamp: '2026-01-01T00:01:01Z', message: 'timeout' });
  });

  it('creates a new Event when the first one has expired', async () => {
    const { clock, calls, failures, sink } = setUp();
    const event = { type: 'Normal', reason: 'R', message: 'm' } as const;
    sink.emit(node, event);
    await clock.advance(0);
    failures.push(failed(404, 'NotFound'));
    sink.emit(node, event);
    await clock.advance(0);
    assert.deepEqual(
      calls.map((call) => call.verb),
      ['create', 'patch', 'create'],
    );
    assert.equal((calls[2]!.body as { count: number }).count, 2);
  });

  it('lets 25 events about an object pass at once, then one in five minutes', async () => {
    const { clock, calls, dropped, sink } = setUp();
    const emit = (i: number) => sink.emit(node, { type: 'Normal', reason: `Reason${i}`, message: 'm' });
    for (let i = 0; i < 40; i += 1) emit(i);
    await clock.advance(0);
    assert.equal(calls.length, 25);
    assert.equal(dropped.length, 15);
    sink.emit(service, { type: 'Normal', reason: 'Other', message: 'm' });
    await clock.advance(299_000);
    emit(100);
    await clock.advance(0);
    assert.equal(calls.length, 26, 'another object has a budget of its own');
    await clock.advance(1_000);
    emit(101);
    emit(102);
    await clock.advance(0);
    assert.equal(calls.length, 27);
  });

  it('combines events that differ in their message alone when there are more than ten', async () => {
    const { clock, calls, sink } = setUp();
    for (let i = 0; i < 14; i += 1) sink.emit(node, { type: 'Warning', reason: 'Failed', message: `try ${i}` });
    await clock.advance(0);
    const made = calls
      .filter((call) => call.verb === 'create')
      .map((call) => (call.body as { message: string }).message);
    assert.deepEqual(
      made.slice(0, 9),
      Array.from({ length: 9 }, (_, i) => `try ${i}`),
    );
    assert.deepEqual(made.slice(9), ['(combined from similar events): try 13']);
    assert.equal((calls.at(-1)!.body as { count: number }).count, 5);
  });

  it('retries when the server is busy, after its Retry-After, and not for ever', async () => {
    const { clock, calls, failures, dropped, sink } = setUp();
    failures.push(failed(429, 'TooManyRequests', 7_000), failed(503, 'ServiceUnavailable'), failed(0, 'Unreachable'));
    sink.emit(node, { type: 'Normal', reason: 'R', message: 'm' });
    await clock.advance(6_999);
    assert.equal(calls.length, 1);
    await clock.advance(1);
    assert.equal(calls.length, 2);
    await clock.advance(60_000);
    assert.equal(calls.length, 3);
    assert.deepEqual(dropped, ['failed']);
  });

  it('drops an event that the server refuses, without another try', async () => {
    const { clock, calls, failures, dropped, sink } = setUp();
    failures.push(failed(403, 'Forbidden'), failed(0, 'Fenced'));
    sink.emit(node, { type: 'Normal', reason: 'R', message: 'm' });
    sink.emit(node, { type: 'Normal', reason: 'S', message: 'm' });
    await clock.advance(60_000);
    assert.equal(calls.length, 2);
    assert.deepEqual(dropped, ['failed', 'failed']);
  });

  it('makes one Event when the answer to its creation was lost', async () => {
    const { clock, calls, failures, sink } = setUp();
    failures.push(failed(0, 'Timeout'));
    sink.emit(node, { type: 'Normal', reason: 'R', message: 'm' });
    await clock.advance(5_000);
    assert.deepEqual(
      calls.map((call) => call.verb),
      ['create', 'patch'],
    );
    assert.equal(calls[1]!.path.split('/').at(-1), (calls[0]!.body as Body).metadata.name);
  });

  it('holds a bounded number and drops the rest', async () => {
    const { clock, calls, dropped, sink } = setUp({ capacity: 3 });
    for (let i = 0; i < 5; i += 1) sink.emit({ ...node, name: `n${i}` }, { type: 'Normal', reason: 'R', message: 'm' });
    assert.deepEqual(dropped, ['full', 'full']);
    await clock.advance(0);
    assert.equal(calls.length, 3);
  });

  it('shortens a message that is too long, and the name of an object', async () => {
    const { clock, calls, sink } = setUp();
    sink.emit({ ...node, name: 'n'.repeat(253) }, { type: 'Normal', reason: 'R', message: 'm'.repeat(5_000) });
    await clock.advance(0);
    const body = calls[0]!.body as Body;
    assert.ok(body.metadata.name.length <= 253);
    assert.equal(String(body['message']).length, 1024);
  });

  it('pauses four times as long as each write took, at most a second, and not when it stops', async () => {
    const { clock, sink } = setUp({
      api: {
        async call<T>() {
          times.push(clock.monotonic() - startedAt);
          await new Promise<void>((resolve) => clock.setTimer(times.length === 2 ? 2_000 : 50, resolve));
          return {} as T;
        },
        watch: async () => {},
      },
    });
    const times: number[] = [];
    const startedAt = clock.monotonic();
    for (let i = 0; i < 5; i += 1) {
      sink.emit({ ...node, uid: `uid-${i}` }, { type: 'Normal', reason: 'Synced', message: '' });
    }
    await clock.advance(3_300);
    assert.deepEqual(times, [0, 250, 3_250]);
    const stopped = sink.stop();
    await clock.advance(100);
    await stopped;
    assert.deepEqual(times, [0, 250, 3_250, 3_300, 3_350]);
  });

  it('writes what waits before it stops, and gives up when that takes too long', async () => {
    const quick = setUp();
    for (let i = 0; i < 3; i += 1)
      quick.sink.emit({ ...node, name: `n${i}` }, { type: 'Normal', reason: 'R', message: 'm' });
    await quick.sink.stop();
    assert.equal(quick.calls.length, 3);
    quick.sink.emit(node, { type: 'Normal', reason: 'Late', message: 'm' });
    await quick.clock.advance(0);
    assert.equal(quick.calls.length, 3);
    assert.equal(quick.clock.pending, 0);

    const stuck = setUp();
    stuck.failures.push('never');
    for (let i = 0; i < 3; i += 1)
      stuck.sink.emit({ ...node, name: `n${i}` }, { type: 'Normal', reason: 'R', message: 'm' });
    const stopped = stuck.sink.stop(2_000);
    await stuck.clock.advance(2_000);
    await stopped;
    assert.equal(stuck.calls.length, 1);
    assert.equal(stuck.clock.pending, 0);
  });
});
