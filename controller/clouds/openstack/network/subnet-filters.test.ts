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
    it(`${pattern} ${expected ? 'fits' : 'does not fit'} ${name}`, () =>
      assert.equal(nameMatcher(pattern)?.(name), expected));
  }

  for (const pattern of [
    '~',
    '~^public-.*$',
    '~public-v[46]',
    '~(public|private)-v4',
    '~p[^0-9]+-v\\d',
    '~public\\-v4',
    '~p\\w*?-v4',
    '~(?:pu)?(b|lic|-)+v4',
    '~p.{6,}4',
    '~.{9}',
    '~.{1,8}',
    '~.{0,9}',
    '~(.{3}){3}',
    '~(p*u*b*)*',
    '~.*(v4|)',
    '~|a',
    '~(()*)*p.*',
    '~[a-cp]ublic[-_]v.',
    '~[\\]p]ublic-v4',
    '~public-v4\\z',
    '~\\$',
    'p*4',
    'public-v[!5]',
  ])
    it(`${pattern} fits the names that a RegExp fits`, () => {
      const source = pattern.startsWith('~')
        ? pattern.slice(1).replace('\\z', '')
        : pattern.replace('*', '.*').replace('!', '^');
      const form = new RegExp(`^(?:${source})$`);
      const matches = nameMatcher(pattern);
      for (const name of ['public-v4', 'public-v6', 'private-v4', 'public', 'p', '', '$', ']ublic-v4'])
        assert.equal(matches?.(name), form.test(name), name);
    });

  for (const pattern of [
    '~(',
    '~)',
    '~a)',
    '~[',
    '~*',
    '~a**',
    '~a{2,1}',
    '~\\',
    '~(?i)a',
    '~(?P<n>a)',
    '~\\bpublic',
    '~[[:alpha:]]',
    '~a^b',
    '~a|^b',
    '~\\pL',
    '~\\1',
    `~${'('.repeat(300)}`,
    '~((a{999}){999}){999}',
    '~(((){999}){999}){999}',
    `~${'a'.repeat(256)}`,
  ])
    it(`refuses the pattern ${pattern.slice(0, 30)}`, () => assert.equal(nameMatcher(pattern), undefined));
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
    it(`${filter} ${expected ? 'fits' : 'does not fit'} the tags ${tags.join(', ')}`, () =>
      assert.equal(tagMatcher(filter)(tags), expected));
  }
});
