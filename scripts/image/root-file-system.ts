import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Architecture, type DebianPackage, unpack } from './debian-packages.ts';
import { fetchRuntime, runtimeCache } from './runtime.ts';

const root = join(import.meta.dirname, '../..');

/** libc has plugins (character sets, audit) that node does not load. */
const libraries = new RegExp(
  /^(usr\/)?lib(64)?\/([a-z0-9_]+-linux-gnu\/)?/.source +
    /(ld-|lib(c|m|dl|rt|pthread|resolv|nss_dns|nss_files|gcc_s|stdc\+\+)\.so)/.source,
);

/**
 * Writes what both images have in common into a folder: libraries and authorities of Debian, node, two users, and the
 * licences of all of them.
 *
 * @param cache where downloads are kept
 */
export async function writeBase(
  folder: string,
  architecture: Architecture,
  packages: readonly DebianPackage[],
  cache: string,
): Promise<void> {
  const unpacked = await mkdtemp(join(tmpdir(), 'mooring-debian-'));
  try {
    for (const one of packages) await unpack(one, join(cache, 'debian'), unpacked);
    for (const path of await pathsBelow(unpacked)) {
      if (!libraries.test(path) && !/^usr\/share\/doc\/[^/]+\/copyright$/.test(path)) continue;
      await copy(join(unpacked, path), join(folder, path));
    }
    await writeFile(await place(folder, 'etc/ssl/certs/ca-certificates.crt'), await authorities(unpacked));
  } finally {
    await rm(unpacked, { recursive: true, force: true });
  }
  const runtime = await fetchRuntime(architecture, runtimeCache(cache));
  await copy(join(runtime, 'bin/node'), join(folder, 'usr/local/bin/node'));
  await copy(join(runtime, 'LICENSE'), join(folder, 'app/licenses/node'));
  await copy(join(root, 'LICENSE'), join(folder, 'app/licenses/mooring'));
  const users = ['root:x:0:0:root:/:/sbin/nologin', 'nonroot:x:65532:65532:nonroot:/:/sbin/nologin', ''];
  await writeFile(await place(folder, 'etc/passwd'), users.join('\n'));
  await writeFile(await place(folder, 'etc/group'), ['root:x:0:', 'nonroot:x:65532:', ''].join('\n'));
  await writeFile(await place(folder, 'etc/nsswitch.conf'), 'hosts: files dns\n');
}

/** One file of all authorities, as ca-certificates writes it when it is installed. */
async function authorities(unpacked: string): Promise<string> {
  const folder = join(unpacked, 'usr/share/ca-certificates/mozilla');
  const files = (await readdir(folder)).sort();
  return (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('');
}

/** Files and links, sorted. */
async function pathsBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)).sort();
}

async function copy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, { verbatimSymlinks: true });
}

/** A path in the folder, with the folders above it. */
async function place(folder: string, path: string): Promise<string> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  return join(folder, path);
}
