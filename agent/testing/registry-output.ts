import type { QueryRegistry, RegistryValue } from '../windows/registry.ts';

/** Texts and UUID of a machine, by the names of files in /sys/class/dmi/id. */
export type FirmwareFiles = Readonly<Record<string, string>>;

/** A registry whose answers have the form of reg.exe; undefined for a key without values. */
export function fakeRegistry(keys: Readonly<Record<string, readonly RegistryValue[]>>): QueryRegistry {
  return async (key, name) => {
    const values = (keys[key] ?? []).filter((value) => name === undefined || value.name === name);
    if (values.length === 0) return undefined;
    const path = key.replace(/^HKLM/, 'HKEY_LOCAL_MACHINE');
    const lines = values.map((value) => `    ${value.name}    ${value.type}    ${value.data}`);
    return ['', path, ...lines, '', ''].join('\r\n');
  };
}

/** What Windows has of such a machine: keys and values. */
export function registryOfMachine(files: FirmwareFiles, bootId = 23): Readonly<Record<string, RegistryValue[]>> {
  const text = (name: string, data = '') => ({ name, type: 'REG_SZ', data });
  const uuid = files['product_uuid'];
  return {
    'HKLM\\SYSTEM\\CurrentControlSet\\Services\\mssmbios\\Data': [
      { name: 'SMBiosData', type: 'REG_BINARY', data: smbiosTable(files).toString('hex').toUpperCase() },
    ],
    'HKLM\\HARDWARE\\DESCRIPTION\\System\\BIOS': [
      { name: 'BiosMajorRelease', type: 'REG_DWORD', data: '0x0' },
      text('BIOSVendor', files['bios_vendor']),
      text('BIOSVersion', files['bios_version']),
      text('SystemManufacturer', files['sys_vendor']),
      text('SystemProductName', files['product_name']),
      text('SystemVersion', files['product_version']),
    ],
    'HKLM\\SYSTEM\\HardwareConfig': uuid === undefined ? [] : [text('LastConfig', `{${uuid.toLowerCase()}}`)],
    'HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Memory Management\\PrefetchParameters': [
      { name: 'BootId', type: 'REG_DWORD', data: `0x${bootId.toString(16)}` },
    ],
  };
}

/** The firmware's table of such a machine, behind the header of Windows; SMBIOS 3.7, section 7. */
export function smbiosTable(files: FirmwareFiles, version: readonly [major: number, minor: number] = [2, 8]): Buffer {
  const table = Buffer.concat([
    structure(0, 0x18, { 4: files['bios_vendor'], 5: files['bios_version'], 8: '01/01/2025' }),
    structure(
      1,
      0x1b,
      {
        4: files['sys_vendor'],
        5: files['product_name'],
        6: files['product_version'],
        7: files['product_serial'],
      },
      uuidBytes(files['product_uuid'] ?? '', version),
    ),
    structure(2, 0x0f, { 4: files['sys_vendor'], 8: files['board_asset_tag'] }),
    structure(3, 0x16, { 4: files['sys_vendor'], 8: files['chassis_asset_tag'] }),
    structure(127, 0x04, {}),
  ]);
  const header = Buffer.from([0, ...version, 0, 0, 0, 0, 0]);
  header.writeUInt32LE(table.length, 4);
  return Buffer.concat([header, table]);
}

function structure(
  type: number,
  length: number,
  texts: Readonly<Record<number, string | undefined>>,
  uuid?: Buffer,
): Buffer {
  const formatted = Buffer.alloc(length);
  formatted.set([type, length, type, 1]);
  uuid?.copy(formatted, 8);
  const given = Object.entries(texts).filter(([, text]) => text);
  for (const [at, [offset]] of given.entries()) formatted[Number(offset)] = at + 1;
  const strings = given.map(([, text]) => Buffer.from(`${text}\0`, 'latin1'));
  return Buffer.concat([formatted, ...strings, Buffer.alloc(strings.length === 0 ? 2 : 1)]);
}

function uuidBytes(uuid: string, [major, minor]: readonly [number, number]): Buffer {
  const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex');
  if (bytes.length !== 16 || major * 100 + minor < 206) return bytes;
  for (const [from, to] of [
    [0, 4],
    [4, 6],
    [6, 8],
  ] as const)
    bytes.subarray(from, to).reverse();
  return bytes;
}
