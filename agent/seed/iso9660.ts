import { BadVolume, type FileTree, maxFolderBytes, type ReadAt, type VolumeEntry } from './volume.ts';

const block = 2048;
const firstDescriptor = 16;
const mostDescriptors = 16;
const jolietEscapes: ReadonlySet<string> = new Set(['%/@', '%/C', '%/E']);

/** An ISO 9660 image with the names of Joliet, else of Rock Ridge, else its own. Undefined where it is none. */
export async function openIso(readAt: ReadAt): Promise<FileTree | undefined> {
  let primary: Buffer | undefined;
  let joliet: Buffer | undefined;
  for (let at = 0; at < mostDescriptors; at += 1) {
    const descriptor = await readAt((firstDescriptor + at) * block, block);
    if (descriptor.toString('latin1', 1, 6) !== 'CD001') break;
    const kind = descriptor[0]!;
    if (kind === 255) break;
    if (kind === 1) primary ??= descriptor;
    if (kind === 2 && jolietEscapes.has(descriptor.toString('latin1', 88, 91))) joliet ??= descriptor;
  }
  const descriptor = joliet ?? primary;
  if (descriptor === undefined) return undefined;
  if (descriptor.readUInt16LE(128) !== block) throw new BadVolume(`blocks of ISO 9660 are not ${block} bytes`);
  const nameOf = joliet === undefined ? nameOfPrimary : nameOfJoliet;
  const read = (entry: VolumeEntry) => readAt(entry.start * block, entry.size);
  return {
    root: { name: '', isFolder: true, start: descriptor.readUInt32LE(158), size: descriptor.readUInt32LE(166) },
    content: read,
    async entries(folder) {
      if (folder.size > maxFolderBytes) throw new BadVolume(`a folder exceeds ${maxFolderBytes} bytes`);
      return [...recordsOf(await read(folder))].flatMap((record) => entryOf(record, nameOf(record)));
    },
  };
}

function* recordsOf(folder: Buffer): Generator<Buffer> {
  for (let at = 0; at < folder.length; ) {
    const length = folder[at]!;
    if (length === 0) {
      // No record crosses the end of a block.
      at = (Math.floor(at / block) + 1) * block;
      continue;
    }
    const record = folder.subarray(at, at + length);
    if (record.length < 34 || record.length < 33 + record[32]!) throw new BadVolume('a record of a folder is cut');
    yield record;
    at += length;
  }
}

function entryOf(record: Buffer, name: string): VolumeEntry[] {
  const flags = record[25]!;
  const isSelfOrParent = record[32] === 1 && record[33]! <= 1;
  // A file in several extents is larger than anything that is read.
  if (isSelfOrParent || (flags & 0x80) !== 0) return [];
  const [start, size] = [record.readUInt32LE(2), record.readUInt32LE(10)];
  return [{ name, isFolder: (flags & 2) !== 0, start, size }];
}

const withoutVersion = (name: string) => name.replace(/;\d+$/, '').replace(/\.$/, '');

function nameOfJoliet(record: Buffer): string {
  const bytes = Buffer.from(record.subarray(33, 33 + (record[32]! & ~1)));
  return withoutVersion(bytes.swap16().toString('utf16le'));
}

function nameOfPrimary(record: Buffer): string {
  const end = 33 + record[32]!;
  let name = '';
  // Rock Ridge: entries of a signature, a length and a version follow the name, at an even offset.
  for (let at = end + (end % 2); at + 4 <= record.length; ) {
    const length = record[at + 2]!;
    if (length < 4) break;
    if (record.toString('latin1', at, at + 2) === 'NM') name += record.toString('utf8', at + 5, at + length);
    at += length;
  }
  // ISO 9660 itself has neither lower case nor hyphens.
  return (
    name ||
    withoutVersion(record.toString('latin1', 33, end))
      .toLowerCase()
      .replaceAll('_', '-')
  );
}
