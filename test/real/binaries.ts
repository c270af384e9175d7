import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** Paths of the real programs. kubectl may be absent. */
export interface Binaries {
  kubeApiserver: string;
  etcd: string;
  kubectl?: string;
  /** Where they came from, for people. */
  origin: string;
}

export type FoundBinaries = { found: Binaries } | { found: undefined; reason: string };

const here = import.meta.dirname;

/**
 * Finds kube-apiserver and etcd: in the folder `KUBEBUILDER_ASSETS`, else in the cache folder, else built into it
 * with `go` (minutes the first time; `progress` gets a line now and then). Where nothing works it says why.
 */
export async function findBinaries(
  env: NodeJS.ProcessEnv,
  progress: (line: string) => void,
  options: { build?: boolean } = {},
): Promise<FoundBinaries> {
  const assets = env['KUBEBUILDER_ASSETS'];
  if (assets) {
    const missing = await missingIn(assets);
    if (missing.length > 0) {
      return { found: undefined, reason: `KUBEBUILDER_ASSETS=${assets} lacks ${missing.join(' and ')}` };
    }
    return { found: await inFolder(assets, env, 'KUBEBUILDER_ASSETS') };
  }
  const cache = await cacheFolder(env);
  if ((await missingIn(cache)).length === 0) return { found: await inFolder(cache, env, 'cache') };
  if (options.build === false) return { found: undefined, reason: `nothing built yet in ${cache}` };
  const unfit = await whyGoIsUnfit(env);
  if (unfit) return { found: undefined, reason: `KUBEBUILDER_ASSETS is not set, ${cache} is empty and ${unfit}` };
  try {
    await build(cache, env, progress);
  } catch (error) {
    return { found: undefined, reason: `building them failed: ${error instanceof Error ? error.message : error}` };
  }
  return { found: await inFolder(cache, env, 'built here') };
}

/** The folder in which the programs of this very go.mod are kept. */
export async function cacheFolder(env: NodeJS.ProcessEnv): Promise<string> {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) hash.update(await readFile(join(here, file)));
  const base = env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(base, 'mooring', `real-${hash.digest('hex').slice(0, 16)}`);
}

/** -1, 0 or 1 as version `a` is older than, equal to or newer than `b`; both like `1.26.8`. */
export function compareVersions(a: string, b: string): number {
  const left = a.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const right = b.split('.').map((part) => Number.parseInt(part, 10) || 0);
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

async function missingIn(folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (const name of ['kube-apiserver', 'etcd']) if (!(await isExecutable(join(folder, name)))) missing.push(name);
  return missing;
}

async function inFolder(folder: string, env: NodeJS.ProcessEnv, origin: string): Promise<Binaries> {
  const kubectl = await findKubectl(env, folder);
  return {
    kubeApiserver: join(folder, 'kube-apiserver'),
    etcd: join(folder, 'etcd'),
    ...(kubectl ? { kubectl } : {}),
    origin: `${origin}: ${folder}`,
  };
}

/** kubectl: the machine's own first, then the one beside the servers (or, without a folder, in the cache). */
export async function findKubectl(env: NodeJS.ProcessEnv, folder?: string): Promise<string | undefined> {
  const own = (env['PATH'] ?? '').split(delimiter).filter((entry) => entry !== '');
  for (const entry of [...own, folder ?? (await cacheFolder(env))]) {
    const path = join(entry, 'kubectl');
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function whyGoIsUnfit(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const wanted = /^go (\S+)$/m.exec(await readFile(join(here, 'go.mod'), 'utf8'))?.[1] ?? '0';
  let has: string;
  try {
    const { stdout } = await promisify(execFile)('go', ['env', 'GOVERSION'], { env: { ...env, GOTOOLCHAIN: 'local' } });
    has = stdout.trim().replace(/^go/, '');
  } catch {
    return `there is no go on PATH to build them (${wanted} or newer)`;
  }
  return compareVersions(has, wanted) < 0 ? `go ${has} is older than ${wanted}` : undefined;
}

async function build(cache: string, env: NodeJS.ProcessEnv, progress: (line: string) => void): Promise<void> {
  const started = Date.now();
  const version = /k8s\.io\/kubernetes v(\d+)\.(\d+)\.(\S+)/.exec(await readFile(join(here, 'go.mod'), 'utf8'));
  if (!version) throw new Error('test/real/go.mod names no version of k8s.io/kubernetes');
  const [, major, minor, patch] = version;
  // Without these the server calls itself v0.0.0-master, and clients warn about the skew.
  const stamp = Object.entries({
    gitVersion: `v${major}.${minor}.${patch}`,
    gitMajor: major,
    gitMinor: minor,
    gitTreeState: 'clean',
    gitCommit: 'module-proxy',
  }).map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`);
  await mkdir(cache, { recursive: true });
  // Built beside its place and moved there whole: two builds at once, or a killed one, leave no half file behind.
  const work = await mkdtemp(`${cache}.build-`);
  progress(`building kube-apiserver, etcd and kubectl ${major}.${minor}.${patch} with go, some minutes the first time`);
  const tick = setInterval(
    () => progress(`still building after ${Math.round((Date.now() - started) / 1000)} s`),
    30_000,
  );
  try {
    await new Promise<void>((resolve, reject) => {
      const child = spawn(
        'go',
        ['build', '-trimpath', '-buildvcs=false', '-ldflags', ['-s -w', ...stamp].join(' '), '-o', `${work}/`, 'tool'],
        {
          cwd: here,
          env: { ...env, GOTOOLCHAIN: 'local' },
          stdio: ['ignore', 'inherit', 'inherit'],
        },
      );
      child.once('error', reject);
      child.once('exit', (code, signal) =>
        code === 0 ? resolve() : reject(new Error(`go build in ${here} failed (${signal ?? `exit code ${code}`})`)),
      );
    });
    // A tool is named after the last element of its module path, which for etcd is "server".
    for (const [from, to] of [
      ['kube-apiserver', 'kube-apiserver'],
      ['server', 'etcd'],
      ['kubectl', 'kubectl'],
    ] as const) {
      await rename(join(work, from), join(cache, to));
    }
  } finally {
    clearInterval(tick);
    await rm(work, { recursive: true, force: true });
  }
  progress(`built in ${Math.round((Date.now() - started) / 1000)} s into ${cache}`);
}
