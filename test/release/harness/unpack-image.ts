import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

interface Descriptor {
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly architecture: string; readonly os: string };
}

export interface UnpackedImage {
  readonly folder: string;
  /** As the image's configuration has it. */
  readonly config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Env: readonly string[];
    readonly WorkingDir: string;
  };
  /** Of the layers, compressed. */
  readonly bytes: number;
}

/**
 * Unpacks the image of one platform out of an archive in the OCI image layout, as a container runtime does: by digests,
 * each of which it proves.
 */
export async function unpackImage(archive: string, architecture: string, folder: string): Promise<UnpackedImage> {
  const layout = join(folder, 'layout');
  const files = join(folder, 'rootfs');
  for (const each of [layout, files]) await mkdir(each, { recursive: true });
  await run('tar', ['-xf', archive, '-C', layout]);

  const blob = ({ digest }: Descriptor) => join(layout, 'blobs', digest.replace(':', '/'));
  async function proved(descriptor: Descriptor): Promise<Buffer> {
    const content = await readFile(blob(descriptor));
    const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
    if (digest !== descriptor.digest || content.length !== descriptor.size)
      throw new Error(`${descriptor.digest}: ${digest}, ${content.length} bytes`);
    return content;
  }
  const parsed = async (descriptor: Descriptor) => JSON.parse((await proved(descriptor)).toString('utf8'));

  const top = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8'));
  const index = await parsed(top.manifests[0]);
  const ours = index.manifests.find((each: Descriptor) => each.platform?.architecture === architecture);
  if (ours === undefined) throw new Error(`${archive} has no image for ${architecture}`);
  const { config, layers } = await parsed(ours);
  for (const layer of layers) {
    await proved(layer);
    await run('tar', ['-xzf', blob(layer), '-C', files, '--same-owner', '--same-permissions']);
  }
  const bytes = layers.reduce((sum: number, { size }: Descriptor) => sum + size, 0);
  return { folder: files, config: (await parsed(config)).config, bytes };
}
