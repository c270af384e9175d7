import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPauseValue } from './well-known.ts';

test('a pause holds for whatever a person writes to mean it, and for nothing that denies it', () => {
  for (const value of ['true', 'True', 'yes', '1', 'until monday']) assert.equal(isPauseValue(value), true, value);
  for (const value of [undefined, '', ' ', 'false', 'FALSE', 'no', 'off', '0'])
    assert.equal(isPauseValue(value), false, value);
});
