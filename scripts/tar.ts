/** A file of an archive. */
export interface TarEntry {
  /** With slashes, below 100 bytes. */
  readonly path: string;
  readonly mode: number;
  readonly content: Uint8Array;
}

const blockBytes = 512;

/**
 * The entries as a ustar archive, in their order, each folder before its files. Owned by root and dated 1970, so that
 * the same entries give the same bytes everywhere. Throws a RangeError for a path that ustar cannot hold. Pure.
 */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const parts: Uint8Array[] = [];
  const folders = new Set<string>();
  for (const { path, mode, content } of entries) {
    const names = path.split('/').slice(0, -1);
    for (const [at] of names.entries()) {
      const folder = `${names.slice(0, at + 1).join('/')}/`;
      if (folders.has(folder)) continue;
      folders.add(folder);
      parts.push(headerOf(folder, 0o755, 0, '5'));
    }
    parts.push(headerOf(path, mode, content.length, '0'), content);
    parts.push(Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes));
  }
  parts.push(Buffer.alloc(2 * blockBytes));
  return Buffer.concat(parts);
}

function headerOf(path: string, mode: number, size: number, type: string): Buffer {
  const header = Buffer.alloc(blockBytes);
  if (Buffer.byteLength(path) > 99) throw new RangeError(`path: ${JSON.stringify(path)}, expected at most 99 bytes`);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(path, 0);
  header.write(octal(mode, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(0, 11), 136);
  // The checksum is taken with blanks in its own place.
  header.write(' '.repeat(8), 148);
  header.write(type, 156);
  header.write('ustar\x0000', 257);
  header.write('root', 265);
  header.write('root', 297);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
