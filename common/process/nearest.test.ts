import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest, suggestion } from './nearest.ts';

test('proposes only words that are near', () => {
  const commands = ['run', 'plan', 'explain', 'status', 'check'];
  assert.deepEqual(nearest('statsu', commands), ['status']);
  assert.deepEqual(nearest('explian', commands), ['explain']);
  assert.deepEqual(nearest('rum', commands), ['run']);
  assert.deepEqual(nearest('delete', commands), []);
  assert.deepEqual(nearest('listen', ['master', 'kubeconfig']), []);
  assert.deepEqual(nearest('x', []), []);
  assert.equal(suggestion('cat', ['bat', 'car']), ' (Did you mean one of bat, car?)');
});
