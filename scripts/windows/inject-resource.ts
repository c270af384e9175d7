/** A resource of a Windows program. */
export interface Resource {
  readonly name: string;
  readonly content: Uint8Array;
}

interface Leaf {
  readonly rva: number;
  readonly size: number;
  readonly codePage: number;
}
/** Children by number, or by name in upper case, as the loader compares them. */
type Directory = Map<number | string, Directory | Leaf>;

const rawData = 10;
const english = 0x409;
const sectionHeaderBytes = 40;
/** Numbers of data directories. */
const [resources, signature] = [2, 4];

/**
 * The program with one more resource of the type RCDATA, in a section of its own, where `FindResource` finds it. Its
 * signature is left out, because it would not hold any more. The same input gives the same bytes. Throws a RangeError
 * for anything but a 64-bit program with resources and with room for one more section. Pure.
 */
export function injectResource(program: Uint8Array, { name, content }: Resource): Buffer {
  const whole = Buffer.from(program);
  const pe = whole.readUInt32LE(0x3c);
  const optional = pe + 24;
  if (whole.toString('latin1', pe, pe + 4) !== 'PE\0\0' || whole.readUInt16LE(optional) !== 0x20b)
    throw new RangeError('the program: no 64-bit program of Windows');
  const directoryAt = (number: number) => optional + 112 + number * 8;
  const sections = whole.readUInt16LE(pe + 6);
  const headers = optional + whole.readUInt16LE(pe + 20);
  const next = headers + sections * sectionHeaderBytes;
  if (next + sectionHeaderBytes > whole.readUInt32LE(optional + 60))
    throw new RangeError('the program: its headers have no room for a section');
  const fileAt = (rva: number) => {
    for (let at = headers; at < next; at += sectionHeaderBytes) {
      const start = whole.readUInt32LE(at + 12);
      if (rva >= start && rva < start + whole.readUInt32LE(at + 16)) return whole.readUInt32LE(at + 20) + rva - start;
    }
    throw new RangeError(`the program: no section has the address ${rva}`);
  };
  const signedAt = whole.readUInt32LE(directoryAt(signature));
  const body = whole.subarray(0, signedAt === 0 ? whole.length : signedAt);

  const rootAt = fileAt(whole.readUInt32LE(directoryAt(resources)));
  const root = readDirectory(whole, rootAt, rootAt);
  const ofType = root.get(rawData) ?? new Map();
  if (!(ofType instanceof Map) || ofType.has(name)) throw new RangeError(`the program: it has a resource ${name}`);
  root.set(rawData, ofType);
  const aligned = (value: number, to: number) => Math.ceil(value / to) * to;
  const [pageBytes, blockBytes] = [whole.readUInt32LE(optional + 32), whole.readUInt32LE(optional + 36)];
  const rva = aligned(whole.readUInt32LE(optional + 56), pageBytes);
  // The tree has the same size wherever the content is.
  const leafAt = (at: number) => new Map([[english, { rva: at, size: content.length, codePage: 0 }]]);
  ofType.set(name, leafAt(0));
  const treeBytes = aligned(printTree(root).length, 16);
  ofType.set(name, leafAt(rva + treeBytes));
  const section = Buffer.alloc(aligned(treeBytes + content.length, blockBytes));
  printTree(root).copy(section);
  section.set(content, treeBytes);

  const start = aligned(body.length, blockBytes);
  const made = Buffer.concat([body, Buffer.alloc(start - body.length), section]);
  made.writeUInt16LE(sections + 1, pe + 6);
  made.writeUInt32LE(aligned(rva + section.length, pageBytes), optional + 56);
  // A checksum is for drivers alone.
  made.writeUInt32LE(0, optional + 64);
  made.writeUInt32LE(rva, directoryAt(resources));
  made.writeUInt32LE(treeBytes, directoryAt(resources) + 4);
  made.fill(0, directoryAt(signature), directoryAt(signature) + 8);
  made.fill(0, next, next + sectionHeaderBytes);
  made.write('.rsrc1', next, 'latin1');
  for (const [at, value] of [
    [8, treeBytes + content.length],
    [12, rva],
    [16, section.length],
    [20, start],
    // Initialised data that may be read.
    [36, 0x40000040],
  ] as const)
    made.writeUInt32LE(value, next + at);
  return made;
}

/** @param base of the tree, from which its offsets count */
function readDirectory(file: Buffer, base: number, at: number): Directory {
  const directory: Directory = new Map();
  const count = file.readUInt16LE(at + 12) + file.readUInt16LE(at + 14);
  for (let entry = at + 16; entry < at + 16 + count * 8; entry += 8) {
    const [id, offset] = [file.readUInt32LE(entry), file.readUInt32LE(entry + 4)];
    const place = base + (offset & 0x7fffffff);
    directory.set(
      isOffset(id) ? readName(file, base + (id & 0x7fffffff)) : id,
      isOffset(offset)
        ? readDirectory(file, base, place)
        : { rva: file.readUInt32LE(place), size: file.readUInt32LE(place + 4), codePage: file.readUInt32LE(place + 8) },
    );
  }
  return directory;
}

const isOffset = (value: number) => value >= 0x80000000;

function readName(file: Buffer, at: number): string {
  return file.toString('utf16le', at + 2, at + 2 + file.readUInt16LE(at) * 2);
}

/** Directories breadth first, then leaves, then names. */
function printTree(root: Directory): Buffer {
  const directories: Directory[] = [root];
  const leaves: Leaf[] = [];
  for (const directory of directories)
    for (const [, child] of sorted(directory)) child instanceof Map ? directories.push(child) : leaves.push(child);
  const places = new Map<Directory | Leaf, number>();
  let end = 0;
  for (const directory of directories) {
    places.set(directory, end);
    end += 16 + directory.size * 8;
  }
  for (const leaf of leaves) {
    places.set(leaf, end);
    end += 16;
  }
  const texts: Buffer[] = [];
  const tree = Buffer.alloc(end);
  for (const directory of directories) {
    let at = places.get(directory)!;
    const names = [...directory.keys()].filter((key) => typeof key === 'string').length;
    tree.writeUInt16LE(names, at + 12);
    tree.writeUInt16LE(directory.size - names, at + 14);
    at += 16;
    for (const [key, child] of sorted(directory)) {
      if (typeof key === 'string') {
        const text = Buffer.from(`\0${key}`, 'utf16le');
        text.writeUInt16LE(key.length);
        texts.push(text);
        tree.writeUInt32LE(0x80000000 + end, at);
        end += text.length;
      } else tree.writeUInt32LE(key, at);
      tree.writeUInt32LE(places.get(child)! + (child instanceof Map ? 0x80000000 : 0), at + 4);
      at += 8;
    }
  }
  for (const leaf of leaves) {
    const at = places.get(leaf)!;
    tree.writeUInt32LE(leaf.rva, at);
    tree.writeUInt32LE(leaf.size, at + 4);
    tree.writeUInt32LE(leaf.codePage, at + 8);
  }
  return Buffer.concat([tree, ...texts]);
}

/** The loader searches by halves: names in their order, then numbers in theirs. */
function sorted(directory: Directory): [number | string, Directory | Leaf][] {
  return [...directory].sort(([a], [b]) => {
    if (typeof a !== typeof b) return typeof a === 'string' ? -1 : 1;
    return a < b ? -1 : a > b ? 1 : 0;
  });
}
