import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nocloud } from './nocloud.ts';
import { providerIdCodecs } from './registry.ts';

test('keeps a providerID of a machine without a cloud unchanged', () => {
  for (const text of ['nocloud://rack-3/node-7', 'proxmox://cluster-1/105', 'hrobot://321987', 'ovirt:///4C4C4544']) {
    assert.deepEqual(nocloud.parse(text), { instanceId: text });
    assert.equal(nocloud.print({ instanceId: text }), text);
  }
});

test('providerIDs of other clouds and of unknown platforms are not accepted', () => {
  // Seeds named VMs of oVirt before it was a cloud of its own.
  const others = [...providerIdCodecs.values()].filter(({ cloud }) => cloud !== 'nocloud' && cloud !== 'ovirt');
  for (const { scheme } of others) assert.equal(nocloud.parse(`${scheme}://x/y`), undefined, scheme);
  for (const text of [
    'kind://docker/kind/node',
    'k3s://node',
    'node-7',
    'nocloud://',
    'nocloud:///',
    'nocloud://a b',
    '',
  ]) {
    assert.equal(nocloud.parse(text), undefined, text);
  }
  assert.throws(
    () => nocloud.print({ instanceId: 'aws:///a/i-1' }),
    /"aws:\/\/\/a\/i-1", expected one of nocloud:\/\//,
  );
});
