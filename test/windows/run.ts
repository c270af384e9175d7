import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { imageCache } from '../../scripts/image/build-images.ts';
import { fetchRuntime, runtimeCache } from '../../scripts/image/runtime.ts';
import { agentExecutable } from '../../scripts/windows/agent-executable.ts';
import { kept, limits, type Tool } from '../clouds/proof-tools.ts';

/**
 * `node test/windows/run.ts`: reads the scripts for Windows with a parser of PowerShell, builds the program for Windows
 * and runs it by Wine, 10 or later: `wine` of the path, or the program in the variable WINE. Says what is missing. Ends
 * in "N passed, N failed".
 */
const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const wine = process.env['WINE'] || 'wine';

/** Why there is none that can run Node. */
async function missingWine(): Promise<string | undefined> {
  try {
    const { stdout } = await run(wine, ['--version'], { timeout: 60_000 });
    const major = Number(/^wine-(\d+)/.exec(stdout)?.[1]);
    return major >= 10 ? undefined : `${wine} is ${stdout.trim()}, and Node needs 10 or later`;
  } catch (error) {
    return String(error).split('\n')[0];
  }
}

/** A Python with a parser of PowerShell. */
async function parser(): Promise<Tool<{ python: string }>> {
  const tool = await kept('python-tree-sitter-powershell-0.26.4', async (folder) => {
    await run('python3', ['-m', 'venv', folder], limits);
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--require-hashes'];
    const requirements = join(import.meta.dirname, 'powershell/requirements.txt');
    await run(join(folder, 'bin/python'), [...install, '--only-binary=:all:', '-r', requirements], limits);
  });
  return 'skipped' in tool ? tool : { python: join(tool.folder, 'bin/python') };
}

async function runSuites(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-windows-'));
  try {
    const files: string[] = [];
    const env: NodeJS.ProcessEnv = { ...process.env };
    const python = await parser();
    if ('skipped' in python) console.error(`SKIPPED: the scripts for Windows were NOT read: ${python.skipped}`);
    else {
      files.push('powershell.suite.ts');
      env['PYTHON'] = python.python;
    }
    const why = await missingWine();
    if (why !== undefined) console.error(`SKIPPED: the program for Windows was NOT run: ${why}`);
    else {
      files.push('wine.suite.ts');
      env['WINE'] = wine;
      env['AGENT'] = await builtProgram(folder);
    }
    if (files.length === 0) {
      console.log('0 passed, 0 failed');
      return 0;
    }
    const suites = files.map((file) => join(import.meta.dirname, file));
    const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...suites];
    const child = spawn(process.execPath, args, { stdio: 'inherit', cwd: root, env });
    return await new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function builtProgram(folder: string): Promise<string> {
  const runtime = await fetchRuntime('windows-amd64', runtimeCache(imageCache(process.env)));
  const { program } = await agentExecutable(await readFile(join(runtime, 'bin/node.exe')));
  const file = join(folder, 'mooring-agent.exe');
  await writeFile(file, program);
  return file;
}

process.exitCode = await runSuites();
