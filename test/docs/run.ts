import { chmod, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Binaries, findBinaries, findKubectl } from '../real/binaries.ts';
import { commandBlocks, inlineCommands } from './blocks.ts';
import { readPages } from './pages.ts';
import { inlineThatRun, preparations, translated } from './readers-cluster.ts';
import { runPage } from './run-page.ts';
import { type SandboxProcess, startSandboxProcess } from './sandbox-process.ts';
import { openShell } from './shell.ts';

/**
 * `node test/docs/run.ts [--kubernetes real] [--except] [PAGE ...]`: runs the commands of README.md and docs/ as they
 * are written, in a copy of the checkout and against the sandbox, on its own API server or on a real one: of these
 * pages, with `--except` of all others, else of all. A block below the comment `not run: WHY` is not run, and the run
 * says so. Commands of kubectl in the prose are read by it (`--help`). Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const root = join(import.meta.dirname, '../..');
const keptUp = 'npm run -s sandbox -- --scenario join --keep';

/** A folder that looks like the checkout, in which a page may write beside the manifests. */
async function copyCheckout(folder: string): Promise<string> {
  const checkout = join(folder, 'checkout');
  await mkdir(checkout);
  const names = new Set([...(await readdir(root)), 'dist']);
  for (const name of names) if (name !== 'deploy') await symlink(join(root, name), join(checkout, name));
  await cp(join(root, 'deploy'), join(checkout, 'deploy'), { recursive: true });
  return checkout;
}

/** Our programs under the names that the pages give them. */
async function installPrograms(folder: string): Promise<string> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  for (const program of ['agent', 'controller']) {
    const file = join(bin, `mooring-${program}`);
    await writeFile(file, `#!/bin/sh\nexec '${process.execPath}' '${join(root, program, 'main.ts')}' "$@"\n`);
    await chmod(file, 0o755);
  }
  return bin;
}

/** The programs of a real API server with kubectl, built where there are none. */
async function realPrograms(): Promise<Binaries> {
  const answer = await findBinaries(process.env, (line) => console.error(line));
  return answer.found ?? skip(`there is no real API server: ${answer.reason}`);
}

function skip(why: string): never {
  console.error(`SKIPPED: NO command of the pages was run: ${why}`);
  console.log('0 passed, 0 failed');
  process.exit(0);
}

const { values, positionals: named } = parseArgs({
  allowPositionals: true,
  options: { kubernetes: { type: 'string', default: 'embedded' }, except: { type: 'boolean', default: false } },
});
const isWanted = (page: string) => named.length === 0 || named.includes(page) !== values.except;
// HOME is another one in the sandbox, so the variables name the folder.
const server =
  values.kubernetes === 'real'
    ? { SANDBOX_KUBERNETES: 'real', KUBEBUILDER_ASSETS: dirname((await realPrograms()).kubeApiserver) }
    : {};
const kubectl = (await findKubectl(process.env)) ?? (await realPrograms()).kubectl;
if (kubectl === undefined) skip('there is no kubectl on PATH or in the cache of test/real');
const folder = await mkdtemp(join(tmpdir(), 'mooring-docs-'));
let [passed, failed, notRun] = [0, 0, 0];
const cloudClusters = new Map<string, Promise<SandboxProcess>>();
try {
  const cwd = await copyCheckout(folder);
  const path = [
    await installPrograms(folder),
    join(folder, '.local/bin'),
    dirname(process.execPath),
    process.env['PATH'],
    dirname(kubectl),
  ];
  const { KUBECONFIG: _own, ...rest } = process.env;
  const env = { ...rest, ...server, PATH: path.join(delimiter), HOME: folder };
  const start = (command: string) => startSandboxProcess(command, { cwd, env, limitMs: 240_000 });
  async function cloudCluster(cloud: string): Promise<string> {
    const starting = cloudClusters.get(cloud) ?? start(`node test/docs/cloud-cluster.ts ${cloud}`);
    cloudClusters.set(cloud, starting);
    return (await starting).exportLine;
  }
  for (const { path: page, text } of await readPages(root)) {
    const inline = inlineCommands(text, /^kubectl\b/).map((command) =>
      inlineThatRun[page]?.test(command) ? command : `${command} --help`,
    );
    const blocks = [...commandBlocks(text), ...(inline.length > 0 ? [{ line: 0, commands: inline }] : [])];
    if (blocks.length === 0 || !isWanted(page)) continue;
    console.log(page);
    const shell = openShell(cwd, env);
    try {
      const before = preparations[page];
      const prepared = before ? [{ line: 0, commands: [keptUp, ...before] }] : [];
      const counts = await runPage({
        shell,
        blocks: [...prepared, ...blocks],
        translate: translated,
        startSandbox: start,
        cloudCluster,
        say: (line) => console.log(line),
      });
      for (const failure of counts.failures) console.error(`FAILED ${page}, ${failure}`);
      passed += counts.passed;
      failed += counts.failures.length;
      notRun += counts.notRun;
    } finally {
      shell.close();
    }
  }
} finally {
  for (const cluster of cloudClusters.values()) await (await cluster).stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
console.log(`commands that are not run, with a reason in the page: ${notRun}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
