import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CloudError } from '../../common/cloud-error.ts';
import { parseJson } from './client.ts';
import { jsonSizeOf } from './json-size.ts';

describe('the size of a JSON text', () => {
  for (const [text, elements, depth] of [
    ['1', 1, 0],
    ['{}', 2, 1],
    ['[{},{},{}]', 7, 2],
    ['{"a":{"b":[1,2]}}', 7, 3],
    ['"{[,:"', 1, 0],
    ['["\\"{[,"]', 2, 1],
    ['"\\', 1, 0],
  ] as const) {
    it(`counts ${elements} elements, ${depth} deep, in ${text}`, () =>
      assert.deepEqual(jsonSizeOf(text), { elements, depth }));
  }

  it('counts at least every value of any document', () => {
    const count = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? 1 + Object.values(value).reduce((sum: number, each) => sum + count(each), 0)
        : 1;
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        assert.ok(jsonSizeOf(JSON.stringify(value)).elements >= count(value));
      }),
    );
  });
});

describe('parsing the answer of a metadata service', () => {
  for (const [what, text, expected] of [
    ['too many values', `[${'{},'.repeat(30_000)}{}]`, 'at most 20000 values'],
    ['too deep a document', '['.repeat(2_000) + ']'.repeat(2_000), 'at most 64 levels'],
  ] as const) {
    it(`refuses ${what} before it costs memory`, () => {
      assert.throws(
        () => parseJson('aws', 'GET /x', text),
        (error: unknown) => error instanceof CloudError && error.kind === 'Invalid' && error.message.includes(expected),
      );
    });
  }

  it('takes a long text in few values', () => {
    assert.deepEqual(parseJson('gce', 'GET /x', JSON.stringify({ script: '{,'.repeat(200_000) })), {
      script: '{,'.repeat(200_000),
    });
  });
});
