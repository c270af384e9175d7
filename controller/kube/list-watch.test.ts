import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { type FakeClock, fakeClock, settle } from '../../common/testing/fake-clock.ts';
import { KubeError } from './api.ts';
import type { InformerEvent } from './informer.ts';
import { createListWatch, type ListWatch, type ListWatchOptions } from './list-watch.ts';
import { expired, type MemoryCollection, type MemoryObject, memoryCollection } from './testing/memory-collection.ts';

interface Trimmed {
  readonly name: string;
  readonly spec: unknown;
}

interface Stand {
  readonly clock: FakeClock;
  readonly nodes: MemoryCollection;
  readonly informer: ListWatch<Trimmed>;
  readonly events: InformerEvent<Trimmed>[];
  /** `type key` of each event. */
  readonly told: string[];
  readonly lines: string[];
  readonly counted: string[];
}

function stand(options: Partial<ListWatchOptions<Trimmed>> = {}, nodes = memoryCollection()): Stand {
  const clock = fakeClock();
  const lines: string[] = [];
  const counted: string[] = [];
  const informer = createListWatch<Trimmed>({
    api: nodes.api,
    path: '/api/v1/nodes',
    trim: (raw) => ({ name: (raw as MemoryObject).metadata.name, spec: (raw as MemoryObject).spec }),
    pageSize: 2,
    clock,
    random: seededRandom(1),
    log: createLog({ clock, level: 'debug', format: 'text', write: (line) => lines.push(line) }),
    metrics: {
      listed: (why, items) => counted.push(`listed ${why} ${items}`),
      watchEnded: (why) => counted.push(`ended ${why}`),
      fault: (what) => counted.push(`fault ${what}`),
    },
    ...options,
  });
  const events: InformerEvent<Trimmed>[] = [];
  const told: string[] = [];
  informer.subscribe((event) => {
    events.push(event);
    told.push(`${event.type} ${event.key}`);
  });
  return { clock, nodes, informer, events, told, lines, counted };
}

const throttled = (retryAfterMs: number) =>
  new KubeError({ status: 429, reason: 'TooManyRequests', message: 'busy', retryAfterMs });
const broken = (status: number) => new KubeError({ status, reason: 'InternalError', message: 'etcd is down' });
const cut = () => new KubeError({ status: 0, reason: 'Unreachable', message: 'cut' });

