import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../common/process/log.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { firstRead } from './first-read.ts';

describe('the first read of a new leader', () => {
  function setUp() {
    const clock = fakeClock();
    const lines: string[] = [];
    const log = createLog({ clock, level: 'info', format: 'json', write: (line) => lines.push(line) });
    return { clock, lines, context: { clock, random: () => 0.5, log } };
  }

  it('repeats a failed first read with back-off, with a warning each time', async () => {
    const { clock, lines, context } = setUp();
    const atMs: number[] = [];
    const read = async () => {
      atMs.push(clock.monotonic());
      if (atMs.length < 5) throw new Error('socket hang up');
      return 'uid';
    };
    const answer = firstRead('namespace', read, context, new AbortController().signal);
    await clock.advance(60_000);
    assert.equal(await answer, 'uid');
    const pauses = atMs.slice(1).map((at, index) => at - atMs[index]!);
    assert.deepEqual(
      pauses,
      pauses.toSorted((a, b) => a - b),
    );
    assert.equal(lines.filter((line) => line.includes('"level":"warn"')).length, 4);
    assert.equal(clock.pending, 0);
  });

  it('ends a first read without an answer when this replica no longer leads', async () => {
    const { clock, context } = setUp();
    const leading = new AbortController();
    const answer = firstRead('namespace', () => Promise.reject(new Error('refused')), context, leading.signal);
    await clock.advance(5000);
    leading.abort();
    assert.equal(await answer, undefined);
    assert.equal(clock.pending, 0);
  });
});
