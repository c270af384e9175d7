import assert from 'node:assert/strict';
import { test } from 'node:test';
import { injectResource } from './inject-resource.ts';

/** A program with one section and one resource, version information, and a signature at its end. */
function smallProgram(): Buffer {
  const file = Buffer.alloc(0x600);
  const [pe, optional, section] = [0x80, 0x98, 0x98 + 0xf0];
  file.writeUInt32LE(pe, 0x3c);
  file.write('PE\0\0', pe, 'latin1');
  file.writeUInt16LE(1, pe + 6);
  file.writeUInt16LE(0xf0, pe + 20);
  file.writeUInt16LE(0x20b, optional);
  const fields = [
    [32, 0x1000],
    [36, 0x200],
    [56, 0x2000],
    [60, 0x400],
    [64, 0x1234],
    [128, 0x1000],
    [132, 0x58],
  ] as const;
  for (const [at, value] of fields) file.writeUInt32LE(value, optional + at);
  file.writeUInt32LE(0x5f0, optional + 144);
  file.writeUInt32LE(0x10, optional + 148);
  file.write('.rsrc', section, 'latin1');
  for (const [at, value] of [
    [8, 0x5c],
    [12, 0x1000],
    [16, 0x200],
    [20, 0x400],
  ] as const)
    file.writeUInt32LE(value, section + at);
  // Type 16, number 1, language 1033, then the leaf.
  for (const [at, id, offset] of [
    [0, 16, 0x80000018],
    [0x18, 1, 0x80000030],
    [0x30, 1033, 0x48],
  ] as const) {
    file.writeUInt16LE(1, 0x400 + at + 14);
    file.writeUInt32LE(id, 0x400 + at + 16);
    file.writeUInt32LE(offset, 0x400 + at + 20);
  }
  file.writeUInt32LE(0x1058, 0x448);
  file.writeUInt32LE(4, 0x44c);
  file.write('info', 0x458, 'latin1');
  file.fill(0xee, 0x5f0);
  return file;
}

const optional = 0x98;

/** The content of the resource at these names, by the address of the tree alone, as the loader reads it. */
function resourceAt(file: Buffer, ...path: readonly (number | string)[]): Buffer | undefined {
  const at = (rva: number) => {
    for (let header = optional + 0xf0, n = file.readUInt16LE(0x86); n > 0; n -= 1, header += 40) {
      const start = file.readUInt32LE(header + 12);
      if (rva >= start && rva < start + file.readUInt32LE(header + 8))
        return file.readUInt32LE(header + 20) + rva - start;
    }
    return assert.fail(`no section has ${rva}`);
  };
  const base = at(file.readUInt32LE(optional + 128));
  let place = base;
  for (const key of path) {
    const names = file.readUInt16LE(place + 12);
    const entries = Array.from({ length: names + file.readUInt16LE(place + 14) }, (_, n) => place + 16 + n * 8);
    const found = entries.find((entry, n) => {
      const id = file.readUInt32LE(entry);
      if (n >= names) return id === key;
      const text = base + (id - 0x80000000);
      return file.toString('utf16le', text + 2, text + 2 + file.readUInt16LE(text) * 2) === key;
    });
    if (found === undefined) return undefined;
    place = base + (file.readUInt32LE(found + 4) & 0x7fffffff);
  }
  const start = at(file.readUInt32LE(place));
  return file.subarray(start, start + file.readUInt32LE(place + 4));
}

const blob = { name: 'BLOB', content: Buffer.from('content'.repeat(200)) };

test('adds the resource and keeps those that are there', () => {
  const made = injectResource(smallProgram(), blob);
  assert.deepEqual(resourceAt(made, 10, 'BLOB', 1033), blob.content);
  assert.equal(String(resourceAt(made, 16, 1, 1033)), 'info');
  const second = injectResource(made, { name: 'ANOTHER', content: Buffer.from('x') });
  assert.deepEqual(resourceAt(second, 10, 'BLOB', 1033), blob.content);
  assert.equal(String(resourceAt(second, 10, 'ANOTHER', 1033)), 'x');
});

test('makes sections that lie one after the other, in the file and in memory, and leaves the signature out', () => {
  const made = injectResource(smallProgram(), blob);
  const header = optional + 0xf0 + 40;
  const [size, rva, bytes, start] = [8, 12, 16, 20].map((at) => made.readUInt32LE(header + at));
  assert.deepEqual([rva, start, bytes! % 0x200, made.length], [0x2000, 0x600, 0, start! + bytes!]);
  assert.equal(made.readUInt32LE(optional + 56), Math.ceil((rva! + size!) / 0x1000) * 0x1000);
  assert.deepEqual(made.subarray(optional + 144, optional + 152), Buffer.alloc(8));
  assert.ok(!made.includes(Buffer.alloc(16, 0xee)));
});

test('the same program gives the same bytes, and stays as it was', () => {
  const program = smallProgram();
  assert.deepEqual(injectResource(program, blob), injectResource(program, blob));
  assert.deepEqual(program, smallProgram());
});

test('refuses what is no such program, one without room, and a resource that is there', () => {
  assert.throws(() => injectResource(Buffer.alloc(0x600), blob), /no 64-bit program of Windows/);
  const full = smallProgram();
  full.writeUInt32LE(0x1b0, optional + 60);
  assert.throws(() => injectResource(full, blob), /no room for a section/);
  assert.throws(() => injectResource(injectResource(smallProgram(), blob), blob), /has a resource BLOB/);
});
