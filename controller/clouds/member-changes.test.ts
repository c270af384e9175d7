import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memberChanges } from './member-changes.ts';

function changesOf(there: readonly string[], desired: readonly string[], atOnce?: number) {
  const changes = memberChanges(
    {
      added: desired.filter((one) => !there.includes(one)),
      removed: there.filter((one) => !desired.includes(one)),
      count: there.length,
      isFailed: (one) => one.startsWith('failed'),
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
  it('lets members leave whatever becomes of those that join, while another one stays', () => {
    assert.deepEqual(changesOf(['a', 'b'], ['b', 'c']), ['join 0, c', 'leave 0, a, makes room']);
    assert.deepEqual(changesOf(['a', 'b'], ['b']), ['leave 0, a, makes room']);
  });

  it('lets the last members leave once others have joined', () => {
    assert.deepEqual(changesOf(['a', 'b'], ['c']), ['join 0, c', 'leave 0, a b, join 0']);
    assert.deepEqual(changesOf(['a', 'b'], []), ['leave 0, a b']);
  });

  it('lets those that have failed make room where all are exchanged, but for the last one', () => {
    assert.deepEqual(changesOf(['a', 'failed 1'], ['c']), [
      'join 0, c',
      'leave 0, failed 1, makes room, join 0',
      'leave 1, a, join 0',
    ]);
    assert.deepEqual(changesOf(['failed 1', 'failed 2'], ['c']), [
      'join 0, c',
      'leave 0, failed 2, makes room, join 0',
      'leave 1, failed 1, join 0',
    ]);
  });

  it('takes no more members than a call does', () => {
    assert.deepEqual(changesOf([], ['a', 'b', 'c'], 2), ['join 0, a b', 'join 1, c']);
    assert.deepEqual(changesOf(['a', 'b', 'c'], [], 2), ['leave 0, a b', 'leave 1, c']);
  });
});
