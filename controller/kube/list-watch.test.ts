import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settle } from '../../common/testing/fake-clock.ts';
import { broken, cut, listWatchHarness } from './testing/list-watch-harness.ts';
import { expired, type MemoryObject } from './testing/memory-collection.ts';

describe('a list-watch', () => {
  it('lists in pages and is synced after the last one only', async () => {
    const { nodes, informer, told, clock } = listWatchHarness();
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
    const { nodes, informer, clock } = listWatchHarness({ query: { fieldSelector: 'metadata.name=a' } });
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

  it('emits added, updated with the old object, and deleted', async () => {
    const { nodes, informer, events, clock } = listWatchHarness();
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

  it('names objects by namespace and name, or by its keyOf', async () => {
    const raw = { metadata: { name: 'l', namespace: 'kube-node-lease', uid: 'u', resourceVersion: '1' } };
    const api = {
      call: async () => ({ metadata: { resourceVersion: '1' }, items: [raw] }) as never,
      watch: () => new Promise<void>((_, reject) => setImmediate(() => reject(cut()))),
    };
    const byDefault = listWatchHarness({ api, trim: () => ({ name: 'l', spec: null }) });
    byDefault.informer.start();
    await byDefault.informer.whenSynced();
    assert.notEqual(byDefault.informer.get('kube-node-lease/l'), undefined);
    await byDefault.informer.stop();
    const byName = listWatchHarness({ api, keyOf: ({ name }) => name, trim: () => ({ name: 'l', spec: null }) });
    byName.informer.start();
    await byName.informer.whenSynced();
    assert.notEqual(byName.informer.get('l'), undefined);
    await byName.informer.stop();
  });

  it('accepts an empty list, also one that Go encodes as null', async () => {
    const api = {
      call: async () => ({ metadata: { resourceVersion: '1' }, items: null }) as never,
      watch: () => new Promise<void>((_, reject) => setImmediate(() => reject(cut()))),
    };
    const { informer } = listWatchHarness({ api });
    informer.start();
    await informer.whenSynced();
    assert.equal(informer.size, 0);
    await informer.stop();
  });

  it('emits deleted and added for an object that was re-created under the same name', async () => {
    const { nodes, informer, told, clock } = listWatchHarness();
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

  it('drops events whose version is known', async () => {
    const { nodes, informer, told, clock } = listWatchHarness();
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

  it('calls all handlers when one throws, at once or later', async () => {
    const { nodes, informer, told, lines, counted, clock } = listWatchHarness();
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

  it('keeps the last copy of an object that cannot be trimmed, and continues', async () => {
    let refuse = '';
    const trim = (raw: unknown) => {
      const { metadata, spec } = raw as MemoryObject;
      if (metadata.name === refuse) throw new Error('spec.x is no string');
      return { name: metadata.name, spec };
    };
    const { nodes, informer, told, lines, counted, clock } = listWatchHarness({ trim });
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
    assert.ok(counted.includes('fault trim'));
    await informer.stop();
  });

  it('emits existing objects to a late subscriber', async () => {
    const { nodes, informer, clock } = listWatchHarness();
    nodes.put('a');
    informer.start();
    await clock.advance(0);
    const events: string[] = [];
    informer.subscribe((event) => events.push(`${event.type} ${event.key}`));
    nodes.put('b');
    assert.deepEqual(events, ['added a', 'added b']);
    await informer.stop();
  });

  it('stops at any moment and leaves no timers and watches', async () => {
    for (const ms of [0, 500, 5_000]) {
      const { nodes, informer, clock } = listWatchHarness();
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
    const { nodes, informer, clock } = listWatchHarness({
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
    const { nodes, informer, clock } = listWatchHarness();
    nodes.failNext('list', broken(500));
    const waiting = assert.rejects(informer.whenSynced(), /stopped before it was synced/);
    informer.start();
    await clock.advance(0);
    await informer.stop();
    await waiting;
    await assert.rejects(informer.whenSynced(), /stopped before it was synced/);
  });
});
