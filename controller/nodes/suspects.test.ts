import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createSuspects, scheduleLookup } from './suspects.ts';

describe('suspects', () => {
  it('keeps the series of answers and the back-off at a second hint, unless the Node changed', async () => {
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

  it('treats a re-created Node as another suspect, which the end of the old one does not drop', () => {
    const suspects = createSuspects(fakeClock());
    suspects.add('a', 'old', true, false);
    const old = suspects.get('a');
    assert.ok(old);
    suspects.add('a', 'new', false, false);
    assert.equal(suspects.get('a')?.hinted, false);
    suspects.end(old);
    assert.equal(suspects.get('a')?.uid, 'new');
    suspects.drop('a');
    assert.equal(suspects.get('a'), undefined);
    assert.equal(suspects.nextAtMs(), undefined);
  });

  it('says whether a Node is due now, so that thousands of events need no search for the next one', () => {
    const suspects = createSuspects(fakeClock());
    const add = (changedSinceLookup: boolean) => suspects.add('a', 'uid', false, changedSinceLookup);
    assert.deepEqual([add(false), add(false), add(true)], [true, false, true]);
  });

  it('puts suspects that are due within the slack into one pass', () => {
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

test('a change during a lookup is not postponed by the outcome of the lookup', () => {
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
