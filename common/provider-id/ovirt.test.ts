import assert from 'node:assert/strict';
import { test } from 'node:test';
import { swapped } from '../smbios-uuid.ts';
import { ovirt } from './ovirt.ts';

const id = '0a6e30c4-58a1-4c1e-9f7c-2f5d3a1b0c9d';

test('an oVirt providerID has the id of the VM, however earlier controllers wrote it', () => {
  for (const text of [`ovirt://${id}`, `ovirt:///${id}`, `ovirt-cloud-provider://${id}`, id, id.toUpperCase()])
    assert.deepEqual(ovirt.parse(text), { instanceId: id }, text);
  assert.equal(ovirt.print({ instanceId: id.toUpperCase() }), `ovirt://${id}`);
});

test('an oVirt providerID of another form is refused', () => {
  for (const text of ['ovirt://node-1', `ovirt://x/${id}`, `ovirt:////${id}`, `vsphere://${id}`, `ovirt://${id}/`, ''])
    assert.equal(ovirt.parse(text), undefined, text);
  assert.throws(() => ovirt.print({ instanceId: 'node-1' }), /"node-1", expected the id of a VM/);
});

test('both byte orders of an SMBIOS UUID name one VM of oVirt', () => {
  assert.equal(ovirt.comparable?.(swapped(id)), ovirt.comparable?.(id));
});
