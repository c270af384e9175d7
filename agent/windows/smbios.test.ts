import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { smbiosTable } from '../testing/registry-output.ts';
import { readSmbios } from './smbios.ts';

const uuid = '00112233-4455-6677-8899-aabbccddeeff';
const files = { sys_vendor: 'QEMU', product_name: 'Standard PC', product_uuid: uuid, chassis_asset_tag: 'tag' };

test('takes the UUID as it stands before SMBIOS 2.6, and little-endian from then on', () => {
  for (const version of [
    [2, 5],
    [2, 6],
    [3, 3],
  ] as const)
    assert.equal(readSmbios(smbiosTable(files, version)).productUuid, uuid);
  const relabelled = smbiosTable(files, [2, 8]);
  relabelled.set([2, 4], 1);
  assert.equal(readSmbios(relabelled).productUuid, '33221100-5544-7766-8899-aabbccddeeff');
});

test('a UUID whose bits are all alike is none', () => {
  for (const digit of ['0', 'f'])
    assert.equal(readSmbios(smbiosTable({ product_uuid: uuid.replaceAll(/[0-9a-f]/g, digit) })).productUuid, undefined);
});

test('takes the first of several structures of a type', () => {
  const [one, two] = [smbiosTable({ sys_vendor: 'first' }), smbiosTable({ sys_vendor: 'second' })];
  // Without the structure that ends the table.
  const both = Buffer.concat([one.subarray(0, -6), two.subarray(8)]);
  both.writeUInt32LE(both.length - 8, 4);
  assert.equal(readSmbios(both).sysVendor, 'first');
});

test('what is no visible ASCII becomes a dot; the number of a string that is not there leaves the field out', () => {
  assert.equal(readSmbios(smbiosTable({ sys_vendor: 'A\u001b[31m\u00e9B' })).sysVendor, 'A.[31m.B');
  const table = smbiosTable({ sys_vendor: 'X', chassis_asset_tag: 'tag' });
  const at = table.indexOf(Buffer.from([3, 0x16, 3, 1]));
  table[at + 8] = 9;
  assert.deepEqual(readSmbios(table), { sysVendor: 'X' });
});

test('a table that is cut off gives what was whole before, and never a text that the firmware does not have', () => {
  const whole = smbiosTable(files);
  const facts = new Set(Object.values(readSmbios(whole)));
  for (let length = 0; length <= whole.length; length += 1)
    for (const fact of Object.values(readSmbios(whole.subarray(0, length)))) assert.ok(facts.has(fact), fact);
});

test('any bytes give short printable texts or nothing', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), fc.boolean(), (bytes, damaged) => {
      const raw = damaged ? Buffer.from(smbiosTable(files)) : Buffer.from(bytes);
      if (damaged) for (const [at, byte] of bytes.entries()) if (byte < 40) raw[(at * 7) % raw.length] = byte;
      for (const text of Object.values(readSmbios(raw))) assert.match(text, /^[\x20-\x7e]{1,400}$/);
    }),
  );
});
