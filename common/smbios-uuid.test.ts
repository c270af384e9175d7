import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { swapped } from './smbios-uuid.ts';

test('converts the form of the guest into that of vCenter, and back', () => {
  const guest = '56492e42-22ad-3911-6d72-59cc8f26bc90';
  const vcenter = '422e4956-ad22-1139-6d72-59cc8f26bc90';
  assert.equal(swapped(guest), vcenter);
  assert.equal(swapped(vcenter), guest);
});

test('restores a UUID that is swapped twice, and leaves the last two groups', () => {
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      assert.equal(swapped(swapped(uuid)), uuid);
      assert.equal(swapped(uuid).slice(19), uuid.slice(19));
    }),
    { seed: 16 },
  );
});
