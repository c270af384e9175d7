import type { Dmi } from '../metadata/source.ts';

/** Types of the structures that are read; SMBIOS 3.7, section 7. */
const bios = 0;
const system = 1;
const board = 2;
const chassis = 3;

/** Where a structure of a type has the number of a string. */
const strings: readonly (readonly [field: keyof Dmi, type: number, offset: number])[] = [
  ['biosVendor', bios, 0x04],
  ['biosVersion', bios, 0x05],
  ['sysVendor', system, 0x04],
  ['productName', system, 0x05],
  ['productVersion', system, 0x06],
  ['productSerial', system, 0x07],
  ['boardAssetTag', board, 0x08],
  ['chassisAssetTag', chassis, 0x08],
];
const uuidOffset = 0x08;
/** Of the header that Windows puts before the table: calling method, two bytes of version, revision, four of length. */
const headerBytes = 8;

interface Structure {
  readonly type: number;
  readonly formatted: Buffer;
  readonly texts: readonly string[];
}

/**
 * Reads the firmware's table as Windows has it (`RawSMBIOSData` of GetSystemFirmwareTable). Of several structures of a
 * type the first counts, as in Linux. What is missing, empty or beyond the end is left out. Never throws. Pure.
 */
export function readSmbios(raw: Buffer): Dmi {
  if (raw.length < headerBytes) return {};
  const table = raw.subarray(headerBytes, headerBytes + raw.readUInt32LE(4));
  const first = new Map<number, Structure>();
  for (const structure of structuresOf(table)) if (!first.has(structure.type)) first.set(structure.type, structure);
  const found = strings.flatMap(([field, type, offset]): [keyof Dmi, string][] => {
    const structure = first.get(type);
    const text = structure?.texts[(structure.formatted[offset] ?? 0) - 1];
    return text === undefined || text === '' ? [] : [[field, text]];
  });
  const bytes = first.get(system)?.formatted.subarray(uuidOffset, uuidOffset + 16);
  // Before 2.6 the order of the bytes was not settled; Linux takes them as they stand.
  const isLittleEndian = raw.readUInt16BE(1) >= 0x0206;
  const productUuid = bytes?.length === 16 ? uuidOf(bytes, isLittleEndian) : undefined;
  return { ...Object.fromEntries(found), ...(productUuid === undefined ? {} : { productUuid }) };
}

/** The structures up to the end of the table, or up to one that is cut off. */
function* structuresOf(table: Buffer): Generator<Structure> {
  const endOfTable = 127;
  for (let at = 0; at + 4 <= table.length; ) {
    const [type = endOfTable, length = 0] = table.subarray(at, at + 2);
    const end = table.indexOf('\0\0', at + length, 'latin1');
    if (type === endOfTable || length < 4 || end < 0) return;
    const texts = table.toString('latin1', at + length, end).split('\0');
    yield { type, formatted: table.subarray(at, at + length), texts: texts.map(printable) };
    at = end + 2;
  }
}

/** Firmware is foreign: what is no visible ASCII becomes a dot, as dmidecode shows it. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '.').trim();
}

/** Undefined where the firmware has none: all bits are alike. */
function uuidOf(bytes: Buffer, isLittleEndian: boolean): string | undefined {
  if (bytes.every((byte) => byte === 0) || bytes.every((byte) => byte === 0xff)) return undefined;
  const ordered = Buffer.from(bytes);
  if (isLittleEndian)
    for (const [from, to] of [
      [0, 4],
      [4, 6],
      [6, 8],
    ] as const)
      ordered.subarray(from, to).reverse();
  return ordered.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
