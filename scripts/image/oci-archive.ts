import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Architecture, debianNames } from './debian-packages.ts';
import { tarOfFolder } from './folder-tar.ts';

const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
};

/** What an image runs, as its configuration has it. */
export interface ImageConfig {
  readonly User: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Env: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
}

/** One layer: the digest of its tar, and the tar compressed. */
export interface Layer {
  readonly diffId: string;
  readonly compressed: Buffer;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** A layer of everything below a folder. The same content gives the same bytes. */
export async function layerOf(folder: string): Promise<Layer> {
  const tar = await tarOfFolder(folder);
  return { diffId: digestOf(tar), compressed: gzipSync(tar, { level: 9 }) };
}

/**
 * The archive of one image for several platforms, in the OCI image layout.
 *
 * @param created ISO time
 */
export async function ociArchive(
  reference: string,
  config: ImageConfig,
  layers: Readonly<Record<Architecture, readonly Layer[]>>,
  created: string,
): Promise<{ readonly archive: Buffer; readonly digest: string }> {
  const blobs = new Map<string, Buffer>();
  const add = (mediaType: string, content: Buffer): Descriptor => {
    const digest = digestOf(content);
    blobs.set(digest, content);
    return { mediaType, digest, size: content.length };
  };
  const addJson = (mediaType: string, value: object) => add(mediaType, Buffer.from(JSON.stringify(value)));

  const manifests = Object.entries(layers).map(([architecture, own]) => {
    const described = own.map(({ compressed }) => add(types.layer, compressed));
    const rootfs = { type: 'layers', diff_ids: own.map(({ diffId }) => diffId) };
    const image = addJson(types.config, { created, architecture, os: 'linux', config, rootfs });
    const manifest = { schemaVersion: 2, mediaType: types.manifest, config: image, layers: described };
    return { ...addJson(types.manifest, manifest), platform: { architecture, os: 'linux' } };
  });
  const image = addJson(types.index, { schemaVersion: 2, mediaType: types.index, manifests });
  const named = { ...image, annotations: { 'org.opencontainers.image.ref.name': reference } };

  const folder = await mkdtemp(join(tmpdir(), 'mooring-oci-'));
  try {
    await mkdir(join(folder, 'blobs/sha256'), { recursive: true });
    for (const [digest, content] of blobs) await writeFile(join(folder, 'blobs', digest.replace(':', '/')), content);
    const index = { schemaVersion: 2, mediaType: types.index, manifests: [named] };
    await writeFile(join(folder, 'index.json'), JSON.stringify(index));
    await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
    return { archive: await tarOfFolder(folder), digest: image.digest };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const architectures = Object.keys(debianNames) as readonly Architecture[];

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
