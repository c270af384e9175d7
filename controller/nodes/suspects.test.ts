import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createSuspects, scheduleLookup } from './suspects.ts';

describe('suspects', () => {
  it('a second hint keeps the row of answers and the back-off, unless it is news', async () => {
    const clock = fakeClock();
    const suspects = createSuspects(clock);
    suspects.add('a', 'uid', false, false);
    const suspect = suspects.get('a');
    assert.ok(suspect);
    suspect.nextAtMs = 60_000;
    suspect.tries = 5;
    suspects.add('a', 'uid', false, false);
    assert.deepEqual([suspect.nextAtMs, suspect.tries], [60_000, 5]);
    await clock.advance(1000);
    suspects.add('a', 'uid', true, true);
    assert.equal(suspects.get('a'), suspect);
    assert.deepEqual([suspect.nextAtMs, suspect.tries, suspect.hinted], [1000, 0, true]);
  });

  it('a Node re-created under the name is another suspect, which the end of the old one does not drop', () => {
    const suspects = createSuspects(fakeClock());
    suspects.add('a', 'old', true, false);
    const old = suspects.get('a');
    assert.ok(old);
    suspects.add('a', 'new', false, false);
    assert.equal(suspects.get('a')?.hinted, false);
    suspects.end(old);
    assert.equal(suspects.get('a')?.uid, 'new');
    assert.equal(suspects.size, 1);
    suspects.drop('a');
    assert.equal(suspects.size, 0);
    assert.equal(suspects.nextAtMs(), undefined);
  });

  it('those due within the slack share a pass', () => {
    const clock = fakeClock();
    const suspects = createSuspects(clock);
    for (const [name, at] of [
      ['a', 0],
      ['b', 900],
      ['c', 1100],
    ] as const) {
      suspects.add(name, name, false, false);
      const held = suspects.get(name);
      if (held) held.nextAtMs = at;
    }
    assert.deepEqual(
      suspects.due(1000).map(({ name }) => name),
      ['a', 'b'],
    );
  });
});

test('news that comes during a look is not put off by its outcome', () => {
  const clock = fakeClock();
  const suspects = createSuspects(clock);
  suspects.add('a', 'uid-a', false, false);
  const [suspect] = suspects.due(0);
  assert.ok(suspect);
  suspects.add('a', 'uid-a', false, true);
  scheduleLookup(suspect, clock.monotonic() + 60_000);
  assert.deepEqual(suspects.due(0), [suspect]);
  suspect.changedSinceLookup = false;
  scheduleLookup(suspect, clock.monotonic() + 60_000);
  assert.deepEqual(suspects.due(0), []);
});
