import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { version } from '../common/version.ts';
import { bundleAgent } from './bundle.ts';
import { bundledPackages, printNotices } from './licenses.ts';
import { type TarEntry, tarOf } from './tar.ts';

const root = join(import.meta.dirname, '..');
const source = join(root, 'deploy/kubelet');

export const architectures = ['x64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

/** What `install.sh` unpacks, and its sums. */
export interface KubeletPackage {
  /** Name of the folder inside, and of the archive without its ending. */
  readonly name: string;
  /** Paths below that folder, in order. */
  readonly files: readonly TarEntry[];
}

export interface PackageOptions {
  readonly architecture: Architecture;
  /** The Node binary to put in; default: the one that the lockfile pins for the architecture. */
  readonly node?: Uint8Array;
  /** The folder of the runtime; default: the one in node_modules. */
  readonly runtime?: string;
}

/**
 * Builds both programs and the package. The same sources give the same bytes. Throws when the pinned Node of the
 * architecture is not in node_modules.
 */
export async function makePackage({ architecture, node, ...options }: PackageOptions): Promise<KubeletPackage> {
  const work = await mkdtemp(join(tmpdir(), 'kubelet-package-'));
  try {
    const agent = join(work, 'agent.cjs');
    const reregister = join(work, 'reregister.cjs');
    const metafiles = [await bundleAgent(agent), await bundleReregister(reregister)];
    const packages = await bundledPackages(root, metafiles);
    const runtime = options.runtime ?? (await pinnedNode(architecture));
    const text = (value: string) => Buffer.from(value);
    const fixed: [path: string, mode: number, content: Uint8Array | Promise<Uint8Array>][] = [
      ['VERSION', 0o644, text(`${version}-linux-${architecture}\n`)],
      ['install.sh', 0o755, readFile(join(source, 'install.sh'))],
      ['kubelet.conf', 0o644, readFile(join(source, 'kubelet.conf'))],
      ['bin/node', 0o755, node ?? readFile(join(runtime, 'bin/node'))],
      ['bin/provider-id.sh', 0o755, readFile(join(source, 'provider-id.sh'))],
      ['lib/agent.cjs', 0o644, readFile(agent)],
      ['lib/reregister.cjs', 0o644, readFile(reregister)],
      ['licenses/mooring', 0o644, readFile(join(root, 'LICENSE'))],
      ['licenses/node', 0o644, readFile(join(runtime, 'LICENSE'))],
      ['licenses/third-party', 0o644, text(printNotices(packages))],
      ...['99-mooring.conf.in', 'mooring-reregister.service.in', 'mooring-reregister.timer.in'].map(
        (name): [string, number, Promise<Uint8Array>] => [`units/${name}`, 0o644, readFile(join(source, name))],
      ),
    ];
    const files = await Promise.all(
      fixed.map(async ([path, mode, content]): Promise<TarEntry> => ({ path, mode, content: await content })),
    );
    const readme = `${await readFile(join(source, 'README.md'), 'utf8')}\n## What is inside\n\n${tableOf(files)}`;
    files.push({ path: 'README.md', mode: 0o644, content: text(readme) });
    files.sort((a, b) => (a.path < b.path ? -1 : 1));
    const sums = files.map(({ path, content }) => `${sha256(content)}  ${path}\n`).join('');
    files.unshift({ path: 'SHA256SUMS', mode: 0o644, content: text(sums) });
    return { name: `mooring-kubelet-${version}-linux-${architecture}`, files };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The package as a gzipped tar archive. @param level of gzip; 0 stores, for tests */
export function archiveOf({ name, files }: KubeletPackage, level = 9): Buffer {
  return gzipSync(tarOf(files.map((file) => ({ ...file, path: `${name}/${file.path}` }))), { level });
}

/** Sizes in bytes and sums of files, as a Markdown table. Pure. */
export function tableOf(files: readonly TarEntry[]): string {
  const rows = files.map(({ path, content }) => `| \`${path}\` | ${content.length} | \`${sha256(content)}\` |\n`);
  return `| File | Bytes | SHA-256 |\n|---|---|---|\n${rows.join('')}`;
}

export function sha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

async function bundleReregister(outfile: string): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: ['deploy/kubelet/reregister/main.ts'],
    outfile,
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node24',
    // As for the other programs: ES modules cost memory and time at start.
    format: 'cjs',
    minify: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    banner: { js: '#!/usr/bin/env node' },
    supported: { 'dynamic-import': false },
  });
  return metafile;
}

/** The folder of the platform package, once its version is the one of the lockfile. */
async function pinnedNode(architecture: Architecture): Promise<string> {
  const name = `node_modules/node-linux-${architecture}`;
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
  const pinned = lock.packages?.[name]?.version;
  const manifest = await readFile(join(root, name, 'package.json'), 'utf8').catch(() => undefined);
  if (manifest === undefined) {
    throw new Error(`${name} is not there; bring it with: npm ci --os=linux --cpu=${architecture}`);
  }
  const { version: found } = JSON.parse(manifest);
  if (found !== pinned) throw new Error(`${name}: version ${found}, expected ${pinned} as in package-lock.json`);
  return join(root, name);
}

async function main(argv: string[]): Promise<void> {
  const { values } = parseArgs({
    args: argv,
    options: {
      arch: { type: 'string', default: process.arch },
      out: { type: 'string', default: join(root, 'dist') },
    },
  });
  const architecture = architectures.find((known) => known === values.arch);
  if (architecture === undefined) throw new Error(`--arch: "${values.arch}", expected ${architectures.join(' or ')}`);
  const made = await makePackage({ architecture });
  const archive = archiveOf(made);
  const path = join(values.out, `${made.name}.tar.gz`);
  await mkdir(values.out, { recursive: true });
  await writeFile(path, archive);
  await writeFile(`${path}.sha256`, `${sha256(archive)}  ${made.name}.tar.gz\n`);
  const line = (bytes: number, sum: string, name: string) => `${bytes.toString().padStart(10)}  ${sum}  ${name}\n`;
  for (const file of made.files) process.stdout.write(line(file.content.length, sha256(file.content), file.path));
  process.stdout.write(line(archive.length, sha256(archive), relative(process.cwd(), path)));
}

if (import.meta.main) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`kubelet-package: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
