import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cloudstack } from './cloudstack.ts';

const id = '915653c4-298b-4d74-bdee-4ced282114f1';

test('a UUID is read with the scheme of the classic controller or of Talos, and printed with the first', () => {
  for (const scheme of ['external-cloudstack', 'cloudstack'])
    assert.deepEqual(cloudstack.parse(`${scheme}://${id.toUpperCase()}`), { instanceId: id });
  assert.equal(cloudstack.print({ instanceId: id }), `external-cloudstack://${id}`);
});

test('what is no UUID with one of these schemes is not a VM of CloudStack', () => {
  for (const text of [id, 'external-cloudstack://', 'external-cloudstack://web-1', `openstack:///${id}`])
    assert.equal(cloudstack.parse(text), undefined, text);
  assert.throws(() => cloudstack.print({ instanceId: 'web-1' }), /"web-1", expected the UUID of a VM/);
});
