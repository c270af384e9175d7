import assert from 'node:assert/strict';
import { it } from 'node:test';
import { advanceDuring, fakeClock } from '../../../../common/testing/fake-clock.ts';
import { createOperations } from './fake-operations.ts';

it('answers `wait` with an operation that is done, though the timer fires a millisecond early', async () => {
  const clock = fakeClock();
  const early = { ...clock, setTimer: (ms: number, run: () => void) => clock.setTimer(Math.max(1, ms - 1), run) };
  const operations = createOperations(early, () => '7');
  operations.durationMs = 300;
  let deleted = false;
  operations.start('delete', 'projects/proj/global/routes/a', () => {
    deleted = true;
  });
  const read = await advanceDuring(clock, operations.read('operation-7', 'projects/proj/global', true));
  assert.partialDeepStrictEqual(read, { status: 'DONE', progress: 100 });
  assert.equal(deleted, true);
});
