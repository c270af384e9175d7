import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CloudError } from '../../common/cloud-error.ts';
import { parseLosslessJson } from './lossless-json.ts';

const parse = (text: string) => parseLosslessJson('gce', 'GET /', text);

test('every unsigned 64-bit number is read to its last digit', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (id) => {
      assert.equal(String((parse(`{"id": ${id}}`) as { id: unknown }).id), String(id));
    }),
  );
});

test('a number that a double represents exactly stays a number', () => {
  assert.deepEqual(parse('{"a": 1460, "b": [1.5, -1, 1e3], "c": "9007199254740993"}'), {
    a: 1460,
    b: [1.5, -1, 1000],
    c: '9007199254740993',
  });
});

test('a text that is not JSON is an error that does not show it, nor does its cause', () => {
  assert.throws(
    () => parse('secret: not json'),
    (error: unknown) =>
      error instanceof CloudError && error.kind === 'Invalid' && !/secret/.test(`${error.message} ${error.cause}`),
  );
});
