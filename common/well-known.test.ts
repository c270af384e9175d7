import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPauseValue, pausedNodesOf } from './well-known.ts';

test('every value pauses except empty, false, no, off and 0', () => {
  for (const value of ['true', 'True', 'yes', '1', 'until monday']) assert.equal(isPauseValue(value), true, value);
  for (const value of [undefined, '', ' ', 'false', 'FALSE', 'no', 'off', '0'])
    assert.equal(isPauseValue(value), false, value);
});

test('the Nodes kept from deletion are separated by commas, spaces or lines', () => {
  const expected = new Set(['a', 'b.example.com', 'c']);
  for (const text of ['a,b.example.com,c', 'a b.example.com c', ' a,\n b.example.com\n,c\n'])
    assert.deepEqual(pausedNodesOf(text), expected, text);
  for (const text of [undefined, '', ' , \n']) assert.deepEqual(pausedNodesOf(text), new Set(), text);
});
