import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memberChanges } from './member-changes.ts';

function changesOf(there: readonly string[], desired: readonly string[], atOnce?: number) {
  const changes = memberChanges(
    {
      added: desired.filter((one) => !there.includes(one)),
      removed: there.filter((one) => !desired.includes(one)),
      ...(atOnce !== undefined && { atOnce }),
    },
    (some, at) => ({ what: `join ${at}`, summary: some.join(' ') }),
    (some, at) => ({ what: `leave ${at}`, summary: some.join(' ') }),
  );
  return changes.map(({ what, summary, after = [] }) => [what, summary, ...after].join(', '));
}

describe('the calls for members', () => {
  it('lets members leave once all others have joined', () => {
    assert.deepEqual(changesOf(['a', 'b'], ['b', 'c']), ['join 0, c', 'leave 0, a, join 0']);
    assert.deepEqual(changesOf(['a', 'b'], ['b']), ['leave 0, a']);
  });

  it('takes no more members than a call does', () => {
    assert.deepEqual(changesOf([], ['a', 'b', 'c'], 2), ['join 0, a b', 'join 1, c']);
    assert.deepEqual(changesOf(['a', 'b', 'c'], [], 2), ['leave 0, a b', 'leave 1, c']);
  });
});
