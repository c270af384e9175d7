import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleep } from '../../common/process/clock.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { KubeError } from './api.ts';
import { broken, cut, listWatchHarness, throttled } from './testing/list-watch-harness.ts';

describe('a list-watch of a server that fails', () => {
  it('waits as long as a 429 asks, on lists and on watches', async () => {
    const { nodes, informer, clock } = listWatchHarness();
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

  it('retries after any failure of a list, with back-off', async () => {
    const { nodes, informer, lines, clock } = listWatchHarness();
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

  it('requests a refused page again, not the whole list', async () => {
    const { nodes, informer, clock } = listWatchHarness();
    for (const name of ['a', 'b', 'c', 'd', 'e']) nodes.put(name);
    nodes.failNext(
      'list',
      () => {},
      throttled(5_000),
      broken(503),
      cut(),
      () => {},
      broken(500),
    );
    informer.start();
    await clock.advance(4_999);
    assert.equal(nodes.lists.length, 2);
    await clock.advance(15_000);
    assert.equal(informer.synced, true);
    assert.equal(informer.size, 5);
    const pages = nodes.lists.map((call) => call.query?.['continue']);
    assert.deepEqual(pages, [undefined, '105/2', '105/2', '105/2', '105/2', '105/4', '105/4']);
    await informer.stop();
  });

  it('starts the list over when a page is refused for good', async () => {
    const { nodes, informer, clock } = listWatchHarness();
    for (const name of ['a', 'b', 'c']) nodes.put(name);
    nodes.failNext('list', () => {}, broken(403));
    nodes.failNext('list', () => {}, ...Array.from({ length: 10 }, () => broken(500)));
    informer.start();
    await clock.advance(300_000);
    assert.equal(informer.synced, true);
    const begun = nodes.lists.filter((call) => call.query?.['continue'] === undefined);
    assert.equal(begun.length, 3);
    assert.equal(nodes.lists.length, 2 + 11 + 2);
    await informer.stop();
  });

  it('stops while it waits for a refused page', async () => {
    const { nodes, informer, clock } = listWatchHarness();
    for (const name of ['a', 'b', 'c']) nodes.put(name);
    nodes.failNext('list', () => {}, throttled(60_000));
    informer.start();
    await clock.advance(1_000);
    await informer.stop();
    assert.equal(nodes.lists.length, 2);
    assert.equal(clock.pending, 0);
  });

  it('reports an ERROR event that is no 410, waits, and resumes where it was', async () => {
    const { nodes, informer, told, lines, counted, clock } = listWatchHarness();
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
    const { nodes, informer, counted, clock } = listWatchHarness();
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

  for (const status of [429, 503, 504]) {
    it(`lists once although watch after watch is refused with ${status}`, async () => {
      const { nodes, informer, counted, clock } = listWatchHarness();
      nodes.failNext('watch', ...Array.from({ length: 20 }, () => broken(status)));
      informer.start();
      await clock.advance(600_000);
      assert.equal(counted.filter((one) => one === 'ended failed').length, 20);
      assert.equal(nodes.lists.length, 1);
      await informer.stop();
    });
  }

  it('resumes soon after each cut of a watch that was idle', async () => {
    const { nodes, informer, clock } = listWatchHarness();
    informer.start();
    for (let cuts = 0; cuts < 10; cuts += 1) {
      await clock.advance(50_000);
      nodes.endWatches(cut());
      await clock.advance(1_200);
      assert.equal(nodes.open, 1, `after ${cuts + 1} cuts`);
    }
    assert.equal(nodes.lists.length, 1);
    await informer.stop();
  });

  for (const reason of ['Timeout', 'Unreachable'])
    it(`backs off from a server that does not answer a watch (${reason})`, async () => {
      const clock = fakeClock();
      let watches = 0;
      const { informer } = listWatchHarness({
        clock,
        api: {
          call: async () => ({ metadata: { resourceVersion: '1' }, items: [] }) as never,
          watch: async ({ signal }) => {
            watches += 1;
            await sleep(clock, 10_000, signal);
            throw new KubeError({ status: 0, reason, message: 'no answer' });
          },
        },
      });
      informer.start();
      await clock.advance(300_000);
      assert.ok(watches < 13, `${watches} watches in 300 s`);
      await informer.stop();
    });

  it('counts only consecutive failures: a watch that ended cleanly resets the count', async () => {
    const { nodes, informer, counted, clock } = listWatchHarness();
    const fourTimes = Array.from({ length: 4 }, () => broken(500));
    nodes.failNext('watch', ...fourTimes);
    informer.start();
    await clock.advance(60_000);
    nodes.failNext('watch', ...fourTimes);
    nodes.endWatches();
    await clock.advance(60_000);
    assert.equal(counted.filter((one) => one === 'ended failed').length, 8);
    assert.equal(nodes.lists.length, 1);
    assert.equal(nodes.open, 1);
    await informer.stop();
  });

  for (const lacking of ['name', 'uid', 'resourceVersion']) {
    it(`refuses a list in which an object has no ${lacking}`, async () => {
      const metadata = { name: 'a', uid: 'u', resourceVersion: '1', [lacking]: undefined };
      const api = {
        call: async () => ({ metadata: { resourceVersion: '1' }, items: [{ metadata }] }) as never,
        watch: () => Promise.reject(cut()),
      };
      const { informer, lines, clock } = listWatchHarness({ api });
      informer.start();
      await clock.advance(0);
      assert.equal(informer.synced, false);
      assert.ok(lines.some((line) => line.includes('without metadata.name, uid or resourceVersion')));
      await informer.stop();
    });
  }

  it('gives up a watch whose bookmark has no version, and resumes where it was', async () => {
    const { nodes, informer, counted, clock } = listWatchHarness();
    informer.start();
    await clock.advance(0);
    nodes.send({ type: 'BOOKMARK', object: {} });
    await clock.advance(2_000);
    assert.ok(counted.includes('ended failed'));
    assert.equal(nodes.watches[1]?.query['resourceVersion'], '100');
    assert.equal(nodes.lists.length, 1);
    await informer.stop();
  });

  it('waits between watches that end at once', async () => {
    const { nodes, informer, clock } = listWatchHarness();
    const endAtOnce = () => setImmediate(() => nodes.endWatches());
    nodes.failNext('watch', ...Array.from({ length: 100 }, () => endAtOnce));
    informer.start();
    await clock.advance(10_000);
    assert.ok(nodes.watches.length < 10, `${nodes.watches.length} watches in 10 s`);
    await informer.stop();
  });

  it('drops a watch without events only after a time longer than the interval of bookmarks', async () => {
    const { nodes, informer, told, counted, clock } = listWatchHarness();
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
    const { nodes, informer, counted, clock } = listWatchHarness();
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
});
