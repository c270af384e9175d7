import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
const source = join(root, 'docs/guides/out-of-tree-cloud');

export interface Ended {
  readonly code: number;
  readonly output: string;
}

/** The example package of the guide, outside this repository. */
export interface ExamplePackage {
  /** As its author has it, with Mooring linked in its `node_modules`. */
  readonly developed: string;
  /** Without any package beside it. */
  readonly shipped: string;
  /** Checks its types. */
  tsc(): Promise<Ended>;
  /** Runs the conformance suite. */
  test(): Promise<Ended>;
  /** Makes one file of it, `example.cjs` beside what is shipped. Answers its path. */
  bundle(): Promise<string>;
  close(): Promise<void>;
}

export async function copyExamplePackage(): Promise<ExamplePackage> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-example-'));
  const [developed, shipped] = [join(folder, 'developed'), join(folder, 'shipped')];
  for (const copy of [developed, shipped]) await cp(source, copy, { recursive: true });
  const modules = join(developed, 'node_modules');
  await mkdir(join(modules, '@types'), { recursive: true });
  await symlink(root, join(modules, 'mooring'));
  await symlink(join(root, 'node_modules/@types/node'), join(modules, '@types/node'));
  return {
    developed,
    shipped,
    tsc: () => run([join(root, 'node_modules/.bin/tsc'), '-p', '.'], developed),
    // Not as a part of this run.
    test: () => run([process.execPath, '--test', '--test-reporter=tap', 'cloud.suite.ts'], developed),
    async bundle() {
      const outfile = join(shipped, 'example.cjs');
      const args = ['cloud.ts', '--bundle', '--platform=node', `--outfile=${outfile}`];
      const { code, output } = await run([join(root, 'node_modules/.bin/esbuild'), ...args], developed);
      if (code !== 0) throw new Error(output);
      return outfile;
    },
    close: () => rm(folder, { recursive: true }),
  };
}

/** Runs a program to its end. */
export async function run([program = '', ...args]: readonly string[], cwd: string): Promise<Ended> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve) => {
    execFile(program, args, { cwd, env, timeout: 120_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr }),
    );
  });
}
