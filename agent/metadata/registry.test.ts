import assert from 'node:assert/strict';
import { test } from 'node:test';
import { providerIdCodecs } from '../../common/provider-id/registry.ts';
import { sourceKinds } from './registry.ts';

test('every cloud whose metadata can be read has providerIDs that can be parsed, under the same name', () => {
  assert.ok(sourceKinds.size > 0);
  for (const [name, kind] of sourceKinds) {
    assert.equal(kind.cloud, name);
    assert.ok(providerIdCodecs.has(name), name);
  }
});