describe('a list-watch', () => {
  it('lists in pages and is synced after the last one only', async () => {
    const { nodes, informer, told, clock } = stand();
    for (const name of ['a', 'b', 'c', 'd', 'e']) nodes.put(name);
    assert.equal(informer.synced, false);
    let syncedAfter = -1;
    void informer.whenSynced().then(() => {
      syncedAfter = told.length;
    });
    informer.start();
    await clock.advance(0);
    assert.equal(informer.synced, true);
    assert.equal(syncedAfter, 5);
    assert.deepEqual(
      nodes.lists.map((call) => [call.query?.['limit'], call.query?.['continue'], call.query?.['resourceVersion']]),
      [
        ['2', undefined, undefined],
        ['2', '105/2', undefined],
        ['2', '105/4', undefined],
      ],
    );
    assert.equal(informer.size, 5);
    assert.deepEqual(
      [...informer.values()].map((node) => node.name),
      ['a', 'b', 'c', 'd', 'e'],
    );
    await informer.stop();
  });

  it('watches from the version of the list, with bookmarks and an end of its own time', async () => {
    const { nodes, informer, clock } = stand({ query: { fieldSelector: 'metadata.name=a' } });
    nodes.put('a');
    informer.start();
    await clock.advance(0);
    const query = nodes.watches[0]!.query;
    assert.equal(query['resourceVersion'], '101');
    assert.equal(query['allowWatchBookmarks'], 'true');
    assert.equal(query['fieldSelector'], 'metadata.name=a');
    assert.equal(nodes.lists[0]!.query?.['fieldSelector'], 'metadata.name=a');
    const seconds = Number(query['timeoutSeconds']);
    assert.ok(seconds >= 300 && seconds < 600 && Number.isInteger(seconds), query['timeoutSeconds']);
    await informer.stop();
  });

  it('tells what was added, updated with the old object, and deleted', async () => {
    const { nodes, informer, events, clock } = stand();
    nodes.put('a', { v: 1 });
    informer.start();
    await clock.advance(0);
    nodes.put('a', { v: 2 });
    nodes.put('b');
    nodes.remove('a');
    assert.deepEqual(events, [
      { type: 'added', key: 'a', object: { name: 'a', spec: { v: 1 } } },
      { type: 'updated', key: 'a', old: { name: 'a', spec: { v: 1 } }, object: { name: 'a', spec: { v: 2 } } },
      { type: 'added', key: 'b', object: { name: 'b', spec: {} } },
      { type: 'deleted', key: 'a', old: { name: 'a', spec: { v: 2 } } },
    ]);
    assert.equal(informer.get('a'), undefined);
    assert.deepEqual(informer.get('b'), { name: 'b', spec: {} });
    await informer.stop();
  });

  it('names objects by namespace and name, or as it is told', async () => {
    const raw = { metadata: { name: 'l', namespace: 'kube-node-lease', uid: 'u', resourceVersion: '1' } };
    const api = {
      call: async () => ({ metadata: { resourceVersion: '1' }, items: [raw] }) as never,
      watch: () => new Promise<void>((_, reject) => setImmediate(() => reject(cut()))),
    };
    const byDefault = stand({ api, trim: () => ({ name: 'l', spec: null }) });
    byDefault.informer.start();
    await byDefault.informer.whenSynced();
    assert.notEqual(byDefault.informer.get('kube-node-lease/l'), undefined);
    await byDefault.informer.stop();
    const byName = stand({ api, keyOf: ({ name }) => name, trim: () => ({ name: 'l', spec: null }) });
    byName.informer.start();
    await byName.informer.whenSynced();
    assert.notEqual(byName.informer.get('l'), undefined);
    await byName.informer.stop();
  });

  it('takes an empty list, also one that Go writes as null', async () => {
    const api = {
      call: async () => ({ metadata: { resourceVersion: '1' }, items: null }) as never,
      watch: () => new Promise<void>((_, reject) => setImmediate(() => reject(cut()))),
    };
    const { informer } = stand({ api });
    informer.start();
    await informer.whenSynced();
    assert.equal(informer.size, 0);
    await informer.stop();
  });

  it('starts the list over when the continue token outlived the history', async () => {
    const { nodes, informer, told, clock } = stand();
    for (const name of ['a', 'b', 'c']) nodes.put(name);
    nodes.failNext(
      'list',
      () => {},
      () => {
        nodes.remove('a');
        nodes.put('d');
        throw expired();
      },
    );
    informer.start();
    await clock.advance(0);
    assert.equal(informer.synced, true);
    assert.deepEqual([...informer.values()].map((node) => node.name).sort(), ['b', 'c', 'd']);
    // What the first page told is taken back by the list that counts.
    assert.deepEqual(told, ['added a', 'added b', 'added c', 'added d', 'deleted a']);
    await informer.stop();
  });

  it('resumes from the last version after a watch ended in order, without a list', async () => {
    const { nodes, informer, told, clock } = stand();
    informer.start();
    await clock.advance(0);
    nodes.put('a');
    await clock.advance(80_000);
    nodes.bookmark();
    nodes.endWatches();
    nodes.put('b');
    await clock.advance(0);
    assert.deepEqual(told, ['added a', 'added b']);
    assert.equal(nodes.lists.length, 1);
    assert.equal(nodes.watches[1]!.query['resourceVersion'], '101');
    await informer.stop();
  });

  it('resumes after bookmarks from their version', async () => {
    const { nodes, informer, clock } = stand();
    informer.start();
    await clock.advance(0);
    nodes.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '4711' } } });
    nodes.endWatches();
    await clock.advance(0);
    assert.equal(nodes.watches[1]!.query['resourceVersion'], '4711');
    await informer.stop();
  });

  it('resumes after a cut connection and loses nothing', async () => {
    const { nodes, informer, told, clock } = stand();
    informer.start();
    await clock.advance(0);
    nodes.put('a');
    nodes.endWatches(cut());
    nodes.put('b');
    nodes.remove('a');
    await clock.advance(2_000);
    assert.deepEqual(told, ['added a', 'added b', 'deleted a']);
    assert.equal(nodes.lists.length, 1);
    await informer.stop();
  });

  for (const [how, failing] of [
    ['as an event of the stream', (nodes: MemoryCollection) => nodes.endWatches()],
    ['as the status of the watch', (nodes: MemoryCollection) => nodes.endWatches(expired())],
  ] as const) {
    it(`lists again when the version is too old, said ${how}, and finds what was deleted and replaced`, async () => {
      const { nodes, informer, events, counted, clock } = stand();
      nodes.put('kept', { v: 1 });
      nodes.put('changed', { v: 1 });
      nodes.put('deleted', { v: 1 });
      nodes.put('replaced', { v: 1 });
      informer.start();
      await clock.advance(0);
      await clock.advance(5_000);
      events.length = 0;
      nodes.mute = true;
      nodes.put('changed', { v: 2 });
      nodes.remove('deleted');
      nodes.remove('replaced');
      nodes.put('replaced', { v: 2 }, 'another-uid');
      nodes.expireHistory();
      nodes.mute = false;
      failing(nodes);
      await clock.advance(0);
      assert.deepEqual(events, [
        {
          type: 'updated',
          key: 'changed',
          old: { name: 'changed', spec: { v: 1 } },
          object: { name: 'changed', spec: { v: 2 } },
        },
        { type: 'deleted', key: 'replaced', old: { name: 'replaced', spec: { v: 1 } } },
        { type: 'added', key: 'replaced', object: { name: 'replaced', spec: { v: 2 } } },
        { type: 'deleted', key: 'deleted', old: { name: 'deleted', spec: { v: 1 } } },
      ]);
      assert.equal(counted.at(-1), 'listed expired 3');
      assert.equal(nodes.open, 1);
      await informer.stop();
    });
  }

  it('lists at once when the version is too old after a cut, as after a restart of the server', async () => {
    const { nodes, informer, counted, clock } = stand();
    informer.start();
    await clock.advance(0);
    nodes.expireHistory();
    nodes.endWatches(cut());
    await clock.advance(1_100);
    assert.deepEqual(counted.slice(1), ['ended failed', 'ended expired', 'listed expired 0']);
    await informer.stop();
  });

  it('does not list in a tight loop when every version is too old', async () => {
    const { nodes, informer, clock } = stand();
    nodes.failNext('watch', ...Array.from({ length: 50 }, expired));
    informer.start();
    await clock.advance(0);
    assert.equal(nodes.lists.length, 2);
    await clock.advance(10_000);
    assert.ok(nodes.lists.length <= 6, `${nodes.lists.length} lists in 10 s`);
    await informer.stop();
  });

  it('tells of an object that came back under the same name as deleted and added', async () => {
    const { nodes, informer, told, clock } = stand();
    nodes.put('a', {}, 'first');
    informer.start();
    await clock.advance(0);
    // The deletion itself was never seen.
    nodes.send({
      type: 'MODIFIED',
      object: { metadata: { name: 'a', uid: 'second', resourceVersion: '900' }, spec: {} },
    });
    assert.deepEqual(told, ['added a', 'deleted a', 'added a']);
    nodes.send({
      type: 'DELETED',
      object: { metadata: { name: 'a', uid: 'first', resourceVersion: '901' }, spec: {} },
    });
    assert.notEqual(informer.get('a'), undefined);
    await informer.stop();
  });

  it('says nothing of events whose version is known', async () => {
    const { nodes, informer, told, clock } = stand();
    nodes.put('a');
    informer.start();
    await clock.advance(0);
    nodes.send({
      type: 'MODIFIED',
      object: { metadata: { name: 'a', uid: 'uid-1', resourceVersion: '101' }, spec: {} },
    });
    assert.deepEqual(told, ['added a']);
    await informer.stop();
  });

  it('waits as long as a 429 asks, on lists and on watches', async () => {
    const { nodes, informer, clock } = stand();
    nodes.failNext('list', throttled(20_000));
    nodes.failNext('watch', throttled(40_000));
    informer.start();
    await clock.advance(19_999);
    assert.equal(nodes.lists.length, 1);
    await clock.advance(1);
    assert.equal(nodes.lists.length, 2);
    assert.equal(nodes.watches.length, 1);
    await clock.advance(39_999);
    assert.equal(nodes.watches.length, 1);
    await clock.advance(1);
    assert.equal(nodes.watches.length, 2);
    await informer.stop();
  });

  it('goes on after any failure of a list, more and more slowly', async () => {
    const { nodes, informer, lines, clock } = stand();
    nodes.put('a');
    nodes.failNext('list', broken(500), cut(), broken(403), broken(503));
    informer.start();
    await clock.advance(1_200);
    assert.equal(nodes.lists.length, 2);
    assert.equal(informer.synced, false);
    await clock.advance(60_000);
    assert.equal(informer.synced, true);
    assert.equal(nodes.lists.length, 5);
    assert.ok(lines.some((line) => line.includes('etcd is down')));
    await informer.stop();
  });

  it('reports an ERROR event that is no 410, waits, and resumes where it was', async () => {
    const { nodes, informer, told, lines, counted, clock } = stand();
    informer.start();
    await clock.advance(0);
    nodes.put('a');
    nodes.send({
      type: 'ERROR',
      object: { kind: 'Status', code: 500, reason: 'InternalError', message: 'storage wobbles' },
    });
    assert.equal(nodes.open, 0);
    await clock.advance(0);
    assert.equal(nodes.open, 0);
    assert.ok(lines.some((line) => line.includes('storage wobbles')));
    await clock.advance(1_200);
    nodes.put('b');
    assert.deepEqual(told, ['added a', 'added b']);
    assert.equal(nodes.lists.length, 1);
    assert.ok(counted.includes('ended failed'));
    await informer.stop();
  });

  it('backs off from a server that fails each watch, and lists when that lasts', async () => {
    const { nodes, informer, counted, clock } = stand();
    nodes.failNext('watch', ...Array.from({ length: 5 }, () => broken(500)));
    informer.start();
    await clock.advance(0);
    assert.equal(nodes.watches.length, 1);
    await clock.advance(60_000);
    assert.equal(nodes.open, 1);
    assert.deepEqual(
      counted.filter((one) => one.startsWith('listed')),
      ['listed start 0', 'listed failing 0'],
    );
    await informer.stop();
  });

  it('does not ask in a tight loop when watches end at once', async () => {
    const { nodes, informer, clock } = stand();
    const endAtOnce = () => setImmediate(() => nodes.endWatches());
    nodes.failNext('watch', ...Array.from({ length: 100 }, () => endAtOnce));
    informer.start();
    await clock.advance(10_000);
    assert.ok(nodes.watches.length < 10, `${nodes.watches.length} watches in 10 s`);
    await informer.stop();
  });

  it('drops a watch on which nothing is heard for longer than bookmarks take, and only then', async () => {
    const { nodes, informer, told, counted, clock } = stand();
    informer.start();
    await clock.advance(0);
    for (let minute = 0; minute < 5; minute += 1) {
      await clock.advance(60_000);
      nodes.bookmark();
    }
    assert.equal(nodes.watches.length, 1);
    assert.equal(informer.stalenessMs(), 0);
    nodes.mute = true;
    nodes.put('a');
    await clock.advance(199_000);
    assert.equal(nodes.watches.length, 1);
    assert.equal(informer.stalenessMs(), 199_000);
    nodes.mute = false;
    await clock.advance(2_000);
    assert.equal(nodes.watches.length, 2);
    assert.deepEqual(told, ['added a']);
    assert.deepEqual(counted, ['listed start 0', 'ended silent']);
    assert.equal(nodes.lists.length, 1);
    await informer.stop();
  });

  it('lists when watch after watch stays silent, as after a restore of the server to an older state', async () => {
    const { nodes, informer, counted, clock } = stand();
    informer.start();
    await clock.advance(0);
    nodes.mute = true;
    await clock.advance(601_000);
    assert.deepEqual(
      counted.filter((one) => one.startsWith('listed')),
      ['listed start 0', 'listed silent 0'],
    );
    await informer.stop();
  });

  it('keeps all handlers going when one throws, at once or later', async () => {
    const { nodes, informer, told, lines, counted, clock } = stand();
    const later: string[] = [];
    informer.subscribe(() => {
      throw new Error('handler one fails');
    });
    informer.subscribe((async () => {
      throw new Error('handler two fails');
    }) as () => void);
    informer.subscribe((event) => later.push(event.key));
    nodes.put('a');
    informer.start();
    await clock.advance(0);
    nodes.put('b');
    await settle();
    assert.deepEqual(told, ['added a', 'added b']);
    assert.deepEqual(later, ['a', 'b']);
    assert.ok(lines.some((line) => line.includes('handler one fails')));
    assert.ok(lines.some((line) => line.includes('handler two fails')));
    assert.equal(counted.filter((one) => one === 'fault handler').length, 4);
    assert.equal(nodes.open, 1);
    await informer.stop();
  });

  it('keeps an object as it was known when it cannot be read any more, and goes on', async () => {
    let refuse = '';
    const trim = (raw: unknown) => {
      const { metadata, spec } = raw as MemoryObject;
      if (metadata.name === refuse) throw new Error('spec.x is no string');
      return { name: metadata.name, spec };
    };
    const { nodes, informer, told, lines, clock } = stand({ trim });
    nodes.put('a', { v: 1 });
    informer.start();
    await clock.advance(0);
    refuse = 'a';
    nodes.put('a', { v: 2 });
    nodes.put('b');
    nodes.expireHistory();
    nodes.endWatches(expired());
    await clock.advance(5_000);
    assert.deepEqual(informer.get('a'), { name: 'a', spec: { v: 1 } });
    assert.deepEqual(told, ['added a', 'added b']);
    assert.ok(lines.some((line) => line.includes('spec.x is no string') && line.includes('key=a')));
    await informer.stop();
  });

  it('tells a late subscriber what is there', async () => {
    const { nodes, informer, clock } = stand();
    nodes.put('a');
    informer.start();
    await clock.advance(0);
    const heard: string[] = [];
    informer.subscribe((event) => heard.push(`${event.type} ${event.key}`));
    nodes.put('b');
    assert.deepEqual(heard, ['added a', 'added b']);
    await informer.stop();
  });

  it('stops at any moment and leaves nothing behind', async () => {
    for (const ms of [0, 500, 5_000]) {
      const { nodes, informer, clock } = stand();
      if (ms === 500) nodes.failNext('list', broken(500));
      informer.start();
      await clock.advance(ms);
      await informer.stop();
      assert.equal(nodes.open, 0);
      assert.equal(clock.pending, 0);
    }
  });

  it('stops between its list and its watch', async () => {
    let stopped: Promise<void> | undefined;
    const { nodes, informer, clock } = stand({
      metrics: {
        listed: () => {
          stopped = informer.stop();
        },
      },
    });
    informer.start();
    await clock.advance(0);
    await stopped;
    assert.equal(nodes.watches.length, 0);
    assert.equal(clock.pending, 0);
  });

  it('refuses to wait for a sync that will not come', async () => {
    const { nodes, informer, clock } = stand();
    nodes.failNext('list', broken(500));
    const waiting = assert.rejects(informer.whenSynced(), /stopped before it was synced/);
    informer.start();
    await clock.advance(0);
    await informer.stop();
    await waiting;
    await assert.rejects(informer.whenSynced(), /stopped before it was synced/);
  });

  it('ends with the state of the server, and tells a story that leads there, whatever fails on the way', async () => {
    type Step = {
      readonly do: 'put' | 'remove' | 'recreate' | 'cut' | 'end' | 'expire' | 'fail' | 'error' | 'mute' | 'wait';
      readonly name: string;
    };
    const step = fc.record({
      do: fc.constantFrom<Step['do']>(
        'put',
        'put',
        'put',
        'remove',
        'recreate',
        'cut',
        'end',
        'expire',
        'fail',
        'error',
        'mute',
        'wait',
      ),
      name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { nodes, informer, events, clock } = stand();
        const there = new Map<string, number>();
        let value = 0;
        nodes.put('a', { v: 0 });
        there.set('a', 0);
        informer.start();
        await clock.advance(0);
        for (const { do: what, name } of steps) {
          value += 1;
          if (what === 'put') {
            nodes.put(name, { v: value });
            there.set(name, value);
          } else if (what === 'remove' && there.has(name)) {
            nodes.remove(name);
            there.delete(name);
          } else if (what === 'recreate' && there.has(name)) {
            nodes.remove(name);
            nodes.put(name, { v: value });
            there.set(name, value);
          } else if (what === 'cut') nodes.endWatches(cut());
          else if (what === 'end') nodes.endWatches();
          else if (what === 'expire') nodes.expireHistory();
          else if (what === 'fail') nodes.failNext('list', broken(500));
          else if (what === 'error') nodes.send({ type: 'ERROR', object: { kind: 'Status', code: 500, message: 'x' } });
          else if (what === 'mute') {
            // A connection that died: what it did not say comes with the next watch.
            nodes.mute = true;
            await clock.advance(101_000);
            nodes.mute = false;
            nodes.endWatches(cut());
          } else await clock.advance(3_000);
        }
        await clock.advance(600_000);
        const expectedState = [...there].sort().map(([name, v]) => ({ name, spec: { v } }));
        assert.deepEqual(
          [...informer.values()].sort((x, y) => (x.name < y.name ? -1 : 1)),
          expectedState,
        );
        const replayed = new Map<string, Trimmed>();
        for (const event of events) {
          assert.equal(replayed.has(event.key), event.type !== 'added', `${event.type} ${event.key}`);
          if (event.type !== 'added') assert.deepEqual(event.old, replayed.get(event.key));
          if (event.type === 'deleted') replayed.delete(event.key);
          else replayed.set(event.key, event.object);
        }
        assert.deepEqual(
          [...replayed.values()].sort((x, y) => (x.name < y.name ? -1 : 1)),
          expectedState,
        );
        await informer.stop();
        assert.equal(clock.pending, 0);
      }),
      { numRuns: 60, seed: 20260101 },
    );
  });
});
