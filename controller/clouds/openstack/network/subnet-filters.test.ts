import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nameMatcher, tagMatcher } from './subnet-filters.ts';

describe('patterns for subnets', () => {
  for (const [pattern, name, expected] of [
    ['blue', 'blue', true],
    ['blue', 'blue-1', false],
    ['blue-*', 'blue-1', true],
    ['b?ue', 'blue', true],
    ['a.c', 'abc', false],
    ['~bl(ue|ack)', 'black', true],
    ['~bl', 'blue', false],
    ['!blue*', 'red', true],
    ['!~b.*', 'blue', false],
  ] as const) {
    it(`${pattern} and ${name}`, () => assert.equal(nameMatcher(pattern)?.(name), expected));
  }
  for (const [filter, tags, expected] of [
    ['a,b', ['b'], true],
    ['a,b', ['c'], false],
    ['&a,b', ['a'], false],
    ['&a,b', ['a', 'b', 'c'], true],
    ['!a,b', ['a'], false],
    ['!a,b', ['c'], true],
    ['!&a,b', ['a'], true],
    ['!&a,b', ['a', 'b'], false],
  ] as const) {
    it(`${filter} and ${tags.join(', ')}`, () => assert.equal(tagMatcher(filter)(tags), expected));
  }
});
