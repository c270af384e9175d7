import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { broken, cut, listWatchHarness, type Trimmed } from './testing/list-watch-harness.ts';

describe('a list-watch under faults', () => {
  it('converges to the state of the server with consistent events after any failures', async () => {
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
        const { nodes, informer, events, clock } = listWatchHarness();
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
