import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memberChanges } from './member-changes.ts';

function changesOf(there: readonly string[], desired: readonly string[], atOnce?: number) {
  const changes = memberChanges(
    {
      added: desired.filter((one) => !there.includes(one)),
      removed: there.filter((one) => !desired.includes(one)),
      count: there.length,
      ...(atOnce !== undefined && { atOnce }),
    },
    (some, at) => ({ what: `join ${at}`, summary: some.join(' ') }),
    (some, at) => ({ what: `leave ${at}`, summary: some.join(' ') }),
  );
  return changes.map(({ what, summary, makesRoom, after = [] }) =>
    [what, summary, ...(makesRoom ? ['makes room'] : []), ...after].join(', '),
  );
}

describe('the calls for members', () => {
  it('let those that leave make room while others stay', () => {
    assert.deepEqual(changesOf(['a', 'b'], ['b', 'c']), ['join 0, c', 'leave 0, a, makes room, join 0']);
    assert.deepEqual(changesOf(['a', 'b', 'c'], ['c']), ['leave 0, a b, makes room']);
  });

  it('keep the last of those that leave until all have joined, where none stays', () => {
    assert.deepEqual(changesOf(['a', 'b', 'c'], ['d', 'e', 'f']), [
      'join 0, d',
      'join 1, e f',
      'leave 0, a, join 0, join 1',
      'leave 1, b c, makes room, join 0, join 1',
    ]);
    assert.deepEqual(changesOf(['a'], ['b']), ['join 0, b', 'leave 0, a, join 0']);
  });

  it('take no more members than a call does', () => {
    assert.deepEqual(changesOf([], ['a', 'b', 'c'], 2), ['join 0, a b', 'join 1, c']);
    assert.deepEqual(changesOf(['a', 'b', 'c'], [], 2), ['leave 0, a b, makes room', 'leave 1, c, makes room']);
  });
});
