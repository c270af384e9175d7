import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hasAnyTag, tagDifference } from './tag-difference.ts';

describe('the difference of tags', () => {
  const desired = { team: 'a', cost: '' };
  for (const [held, expected] of [
    [{ team: 'a', cost: '', Name: 'x' }, undefined],
    [{ team: 'a' }, { missing: ['cost'], differing: [] }],
    [
      { team: 'b', cost: '' },
      { missing: [], differing: [{ key: 'team', value: 'b' }] },
    ],
    [{}, { missing: ['team', 'cost'], differing: [] }],
  ] as const) {
    it(`counts desired tags alone: ${JSON.stringify(held)}`, () => {
      assert.deepEqual(tagDifference(desired, held), expected);
    });
  }

  it('takes a tag of another value for none of ours', () => {
    assert.equal(hasAnyTag(desired, { team: 'b' }), false);
    assert.equal(hasAnyTag(desired, { team: 'b', cost: '' }), true);
    assert.equal(hasAnyTag({ toString: 'x' }, {}), false);
  });
});
