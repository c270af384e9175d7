import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cut, listWatchHarness } from './testing/list-watch-harness.ts';
import { expired, type MemoryCollection } from './testing/memory-collection.ts';

describe('a list-watch after the end of a watch', () => {
  it('resumes from the last version after a watch ended in order, without a list', async () => {
    const { nodes, informer, told, clock } = listWatchHarness();
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
    const { nodes, informer, clock } = listWatchHarness();
    informer.start();
    await clock.advance(0);
    nodes.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '4711' } } });
    nodes.endWatches();
    await clock.advance(0);
    assert.equal(nodes.watches[1]!.query['resourceVersion'], '4711');
    await informer.stop();
  });

  it('resumes after a cut connection and loses nothing', async () => {
    const { nodes, informer, told, clock } = listWatchHarness();
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

  it('starts the list over when the continue token has expired', async () => {
    const { nodes, informer, told, clock } = listWatchHarness();
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

  it('requests larger pages when they came too late, and waits when that happens again', async () => {
    const { nodes, informer, clock } = listWatchHarness();
    for (let index = 0; index < 30; index += 1) nodes.put(`n${index}`);
    const late = [() => {}, expired()];
    nodes.failNext('list', ...late, ...late);
    informer.start();
    await clock.advance(0);
    assert.equal(nodes.lists.length, 4);
    await clock.advance(5_000);
    assert.equal(informer.synced, true);
    assert.equal(informer.size, 30);
    const limits = nodes.lists.map((call) => call.query?.['limit']);
    assert.deepEqual(limits, ['2', '2', '20', '20', '20', '20']);
    await informer.stop();
  });

  for (const [how, failing] of [
    ['as an event of the stream', (nodes: MemoryCollection) => nodes.endWatches()],
    ['as the status of the watch', (nodes: MemoryCollection) => nodes.endWatches(expired())],
  ] as const) {
    it(`lists again when the version is too old, said ${how}, and finds what was deleted and replaced`, async () => {
      const { nodes, informer, events, counted, clock } = listWatchHarness();
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
    const { nodes, informer, counted, clock } = listWatchHarness();
    informer.start();
    await clock.advance(0);
    nodes.expireHistory();
    nodes.endWatches(cut());
    await clock.advance(1_100);
    assert.deepEqual(counted.slice(1), ['ended failed', 'ended expired', 'listed expired 0']);
    await informer.stop();
  });

  it('waits between lists while every version is too old', async () => {
    const { nodes, informer, clock } = listWatchHarness();
    nodes.failNext('watch', ...Array.from({ length: 50 }, expired));
    informer.start();
    await clock.advance(0);
    assert.equal(nodes.lists.length, 2);
    await clock.advance(10_000);
    assert.ok(nodes.lists.length <= 6, `${nodes.lists.length} lists in 10 s`);
    await informer.stop();
  });
});
