import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Binaries } from './binaries.ts';

const run = promisify(execFile);
const limits = { maxBuffer: 2 ** 26, timeout: 45 * 60_000 };

const imports = `//go:build tools

package tools

import _ "k8s.io/kubernetes/cmd/kube-apiserver/app"
`;

/**
 * The same programs with a kube-apiserver of another version, such as `v1.30.14`: from the cache folder, else built
 * into it from the Go module proxy, some minutes the first time. Throws when it cannot be built.
 */
export async function withApiserver(
  binaries: Binaries,
  version: string,
  env: NodeJS.ProcessEnv,
  progress: (line: string) => void,
): Promise<Binaries> {
  const base = join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mooring');
  const program = join(base, `kube-apiserver-${version}`);
  const isThere = await access(program, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    progress(`building kube-apiserver ${version} with go, some minutes the first time`);
    await mkdir(base, { recursive: true });
    const work = await mkdtemp(`${program}.build-`);
    try {
      await build(work, version, env);
      // Moved there whole: two builds at once, or a killed one, leave no half file behind.
      await rename(join(work, 'kube-apiserver'), program);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }
  return { ...binaries, kubeApiserver: program, origin: `${binaries.origin}, with ${program}` };
}

async function build(folder: string, version: string, env: NodeJS.ProcessEnv): Promise<void> {
  const [, major, minor, patch] = /^v(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? [];
  if (patch === undefined) throw new Error(`${version}: expected a version such as v1.30.14`);
  const go = (...args: readonly string[]) =>
    run('go', args, { ...limits, cwd: folder, env: { ...env, GOTOOLCHAIN: 'local' } });
  await writeFile(join(folder, 'go.mod'), 'module mooring.dev/older\n');
  const { stdout } = await go('mod', 'download', '-json', `k8s.io/kubernetes@${version}`);
  const theirs = await readFile((JSON.parse(stdout) as { readonly GoMod: string }).GoMod, 'utf8');
  // Inside their repository these modules are folders; outside they have versions of their own.
  const staged = [...theirs.matchAll(/^\s+(k8s\.io\/[a-z0-9-]+) => \.\/staging/gm)].map(([, module]) => module);
  const lines = [
    'module mooring.dev/older',
    ...theirs.split('\n').filter((line) => /^(go|godebug) /.test(line)),
    `require k8s.io/kubernetes ${version}`,
    ...staged.map((module) => `replace ${module} => ${module} v0.${minor}.${patch}`),
  ];
  await writeFile(join(folder, 'go.mod'), `${lines.join('\n')}\n`);
  await writeFile(join(folder, 'tools.go'), imports);
  await go('mod', 'tidy');
  // Without these the server calls itself v0.0.0-master.
  const stamp = Object.entries({ gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' });
  const flags = stamp.map(([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`);
  await go(
    'build',
    '-trimpath',
    '-buildvcs=false',
    '-ldflags',
    ['-s -w', ...flags].join(' '),
    '-o',
    'kube-apiserver',
    'k8s.io/kubernetes/cmd/kube-apiserver',
  );
}
