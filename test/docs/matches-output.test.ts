import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { matchesOutput } from './matches-output.ts';

describe('matchesOutput', () => {
  test('takes the same text with other widths of columns', () => {
    assert.ok(matchesOutput('NAME  AGE\nweb   1s', 'NAME     AGE\nweb      1s\n'));
  });

  test('takes three dots as any text of one line', () => {
    assert.ok(matchesOutput('id lb-... is up', 'id lb-12 is up'));
    assert.ok(!matchesOutput('id lb-... is up', 'id lb-12\nis up'));
  });

  test('takes a line of three dots as any number of lines', () => {
    assert.ok(matchesOutput('first\n...\nlast', 'first\nlast'));
    assert.ok(matchesOutput('first\n  ...', 'first\nsecond\nthird'));
  });

  test('refuses another text, a missing line and a further line', () => {
    assert.ok(!matchesOutput('a.c', 'abc'));
    assert.ok(!matchesOutput('a\nb', 'a'));
    assert.ok(!matchesOutput('a', 'a\nb'));
  });
});
