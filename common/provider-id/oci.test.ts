import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oci } from './oci.ts';

const id = 'ocid1.instance.oc1.phx.anyhqljrxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx';

test('an OCID with its scheme or bare', () => {
  assert.deepEqual(oci.parse(`oci://${id}`), { instanceId: id });
  assert.deepEqual(oci.parse(id), { instanceId: id });
  assert.equal(oci.print({ instanceId: id }), `oci://${id}`);
  assert.ok(oci.parse('oci://ocid1.instance.oc1.eu-frankfurt-1.antheljt'));
});

test('OCIDs of other things, and other texts, are not accepted', () => {
  for (const text of [
    'oci://ocid1.vnic.oc1.phx.abyhqljr',
    'ocid1.instance.oc1.phx.',
    'oci:///ocid1.instance.oc1.phx.a',
    'i-0aa11bb22cc33dd44',
    'aws://ocid1.instance.oc1.phx.a',
  ]) {
    assert.equal(oci.parse(text), undefined, text);
  }
  assert.throws(() => oci.print({ instanceId: 'node-7' }), /"node-7", expected an instance's OCID/);
});
