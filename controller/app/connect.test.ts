import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installedIn } from './connect.ts';

test("the controller's objects are in the namespace of its flag, else of its Pod, else in kube-system", () => {
  assert.equal(installedIn('given', { podNamespace: 'pod' }), 'given');
  assert.equal(installedIn('', { podNamespace: 'pod' }), 'pod');
  assert.equal(installedIn('', {}), 'kube-system');
});
