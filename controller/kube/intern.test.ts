import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createInterner } from './intern.ts';

it('an interner returns equal strings, also when it is full', () => {
  const intern = createInterner(2);
  for (const text of ['a', 'b', 'a', 'c', 'b', '', 'a']) assert.equal(intern(text), text);
});
