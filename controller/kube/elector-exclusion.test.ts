import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { electorHarness, type Replica } from './testing/elector-harness.ts';

describe('several electors', () => {
  it('never lets two replicas write under any faults, and has one leader without faults', async () => {
    const deed = fc.record({
      atMs: fc.integer({ min: 0, max: 6_000 }),
      who: fc.integer({ min: 0, max: 2 }),
      what: fc.oneof(
        fc.constantFrom(
          'pause',
          'sleep',
          'resume',
          'forward',
          'back',
          'lose-requests',
          'lose-answers',
          'fine',
          'restart',
        ),
        fc.constant('slow'),
      ),
      sizeMs: fc.integer({ min: 0, max: 20_000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(deed, { minLength: 1, maxLength: 30 }),
        fc.array(fc.double({ min: 0.97, max: 1.03, noNaN: true }), { minLength: 3, maxLength: 3 }),
        async (deeds, rates) => {
          const harness = electorHarness();
          const all: Replica[] = rates.map((rate, i) =>
            harness.replica(`r${i}`, { rate, wallOffsetMs: (i - 1) * 3_600_000 }),
          );
          const living = [...all];
          const check = (when: string) => {
            const may = all.filter((replica) => replica.elector.timeLeftMs() > 0).length;
            assert.ok(may <= 1, `${may} replicas may write ${when}`);
          };
          const pass = async (ms: number) => {
            for (let left = ms; left > 0; left -= 250) {
              await harness.time.advance(Math.min(250, left));
              check(`at ${harness.time.monotonic()}`);
            }
          };
          await pass(2_000);
          let births = 0;
          for (const { atMs, who, what, sizeMs } of deeds) {
            await pass(atMs);
            const replica = living[who]!;
            if (what === 'pause' || what === 'sleep') replica.clock.stop(what);
            else if (what === 'resume') replica.clock.resume();
            else if (what === 'forward') replica.clock.stepWall(sizeMs);
            else if (what === 'back') replica.clock.stepWall(-sizeMs);
            else if (what === 'lose-requests') replica.weather = () => ({ lost: 'request' });
            else if (what === 'lose-answers') replica.weather = () => ({ lost: 'answer' });
            else if (what === 'slow') replica.weather = () => ({ thereMs: sizeMs / 4, backMs: sizeMs / 3 });
            else if (what === 'fine') replica.weather = () => ({});
            else {
              replica.kill();
              births += 1;
              const born = harness.replica(`born${births}`, { rate: rates[who]! });
              all.push(born);
              living[who] = born;
            }
            check(`after ${what}`);
          }
          for (const replica of living) {
            replica.clock.resume();
            replica.weather = () => ({});
          }
          check('after all resumed');
          await pass(40_000);
          assert.equal(living.filter((replica) => replica.elector.leading).length, 1);
          for (const replica of all) replica.stop.abort();
        },
      ),
      { numRuns: 40, seed: 20260101 },
    );
  });
});
