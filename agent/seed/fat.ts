import { BadVolume, type FileTree, maxFolderBytes, type ReadAt, type VolumeEntry } from './volume.ts';

interface Layout {
  readonly bits: 12 | 16 | 32;
  readonly clusterBytes: number;
  readonly clusters: number;
  /** Bytes from the start of the volume. */
  readonly tableAt: number;
  readonly rootAt: number;
  readonly rootBytes: number;
  readonly dataAt: number;
  /** FAT32: the root is a chain of clusters, too. */
  readonly rootCluster: number;
}

/** A FAT12, FAT16 or FAT32 volume. Undefined where it is none. */
export async function openFat(readAt: ReadAt): Promise<FileTree | undefined> {
  const layout = layoutOf(await readAt(0, 512));
  if (layout === undefined) return undefined;
  const { clusterBytes, clusters, dataAt, bits, rootAt, rootBytes } = layout;

  async function nextOf(cluster: number): Promise<number> {
    const offset = bits === 12 ? Math.floor(cluster * 1.5) : (cluster * bits) / 8;
    const bytes = await readAt(layout!.tableAt + offset, bits === 32 ? 4 : 2);
    if (bits === 32) return bytes.readUInt32LE(0) & 0x0fffffff;
    const value = bytes.readUInt16LE(0);
    return bits === 16 ? value : cluster % 2 === 0 ? value & 0xfff : value >> 4;
  }
  /** The clusters of a chain until it ends, or has `maxBytes`: a circle ends there, too. */
  async function chain(start: number, maxBytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let cluster = start;
    for (let length = 0; length < maxBytes && cluster >= 2 && cluster < clusters + 2; length += clusterBytes) {
      parts.push(await readAt(dataAt + (cluster - 2) * clusterBytes, clusterBytes));
      cluster = await nextOf(cluster);
    }
    return Buffer.concat(parts);
  }

  return {
    root: { name: '', isFolder: true, start: layout.rootCluster, size: 0 },
    async entries(folder) {
      if (folder.start === 0) return entriesOf(await readAt(rootAt, Math.min(rootBytes, maxFolderBytes)));
      return entriesOf(await chain(folder.start, maxFolderBytes));
    },
    async content({ start, size }) {
      const bytes = await chain(start, size);
      if (bytes.length < size) throw new BadVolume('a file is shorter than its folder says');
      return bytes.subarray(0, size);
    },
  };
}

function layoutOf(boot: Buffer): Layout | undefined {
  const sector = boot.readUInt16LE(11);
  const perCluster = boot[13]!;
  const tables = boot[16]!;
  const isPower = (value: number) => value > 0 && (value & (value - 1)) === 0;
  if (boot.readUInt16LE(510) !== 0xaa55 || !isPower(sector) || sector < 512 || sector > 4096) return undefined;
  if (!isPower(perCluster) || perCluster * sector > maxFolderBytes || tables < 1 || tables > 2) return undefined;
  const tableAt = boot.readUInt16LE(14) * sector;
  const tableBytes = (boot.readUInt16LE(22) || boot.readUInt32LE(36)) * sector;
  const rootBytes = Math.ceil((boot.readUInt16LE(17) * 32) / sector) * sector;
  const rootAt = tableAt + tables * tableBytes;
  const dataAt = rootAt + rootBytes;
  const total = (boot.readUInt16LE(19) || boot.readUInt32LE(32)) * sector;
  const clusters = Math.floor((total - dataAt) / (perCluster * sector));
  if (tableAt === 0 || tableBytes === 0 || clusters < 1) return undefined;
  // The number of clusters alone decides.
  const bits = clusters < 4085 ? 12 : clusters < 65_525 ? 16 : 32;
  const rootCluster = bits === 32 ? boot.readUInt32LE(44) : 0;
  return { bits, clusterBytes: perCluster * sector, clusters, tableAt, rootAt, rootBytes, dataAt, rootCluster };
}

/** Parts of a long name stand before its entry, the last part first. */
function entriesOf(folder: Buffer): readonly VolumeEntry[] {
  const entries: VolumeEntry[] = [];
  let long = '';
  for (let at = 0; at + 32 <= folder.length && folder[at] !== 0; at += 32) {
    const entry = folder.subarray(at, at + 32);
    const attributes = entry[11]!;
    if (entry[0] === 0xe5) {
      long = '';
    } else if (attributes === 0x0f) {
      long = longPart(entry) + ((entry[0]! & 0x40) === 0 ? long : '');
    } else {
      const name = long || shortName(entry);
      long = '';
      // The label of the volume, and the folder itself and its parent.
      if ((attributes & 0x08) !== 0 || entry[0] === 0x2e) continue;
      const start = (entry.readUInt16LE(20) << 16) | entry.readUInt16LE(26);
      entries.push({ name, isFolder: (attributes & 0x10) !== 0, start, size: entry.readUInt32LE(28) });
    }
  }
  return entries;
}

function longPart(entry: Buffer): string {
  const bytes = Buffer.concat([entry.subarray(1, 11), entry.subarray(14, 26), entry.subarray(28, 32)]);
  return bytes.toString('utf16le').replace(/\0[\s\S]*$/, '');
}

function shortName(entry: Buffer): string {
  const [base, extension] = [entry.toString('latin1', 0, 8).trimEnd(), entry.toString('latin1', 8, 11).trimEnd()];
  return `${base}${extension === '' ? '' : `.${extension}`}`.toLowerCase();
}
