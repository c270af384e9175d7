import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { kept, limits, type Tool } from '../../clouds/proof-tools.ts';

/** A browser, and what its process needs in its environment. */
export interface Chromium {
  readonly program: string;
  readonly libraries: string;
}

const run = promisify(execFile);

/**
 * Chromium: `CHROMIUM`, or that of this machine, or the one of Debian's packages, unpacked with what it lacks here. Its
 * folder is named after its version.
 */
export async function chromium(): Promise<Tool<Chromium>> {
  const given = process.env['CHROMIUM'] || '/usr/bin/chromium';
  if (existsSync(given)) return { program: given, libraries: '' };
  const packages = await packagesToUnpack();
  if ('skipped' in packages) return packages;
  const tool = await kept(`chromium-${packages.version}`, async (folder) => {
    await run('apt-get', ['download', '-qq', ...packages.names], { ...limits, cwd: folder });
    for (const file of await readdir(folder)) {
      if (!file.endsWith('.deb')) continue;
      await run('dpkg', ['-x', file, '.'], { ...limits, cwd: folder });
      await run('rm', [file], { cwd: folder });
    }
    await run(programIn(folder), ['--version'], { env: { ...process.env, LD_LIBRARY_PATH: librariesIn(folder) } });
  });
  if ('skipped' in tool) return tool;
  return { program: programIn(tool.folder), libraries: librariesIn(tool.folder) };
}

/** What apt would install. */
async function packagesToUnpack(): Promise<Tool<{ readonly names: readonly string[]; readonly version: string }>> {
  try {
    const wanted = ['install', '--simulate', '--no-install-recommends', 'chromium', 'fonts-liberation'];
    const simulated = () => run('apt-get', wanted, limits);
    const { stdout } = await simulated().catch(async () => {
      await run('apt-get', ['update', '-qq'], limits);
      return simulated();
    });
    const lines = [...stdout.matchAll(/^Inst (\S+) \((\S+) /gm)];
    const version = lines.find(([, name]) => name === 'chromium')?.[2];
    if (version === undefined) return { skipped: 'apt-get offers no chromium' };
    return { names: lines.map(([, name]) => name!), version };
  } catch (error) {
    return { skipped: `apt-get: ${String(error).trim().split('\n').at(-1) ?? ''}` };
  }
}

function programIn(folder: string): string {
  return join(folder, 'usr/lib/chromium/chromium');
}

function librariesIn(folder: string): string {
  const machine = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  return ['usr/lib', `usr/lib/${machine}`, `usr/lib/${machine}/pulseaudio`].map((part) => join(folder, part)).join(':');
}
