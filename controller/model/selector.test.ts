import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseSelector } from './selector.ts';

const node = { a: '1', 'example.com/pool': 'blue', empty: '' };

describe('a label selector', () => {
  for (const [text, matches] of [
    ['', true],
    ['a', true],
    ['b', false],
    ['!b', true],
    ['!a', false],
    ['a=1', true],
    ['a==1', true],
    ['a=2', false],
    ['a!=2', true],
    ['b!=2', true],
    ['a!=1', false],
    ['empty=', true],
    ['example.com/pool=blue', true],
    ['a in (1, 2)', true],
    ['a in (2)', false],
    ['b in (1)', false],
    ['b notin (1)', true],
    ['a notin (1,2)', false],
    ['a=1,example.com/pool in (blue,green),!b', true],
    ['a=1, example.com/pool notin (blue) ', false],
    [' a = 1 ', true],
  ] as const) {
    it(`${JSON.stringify(text)} ${matches ? 'matches' : 'does not match'}`, () =>
      assert.equal(parseSelector(text)(node), matches));
  }

  for (const text of [
    'a,',
    ',',
    'a=1,,b=2',
    'a in',
    'a in 1',
    'a in (1',
    'a>1',
    'a=b=c',
    '=1',
    'a in (1) b',
    '! ',
    'a b',
  ]) {
    it(`${JSON.stringify(text)} is refused, with the part that does not parse`, () =>
      assert.throws(() => parseSelector(text), RangeError));
  }

  const key = fc.constantFrom('a', 'b', 'example.com/c');
  const value: fc.Arbitrary<string> = fc.constantFrom('1', '2', '');
  const requirement = fc.oneof(
    key.map((k) => ({ text: k, test: (l: Record<string, string>) => k in l })),
    key.map((k) => ({ text: `!${k}`, test: (l: Record<string, string>) => !(k in l) })),
    fc.tuple(key, value).map(([k, v]) => ({ text: `${k}=${v}`, test: (l: Record<string, string>) => l[k] === v })),
    fc.tuple(key, value).map(([k, v]) => ({ text: `${k}!=${v}`, test: (l: Record<string, string>) => l[k] !== v })),
    fc.tuple(key, fc.array(value, { minLength: 1, maxLength: 3 })).map(([k, vs]) => ({
      text: `${k} in (${vs.join(',')})`,
      test: (l: Record<string, string>) => k in l && vs.includes(l[k]!),
    })),
    fc.tuple(key, fc.array(value, { minLength: 1, maxLength: 3 })).map(([k, vs]) => ({
      text: `${k} notin (${vs.join(',')})`,
      test: (l: Record<string, string>) => !(k in l) || !vs.includes(l[k]!),
    })),
  );

  it('requires all of its requirements', () => {
    const labels = fc.dictionary(key, value, { noNullPrototype: true });
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 5 }), labels, (all, held) => {
        const expected = all.every(({ test }) => test(held));
        assert.equal(parseSelector(all.map(({ text }) => text).join(','))(held), expected);
      }),
      { numRuns: 2000, seed: 14 },
    );
  });

  it('parses or throws a RangeError, nothing else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[ab=!,() in]{0,30}$/)), (text) => {
        try {
          parseSelector(text)(node);
        } catch (error) {
          assert.ok(error instanceof RangeError);
        }
      }),
      { numRuns: 2000, seed: 15 },
    );
  });
});
