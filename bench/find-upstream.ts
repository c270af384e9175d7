import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compareVersions } from '../test/real/binaries.ts';

export type FoundUpstream = { readonly path: string } | { readonly path: undefined; readonly reason: string };

const sources = join(import.meta.dirname, 'upstream');

/**
 * The program of `bench/upstream`: from the cache, under a hash of its sources, or built into the cache with `go`
 * (minutes the first time). Returns the reason where the build fails.
 */
export async function findUpstream(env: NodeJS.ProcessEnv, progress: (line: string) => void): Promise<FoundUpstream> {
  const base = env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(base, 'mooring', `upstream-${await hashOfSources()}`);
  const path = join(folder, 'upstream');
  const built = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (built) return { path };
  const unfit = await whyGoIsUnfit(env);
  if (unfit !== undefined) return { path: undefined, reason: `${folder} is empty and ${unfit}` };
  try {
    progress('building upstream with go, some minutes the first time');
    await build(folder, env);
    return { path };
  } catch (error) {
    return { path: undefined, reason: error instanceof Error ? error.message : String(error) };
  }
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of (await readdir(sources)).sort()) {
    if (/\.go$|^go\.(mod|sum)$/.test(name)) hash.update(name).update(await readFile(join(sources, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

async function whyGoIsUnfit(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const wanted = /^go (\S+)$/m.exec(await readFile(join(sources, 'go.mod'), 'utf8'))?.[1] ?? '0';
  try {
    const { stdout } = await promisify(execFile)('go', ['env', 'GOVERSION'], { env: { ...env, GOTOOLCHAIN: 'local' } });
    const has = stdout.trim().replace(/^go/, '');
    return compareVersions(has, wanted) < 0 ? `go ${has} is older than ${wanted}` : undefined;
  } catch {
    return `there is no go on PATH to build it (${wanted} or newer)`;
  }
}

/** Built beside its place and moved there: two builds at once, or a killed one, leave no half file behind. */
async function build(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  await mkdir(folder, { recursive: true });
  const work = await mkdtemp(`${folder}.build-`);
  try {
    await new Promise<void>((resolve, reject) => {
      const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags=-s -w', '-o', join(work, 'upstream'), '.'];
      const child = spawn('go', args, {
        cwd: sources,
        env: { ...env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod' },
        stdio: ['ignore', 'inherit', 'inherit'],
      });
      child.once('error', reject);
      child.once('exit', (code, signal) =>
        code === 0 ? resolve() : reject(new Error(`go build in ${sources} failed (${signal ?? `exit code ${code}`})`)),
      );
    });
    await rename(join(work, 'upstream'), join(folder, 'upstream'));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
