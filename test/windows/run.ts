import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { imageCache } from '../../scripts/image/build-images.ts';
import { fetchRuntime, runtimeCache } from '../../scripts/image/runtime.ts';
import { agentExecutable } from '../../scripts/windows/agent-executable.ts';

/**
 * `node test/windows/run.ts`: builds the program for Windows and runs it by Wine, 10 or later: `wine` of the path, or
 * the program in the variable WINE. Says when that is missing. Ends in "N passed, N failed".
 */
const root = join(import.meta.dirname, '../..');
const wine = process.env['WINE'] || 'wine';

async function missing(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(wine, ['--version'], { timeout: 60_000 });
    const major = Number(/^wine-(\d+)/.exec(stdout)?.[1]);
    return major >= 10 ? undefined : `${wine} is ${stdout.trim()}, and Node needs 10 or later`;
  } catch (error) {
    return String(error).split('\n')[0];
  }
}

async function runSuite(): Promise<number> {
  const why = await missing();
  if (why !== undefined) {
    console.error(`SKIPPED: the program for Windows was NOT run: ${why}`);
    console.log('0 passed, 0 failed');
    return 0;
  }
  const folder = await mkdtemp(join(tmpdir(), 'mooring-windows-'));
  try {
    const runtime = await fetchRuntime('windows-amd64', runtimeCache(imageCache(process.env)));
    const { program } = await agentExecutable(await readFile(join(runtime, 'bin/node.exe')));
    const file = join(folder, 'mooring-agent.exe');
    await writeFile(file, program);
    const suite = join(import.meta.dirname, 'wine.suite.ts');
    const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', suite];
    const env = { ...process.env, WINE: wine, AGENT: file };
    const child = spawn(process.execPath, args, { stdio: 'inherit', cwd: root, env });
    return await new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

process.exitCode = await runSuite();
