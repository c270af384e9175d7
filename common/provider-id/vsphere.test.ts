import assert from 'node:assert/strict';
import { test } from 'node:test';
import { vsphere } from './vsphere.ts';

test('a uuid in any case is written in lower case', () => {
  const id = '422e4956-ad22-1139-8d5b-0c1d2e3f4051';
  assert.deepEqual(vsphere.parse(`vsphere://${id}`), { instanceId: id });
  assert.deepEqual(vsphere.parse(`vsphere:// ${id.toUpperCase()}`), { instanceId: id });
  assert.equal(vsphere.print({ instanceId: id.toUpperCase() }), `vsphere://${id}`);
});

test('anything else is not accepted', () => {
  for (const text of [
    'vsphere://vm-42',
    'vsphere:///422e4956-ad22-1139-8d5b-0c1d2e3f4051',
    '422e4956-ad22-1139-8d5b-0c1d2e3f4051',
  ]) {
    assert.equal(vsphere.parse(text), undefined, text);
  }
  assert.throws(() => vsphere.print({ instanceId: 'vm-42' }), /"vm-42", expected a BIOS uuid/);
});
