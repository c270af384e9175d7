import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createTokenBucket, type TokenBucket } from './token-bucket.ts';

/** A clock that jumps without letting promises settle: the bucket has none. */
function instant() {
  let at = 0;
  return {
    monotonic: () => at,
    advance(ms: number) {
      at += ms;
    },
  };
}

function takeAll(bucket: TokenBucket): number {
  let taken = 0;
  while (bucket.take()) taken += 1;
  return taken;
}

describe('createTokenBucket', () => {
  it('never gives more than burst + perSecond x t tokens in any window', () => {
    const story = fc.array(
      fc.record({ afterMs: fc.integer({ min: 0, max: 4000 }), wants: fc.nat(12), refused: fc.boolean() }),
      {
        maxLength: 40,
      },
    );
    const limits = fc.record({
      perSecond: fc.double({ min: 0.1, max: 50, noNaN: true }),
      burst: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(limits, story, (given, steps) => {
        const clock = instant();
        const bucket = createTokenBucket(given, clock);
        const taken: number[] = [];
        for (const { afterMs, wants, refused } of steps) {
          clock.advance(afterMs);
          if (refused && wants % 4 === 0) bucket.halve();
          for (let n = 0; n < wants && bucket.take(); n += 1) taken.push(clock.monotonic());
        }
        for (const [first, from] of taken.entries()) {
          for (const [last, to] of taken.entries()) {
            if (last < first) continue;
            const allowed = given.burst + (given.perSecond * (to - from)) / 1000;
            assert.ok(last - first + 1 <= allowed + 1e-6, `${last - first + 1} in ${to - from} ms`);
          }
        }
      }),
    );
  });

  it('gives a token after the time it told, and none a millisecond before', () => {
    const clock = instant();
    const bucket = createTokenBucket({ perSecond: 3, burst: 2 }, clock);
    assert.equal(takeAll(bucket), 2);
    const ms = bucket.waitMs();
    assert.equal(ms, 334);
    clock.advance(ms - 1);
    assert.equal(bucket.take(), false);
    clock.advance(1);
    assert.equal(bucket.take(), true);
    assert.equal(bucket.take(), false);
  });

  it('gives half as much after a refusal, with no burst, and all of it a minute later', () => {
    const clock = instant();
    const bucket = createTokenBucket({ perSecond: 10, burst: 100 }, clock);
    bucket.halve();
    assert.equal(takeAll(bucket), 0);
    clock.advance(5000);
    assert.equal(takeAll(bucket), 25);
    clock.advance(60_000);
    takeAll(bucket);
    clock.advance(5000);
    assert.equal(takeAll(bucket), 50);
  });

  it('keeps a minimal rate however often the cloud refuses', async () => {
    const clock = fakeClock();
    const bucket = createTokenBucket({ perSecond: 16, burst: 1 }, clock);
    for (let refusal = 0; refusal < 50; refusal += 1) bucket.halve();
    assert.equal(bucket.waitMs(), 1000);
  });
});
