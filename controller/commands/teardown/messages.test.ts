import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServicesRemainError } from './teardown.ts';
import { heldMessage } from './while-leading.ts';

test('teardown counts the Services that remain', () => {
  assert.match(new ServicesRemainError(['shop/web']).message, /^1 Service still has .*\(shop\/web\): delete it first/);
  assert.match(new ServicesRemainError(['a/b', 'c/d']).message, /^2 Services still have .*: delete them first/);
});

test('teardown names the holder of the Lease and the command that stops it', () => {
  const lease = { namespace: 'kube-system', name: 'cloud-controller-manager' };
  const command = "'kubectl scale deployment mooring-controller -n mooring --replicas=0'";
  assert.equal(
    heldMessage(lease, 'node-1_b2', 'mooring'),
    'the Lease kube-system/cloud-controller-manager is held by the running controller node-1_b2: stop it first, ' +
      `as by ${command}`,
  );
  assert.match(heldMessage(lease, undefined, 'mooring'), /is held by a running controller: stop it first/);
});
