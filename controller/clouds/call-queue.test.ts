import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createCallQueue } from './call-queue.ts';
import { createTokenBucket } from './token-bucket.ts';
import type { Urgency } from './urgency.ts';

const urgencies: readonly Urgency[] = ['change', 'need', 'refresh'];

function setUp(perSecond: number, burst = 1) {
  const clock = fakeClock();
  const callQueue = createCallQueue(createTokenBucket({ perSecond, burst }, clock), clock);
  const started: string[] = [];
  const ask = (name: string, urgency: Urgency, signal?: AbortSignal) => {
    callQueue.wait(urgency, signal).then(
      () => started.push(name),
      () => started.push(`${name} given up`),
    );
  };
  return { clock, callQueue, started, ask };
}

describe('createCallQueue', () => {
  it('releases all calls at once while there are tokens, and sets no timer', async () => {
    const { clock, started, ask } = setUp(1, 3);
    for (const name of ['a', 'b', 'c']) ask(name, 'refresh');
    await clock.advance(0);
    assert.deepEqual(started, ['a', 'b', 'c']);
    assert.equal(clock.pending, 0);
  });

  it('takes changes before needs before refreshes, and each in the order they came', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...urgencies), { minLength: 1, maxLength: 12 }), async (asked) => {
        const { clock, started, ask } = setUp(10);
        ask('first', 'refresh');
        await clock.advance(0);
        const names = asked.map((urgency, index) => `${urgencies.indexOf(urgency)} ${String(index).padStart(2, '0')}`);
        for (const [index, urgency] of asked.entries()) ask(names[index] as string, urgency);
        await clock.advance(100 * asked.length);
        assert.deepEqual(started, ['first', ...names.toSorted()]);
        assert.equal(clock.pending, 0);
      }),
      { numRuns: 40 },
    );
  });

  it('lets a refresh go before needs that came later once it has waited for half a minute', async () => {
    const { clock, started, ask } = setUp(1);
    ask('first', 'need');
    ask('old refresh', 'refresh');
    for (let second = 0; second < 40; second += 1) {
      ask(`need ${second}`, 'need');
      await clock.advance(1000);
    }
    // One need started each second until then, beside the first call.
    assert.equal(started.indexOf('old refresh'), 30);
  });

  it('lets no call wait for ever behind a stream of changes', async () => {
    const { clock, started, ask } = setUp(1);
    ask('first', 'change');
    ask('read', 'refresh');
    for (let second = 0; second < 70; second += 1) {
      ask(`change ${second}`, 'change');
      await clock.advance(1000);
    }
    assert.equal(started.indexOf('read'), 60);
  });

  it('gives up at once when told to, takes no token for it and leaves no timer', async () => {
    const { clock, started, ask } = setUp(1);
    const stop = new AbortController();
    ask('first', 'need');
    ask('second', 'need', stop.signal);
    await clock.advance(500);
    stop.abort();
    await clock.advance(0);
    assert.deepEqual(started, ['first', 'second given up']);
    assert.equal(clock.pending, 0);
    await clock.advance(500);
    ask('third', 'need');
    await clock.advance(0);
    assert.deepEqual(started, ['first', 'second given up', 'third']);
    ask('fourth', 'need', stop.signal);
    await clock.advance(0);
    assert.equal(started.at(-1), 'fourth given up');
    assert.equal(clock.pending, 0);
  });
});
