import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { detectCloud } from '../detect.ts';
import { sourceKinds } from '../metadata/registry.ts';
import type { Dmi } from '../metadata/source.ts';
import { type FirmwareFiles, fakeRegistry, registryOfMachine } from '../testing/registry-output.ts';
import type { QueryRegistry } from './registry.ts';
import { windowsMachine } from './windows-machine.ts';

interface RecordedMachine {
  readonly cloud: string | null;
  readonly files: FirmwareFiles;
}

const text = await readFile(new URL('../fixtures/dmi.json', import.meta.url), 'utf8');
const machines: Readonly<Record<string, RecordedMachine>> = JSON.parse(text);
const azure = Object.values(machines).find(({ cloud }) => cloud === 'azure')!.files;
const tableKey = 'HKLM\\SYSTEM\\CurrentControlSet\\Services\\mssmbios\\Data';

const fields: Readonly<Record<string, keyof Dmi>> = {
  sys_vendor: 'sysVendor',
  product_name: 'productName',
  product_version: 'productVersion',
  product_serial: 'productSerial',
  product_uuid: 'productUuid',
  bios_vendor: 'biosVendor',
  bios_version: 'biosVersion',
  board_asset_tag: 'boardAssetTag',
  chassis_asset_tag: 'chassisAssetTag',
};

/** What Linux shows of the same firmware. */
function onLinux(files: FirmwareFiles): Dmi {
  const shown = Object.entries(files).flatMap(([name, text]): [string, string][] => {
    const field = fields[name];
    if (field === undefined || text.trim() === '') return [];
    return [[field, field === 'productUuid' ? text.toLowerCase() : text.trim()]];
  });
  return Object.fromEntries(shown);
}

for (const [name, { cloud, files }] of Object.entries(machines)) {
  test(`reads from the registry of "${name}" what Linux shows of the same firmware`, async () => {
    const dmi = await windowsMachine(fakeRegistry(registryOfMachine(files))).dmi();
    assert.deepEqual(dmi, onLinux(files));
    const detection = detectCloud(sourceKinds.values(), dmi);
    // An old Xen guest of Amazon is told by its UUID, which Windows has, too.
    assert.equal(detection.ok ? detection.kind.cloud : null, cloud);
  });
}

test('takes texts and UUID from the keys that everybody may read where the table may not be read', async () => {
  const keys = { ...registryOfMachine(azure), [tableKey]: [] };
  const dmi = await windowsMachine(fakeRegistry(keys)).dmi();
  const { productSerial: _, boardAssetTag: __, chassisAssetTag: ___, ...rest } = onLinux(azure);
  assert.deepEqual(dmi, rest);
});

test("boot id is the kubelet's: the counter of boots as a decimal number", async () => {
  assert.equal(await windowsMachine(fakeRegistry(registryOfMachine(azure, 31))).bootId(), '31');
  assert.equal(await windowsMachine(async () => undefined).bootId(), undefined);
});

const hostile: readonly (readonly [what: string, query: QueryRegistry])[] = [
  ['no answer', async () => undefined],
  ['nothing', async () => ''],
  ['an error message', async () => 'ERROR: The system was unable to find the specified registry key or value.\r\n'],
  ['another type', async (_, name) => `\r\nKEY\r\n    ${name ?? 'SystemManufacturer'}    REG_DWORD    0xzz\r\n\r\n`],
  ['half a byte', async (_, name) => `\r\nKEY\r\n    ${name ?? 'x'}    REG_BINARY    000208000\r\n\r\n`],
  ['no hex', async (_, name) => `\r\nKEY\r\n    ${name ?? 'x'}    REG_BINARY    00020800<script>\r\n\r\n`],
  ['a long line', async (_, name) => `    ${name ?? 'x'}    REG_BINARY    ${'7F'.repeat(100_000)}\r\n`],
];
for (const [what, query] of hostile) {
  test(`a registry that answers with ${what} gives a machine without facts`, async () => {
    const machine = windowsMachine(query);
    assert.deepEqual([await machine.dmi(), await machine.bootId()], [{}, undefined]);
  });
}

test('a cloud that cannot be detected is told with the key that was read', async () => {
  const { place } = windowsMachine(async () => undefined);
  const detection = detectCloud(sourceKinds.values(), {}, { place });
  assert.ok(!detection.ok);
  assert.match(detection.message, /no DMI in HKLM\\HARDWARE\\DESCRIPTION\\System\\BIOS; name the cloud with --cloud/);
});
