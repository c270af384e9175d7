import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sleep } from '../../common/process/clock.ts';
import { seededRandom } from '../../common/process/random.ts';
import { workQueueHarness } from './testing/work-queue-harness.ts';

describe('a work queue with any requests', () => {
  it('never loses a key, never runs one twice at once, and is deterministic', async () => {
    const deed = fc.record({
      key: fc.constantFrom(...'abcdef'),
      waitMs: fc.nat({ max: 300 }),
      afterMs: fc.constantFrom(0, 0, 0, 50, 700),
      priority: fc.constantFrom('high', 'normal', 'low'),
    });
    const play = async (
      deeds: readonly { key: string; waitMs: number; afterMs: number; priority: string }[],
      seed: number,
      concurrency: number,
    ) => {
      const random = seededRandom(seed);
      const trace: string[] = [];
      const broken: string[] = [];
      const running = new Set<string>();
      const askedAt = new Map<string, number>();
      const provenAt = new Map<string, number>();
      const { clock, queue } = workQueueHarness(
        async (key, at) => {
          // Kept, not thrown: a throw here is a failed run and nothing more.
          if (running.has(key)) broken.push(`two runs of ${key}`);
          if (running.size >= concurrency) broken.push('too many runs');
          running.add(key);
          const began = at.monotonic();
          trace.push(`${began} ${key}`);
          const outcome = random();
          if (outcome < 0.8) await sleep(at, Math.floor(random() * 200));
          running.delete(key);
          if (outcome < 0.3) throw new Error('no');
          provenAt.set(key, began);
          if (outcome < 0.4) return { requeueAfterMs: 100 };
          return undefined;
        },
        { concurrency, random: seededRandom(seed + 1), backoff: { firstMs: 20, maxMs: 500 } },
      );
      queue.start();
      for (const { key, waitMs, afterMs, priority } of deeds) {
        await clock.advance(waitMs);
        queue.enqueue(key, { afterMs, priority: priority as 'high' });
        askedAt.set(key, clock.monotonic());
      }
      await clock.advance(60_000);
      for (const [key, at] of askedAt) {
        assert.ok((provenAt.get(key) ?? -1) >= at, `${key} was asked for at ${at}, last done ${provenAt.get(key)}`);
      }
      assert.deepEqual(broken, []);
      await queue.stop();
      assert.equal(clock.pending, 0);
      return trace;
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(deed, { minLength: 1, maxLength: 15 }),
        fc.nat(),
        fc.integer({ min: 1, max: 4 }),
        async (deeds, seed, concurrency) => {
          assert.deepEqual(await play(deeds, seed, concurrency), await play(deeds, seed, concurrency));
        },
      ),
      { numRuns: 30, seed: 20260101 },
    );
  });
});
