import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { failureOf } from '../../common/testing/cloud-failure.ts';
import { openFat } from './fat.ts';
import { openIso } from './iso9660.ts';
import { findSeedVolume } from './seed-volume.ts';
import { BadVolume, fileOf, type ReadAt } from './volume.ts';

/** Images that others wrote: pycdlib 1.22.0 (ISO 9660) and pyfatfs 1.1.0 (FAT). */
const imageOf = async (name: string) => gunzipSync(await readFile(new URL(`fixtures/${name}.gz`, import.meta.url)));
const maxBytes = 64 * 1024;

/** A root with volumes of these labels, as udev shows them. */
async function rootWith(context: TestContext, volumes: Readonly<Record<string, Buffer>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'volume-'));
  context.after(() => rm(root, { recursive: true }));
  await mkdir(join(root, 'dev/disk/by-label'), { recursive: true });
  for (const [at, [label, image]] of Object.entries(volumes).entries()) {
    await writeFile(join(root, `dev/sr${at}`), image);
    await symlink(`../../sr${at}`, join(root, 'dev/disk/by-label', label));
  }
  return root;
}

async function volumeOf(context: TestContext, volumes: Readonly<Record<string, Buffer>>) {
  const volume = await findSeedVolume(await rootWith(context, volumes), { cloud: 'nocloud', maxBytes });
  assert.ok(volume);
  return volume;
}

for (const image of ['joliet.iso', 'rock-ridge.iso', 'plain.iso', 'fat12.img', 'fat16.img', 'fat32.img'])
  test(`reads a seed of ${image}, and nothing that it does not have`, async (context) => {
    const volume = await volumeOf(context, { CIDATA: await imageOf(image) });
    assert.match((await volume.text('meta-data')) ?? '', /^instance-id: i-42\nlocal-hostname: node-7\n/);
    assert.equal(await volume.text('network-config'), undefined);
    assert.equal(await volume.text('meta-data/deeper'), undefined);
  });

for (const image of ['config-drive.iso', 'fat12.img', 'fat16.img', 'fat32.img'])
  test(`reads a file in folders of ${image}`, async (context) => {
    const volume = await volumeOf(context, { 'config-2': await imageOf(image) });
    assert.match((await volume.text('openstack/latest/meta_data.json')) ?? '', /^{"uuid": .*"node-8"/);
    assert.equal(await volume.text('openstack/latest'), undefined);
  });

test('prefers the label of NoCloud, and finds no volume with another label', async (context) => {
  const image = await imageOf('plain.iso');
  const both = await volumeOf(context, { 'CONFIG-2': image, cidata: image });
  assert.equal(both.label, 'cidata');
  for (const labels of [{}, { data: image, 'cidata-2': image }])
    assert.equal(await findSeedVolume(await rootWith(context, labels), { cloud: 'nocloud', maxBytes }), undefined);
  assert.equal(await findSeedVolume('/nowhere', { cloud: 'nocloud', maxBytes }), undefined);
});

test('refuses a volume of another file system, one that is cut and an empty one, by its device', async (context) => {
  const whole = await imageOf('joliet.iso');
  for (const image of [Buffer.alloc(0), Buffer.alloc(512), Buffer.alloc(1024 * 1024), whole.subarray(0, 20 * 2048)]) {
    const volume = await volumeOf(context, { cidata: image });
    const error = await failureOf(volume.text('meta-data'));
    assert.equal(error.kind, 'Invalid');
    assert.match(error.message, /by-label\/cidata/);
  }
});

test('says that a device cannot be opened', async (context) => {
  const root = await rootWith(context, { cidata: Buffer.alloc(512) });
  await rm(join(root, 'dev/sr0'));
  const volume = await findSeedVolume(root, { cloud: 'nocloud', maxBytes });
  assert.equal((await failureOf(volume!.text('meta-data'))).kind, 'Unavailable');
});

test('reads no file of more than the limit, whatever size a volume has', async (context) => {
  const root = await rootWith(context, { cidata: await imageOf('joliet.iso') });
  // Sparse: a terabyte that is never read.
  await truncate(join(root, 'dev/sr0'), 1024 ** 4);
  const volume = await findSeedVolume(root, { cloud: 'nocloud', maxBytes: 20 });
  const error = await failureOf(volume!.text('meta-data'));
  assert.match(error.message, /meta-data exceeds 20 bytes/);
});

for (const image of ['joliet.iso', 'rock-ridge.iso', 'fat12.img'] as const)
  test(`ends on any damage to ${image} with a file, with none or with BadVolume, and reads little`, async () => {
    const whole = await imageOf(image);
    const open = image === 'fat12.img' ? openFat : openIso;
    // Where descriptors, tables and folders stand.
    const [from, to] = image === 'fat12.img' ? [0, 64 * 512] : [16 * 2048, Math.min(whole.length, 40 * 2048)];
    const damage = fc.array(fc.tuple(fc.integer({ min: from, max: to - 1 }), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(damage, async (bytes) => {
        const damaged = Buffer.from(whole);
        for (const [at, value] of bytes) damaged[at] = value;
        let read = 0;
        const readAt: ReadAt = async (offset, length) => {
          read += length;
          if (offset + length > damaged.length) throw new BadVolume('cut');
          return damaged.subarray(offset, offset + length);
        };
        try {
          const tree = await open(readAt);
          if (tree !== undefined) await fileOf(tree, 'meta-data', maxBytes);
        } catch (error) {
          assert.ok(error instanceof BadVolume, String(error));
        }
        assert.ok(read < 4 * 1024 * 1024, `${read}`);
      }),
      { numRuns: 300 },
    );
  });

test('guesses between no two volumes of one label', async (context) => {
  const image = await imageOf('plain.iso');
  const volume = await volumeOf(context, { CIDATA: image, cidata: image });
  const error = await failureOf(volume.text('meta-data'));
  assert.equal(error.kind, 'Invalid');
  assert.match(error.message, /2 volumes are labelled cidata, expected one/);
});
