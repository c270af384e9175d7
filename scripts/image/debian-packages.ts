import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import fetch from 'node-fetch';

const run = promisify(execFile);
const mirror = 'https://deb.debian.org/debian';

/** Debian's names of the platforms of the images, by the names of OCI. */
export const debianNames = { amd64: 'amd64', arm64: 'arm64' } as const;

export type Architecture = keyof typeof debianNames;

/** One package, as `deploy/image/debian.json` pins it. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  /** Below the mirror. */
  readonly path: string;
  readonly sha256: string;
}

export type DebianLock = Readonly<Record<Architecture, readonly DebianPackage[]>>;

export const lockFile = join(import.meta.dirname, '../../deploy/image/debian.json');

/** libc, libstdc++ and libgcc, which the node binary needs, and the certificate authorities. */
const wanted = ['libc6', 'libgcc-s1', 'libstdc++6', 'ca-certificates'];

export async function readLock(): Promise<DebianLock> {
  return JSON.parse(await readFile(lockFile, 'utf8')) as DebianLock;
}

/**
 * The current packages of Debian 12. Throws when the mirror has none of a name.
 *
 * @param architecture of Debian
 */
export async function currentPackages(architecture: Architecture): Promise<DebianPackage[]> {
  const index = await download(`dists/bookworm/main/binary-${debianNames[architecture]}/Packages.gz`);
  const records = gunzipSync(index)
    .toString('utf8')
    .split('\n\n')
    .map((record) => new Map([...record.matchAll(/^(\S+): (.*)$/gm)].map(([, key = '', value = '']) => [key, value])));
  return wanted.map((name) => {
    const record = records.find((each) => each.get('Package') === name);
    const field = (key: string) => record?.get(key) ?? fail(`${mirror} has no ${key} of ${name}`);
    return { name, version: field('Version'), path: field('Filename'), sha256: field('SHA256') };
  });
}

/**
 * Unpacks a package into a folder. It comes from the cache, or from the mirror into the cache. Throws when it is not
 * the one that the lock pins, or when the mirror has it no more.
 */
export async function unpack(one: DebianPackage, cache: string, folder: string): Promise<void> {
  const file = join(cache, basename(one.path));
  const content = await readFile(file).catch(() => download(one.path));
  const found = createHash('sha256').update(content).digest('hex');
  if (found !== one.sha256) fail(`${one.path}: sha256 ${found}, expected ${one.sha256}`);
  await mkdir(cache, { recursive: true });
  await writeFile(`${file}.part`, content);
  await rename(`${file}.part`, file);
  await run('dpkg-deb', ['--extract', file, folder]);
}

/** What the lock pins and neither the cache nor the mirror has: Debian keeps the newest version of a package alone. */
export async function missingPackages(lock: DebianLock, cache: string): Promise<string[]> {
  const paths = [...new Set(Object.values(lock).flatMap((packages) => packages.map(({ path }) => path)))];
  const has = async (path: string) =>
    existsSync(join(cache, basename(path))) || (await fetch(`${mirror}/${path}`, { method: 'HEAD' })).ok;
  const found = await Promise.all(paths.map(has));
  return paths.filter((_, at) => !found[at]);
}

async function download(path: string): Promise<Buffer> {
  const answer = await fetch(`${mirror}/${path}`);
  if (!answer.ok)
    fail(`${mirror}/${path}: ${answer.status}. A newer version has replaced it: npm run images -- --lock`);
  return Buffer.from(await answer.arrayBuffer());
}

function fail(message: string): never {
  throw new Error(message);
}
