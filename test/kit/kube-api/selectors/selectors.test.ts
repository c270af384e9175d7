import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../api-error.ts';
import { matchesFields, parseFieldSelector } from './field-selector.ts';
import { parseLabelSelector } from './label-selector.ts';

const labels = { env: 'prod', tier: 'web', 'example.com/x': '', n: '5' };
const matching = [
  'env=prod',
  'env==prod',
  'env!=dev',
  'other!=dev',
  'env in (prod,dev)',
  'env in ( prod , dev ),tier notin (db)',
  'other notin (a)',
  'env,!other',
  'example.com/x=',
  'n>4,n<6',
  ' env = prod , tier = web ',
];
const failing = [
  'env=dev',
  'env!=prod',
  'env notin (prod)',
  'other in (a)',
  '!env',
  'other',
  'n>5',
  'env=prod,tier=db',
];
for (const text of matching) {
  test(`the selector ${text} matches`, () => assert.ok(parseLabelSelector(text)?.(labels)));
}
for (const text of failing) {
  test(`the selector ${text} does not match`, () => assert.equal(parseLabelSelector(text)?.(labels), false));
}

test('an empty selector matches everything', () => assert.equal(parseLabelSelector(''), undefined));

for (const text of ['a=b=c', 'a in (b', 'a b', ',a', 'a,', '-a', 'a=-', '=b']) {
  test(`the selector ${text} is a bad request`, () => {
    assert.throws(
      () => parseLabelSelector(text),
      (error) => error instanceof ApiError && error.code === 400,
    );
  });
}

test('field selectors know =, == and !=, and escapes', () => {
  const terms = parseFieldSelector('a.b=c,d!=e,f==g\\,h\\=i');
  assert.deepEqual(terms, [
    { field: 'a.b', equal: true, value: 'c' },
    { field: 'd', equal: false, value: 'e' },
    { field: 'f', equal: true, value: 'g,h=i' },
  ]);
  assert.ok(matchesFields(terms, { 'a.b': 'c', d: 'x', f: 'g,h=i' }));
  assert.ok(!matchesFields(terms, { 'a.b': 'c', d: 'e', f: 'g,h=i' }));
  assert.throws(() => parseFieldSelector('nonsense'), ApiError);
});
