import assert from 'node:assert/strict';
import { mkdtemp, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { buildImages, imageCache, images } from '../../scripts/image/build-images.ts';
import { builtImage } from './harness/built-image.ts';
import { type UnpackedImage, unpackImage } from './harness/unpack-image.ts';

const maxBytes = 60_000_000;
/** As the header of a program names it (ELF, e_machine). */
const machines = { amd64: 0x3e, arm64: 0xb7 };

describe('the images', () => {
  let folder: string;
  const unpacked = new Map<string, UnpackedImage>();
  const each = () => unpacked.entries();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-images-'));
    for (const { name } of images)
      for (const architecture of Object.keys(machines)) {
        const title = `${name} ${architecture}`;
        unpacked.set(title, await unpackImage(builtImage(name), architecture, join(folder, title)));
      }
  });
  after(() => rm(folder, { recursive: true }));

  it('builds images of at most 60 MB on each platform', () => {
    assert.equal(unpacked.size, 4);
    for (const [title, { bytes }] of each()) assert.ok(bytes > 1e6 && bytes <= maxBytes, `${title}: ${bytes} bytes`);
  });

  it('builds the same images again byte for byte', async () => {
    for (const { name, file } of await buildImages(join(folder, 'again'), imageCache(process.env)))
      assert.ok((await readFile(file)).equals(await readFile(builtImage(name))), name);
  });

  it('puts the runtime of its platform into each image', async () => {
    for (const [title, image] of each()) {
      const expected = machines[title.split(' ')[1] as keyof typeof machines];
      assert.equal(await machineOf(join(image.folder, 'usr/local/bin/node')), expected, title);
    }
  });

  it('puts no file into an image that others may write or that has rights of its own', async () => {
    for (const [title, { folder: root }] of each()) {
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      assert.ok(entries.length > 20, title);
      for (const entry of entries.filter((one) => !one.isSymbolicLink())) {
        const path = join(entry.parentPath, entry.name);
        const { mode, uid } = await stat(path);
        assert.equal(mode & 0o6022, 0, `${path}: ${mode.toString(8)}`);
        assert.equal(uid, 0, path);
      }
    }
  });

  it('runs the controller as a user without rights', () => {
    assert.equal(unpacked.get('mooring-controller amd64')?.config.User, '65532:65532');
  });
});

async function machineOf(program: string): Promise<number> {
  const file = await open(program);
  try {
    const { buffer } = await file.read(Buffer.alloc(20), 0, 20, 0);
    return buffer.readUInt16LE(18);
  } finally {
    await file.close();
  }
}
