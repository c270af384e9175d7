import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cloudOf } from './registry.ts';

test('a providerID belongs to the cloud that takes it, a module among them, or to none', () => {
  assert.equal(cloudOf('hcloud://42'), 'hetzner');
  assert.equal(cloudOf('example://a', ['example']), 'example');
  assert.equal(cloudOf('example://a'), undefined);
  assert.equal(cloudOf(''), undefined);
});
