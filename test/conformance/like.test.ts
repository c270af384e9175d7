import assert from 'node:assert/strict';
import { test } from 'node:test';
import { absent, like } from './like.ts';

test('like accepts an object with at least the expected parts', () => {
  like({ a: 1, b: { c: [{ d: 'x', e: 2 }] } }, { b: { c: [{ d: /^x$/ }] } });
  like({ a: 1 }, { a: (value: number) => value > 0, b: absent });
  like(undefined, absent);
});

test('like names the part that differs', () => {
  const cases: [actual: unknown, expected: unknown, said: RegExp][] = [
    [{ a: { b: 1 } }, { a: { b: 2 } }, /^\.a\.b should be 2, is 1/],
    [{ a: [1] }, { a: [1, 2] }, /^\.a should have 2 items, has 1/],
    [{ a: [1, 3] }, { a: [1, 2] }, /^\.a\[1\] should be 2, is 3/],
    [{ a: 'x' }, { a: /y/ }, /^\.a should match \/y\/, is "x"/],
    [{ a: 1 }, { a: /1/ }, /^\.a should match/],
    [{ a: 1 }, { a: absent }, /^\.a should be absent, is 1/],
    [{ a: null }, { a: absent }, /^\.a should be absent, is null/],
    [{}, { a: { b: absent } }, /^\.a should be an object, is undefined/],
    [{ a: 1 }, { a: () => false }, /^\.a should satisfy/],
    ['1', 1, /^the value should be 1, is "1"/],
    [{ a: {} }, { a: [] }, /^\.a should be an array/],
  ];
  for (const [actual, expected, said] of cases) assert.throws(() => like(actual, expected), { message: said });
});
