import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { classicProvider, pythonWithClients } from './tools.ts';

/**
 * `node test/clouds/azure/run.ts`: the shipped controller on a fake of Azure; and that fake, and what Mooring reads of
 * it, against what Mooring has not written: the provider of the classic controller, and the vendor's clients for
 * Python. Installs them itself; says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const [classic, python] = [await classicProvider(), await pythonWithClients()];
const env: Record<string, string> = {
  ...('program' in classic ? { AZURE_CLASSIC: classic.program } : {}),
  ...('python' in python ? { AZURE_PYTHON: python.python } : {}),
};
const missing = [classic, python].flatMap((tool) => ('skipped' in tool ? [tool.skipped] : []));
const suites = ['life', ...(Object.keys(env).length === 0 ? [] : ['clients', 'services'])];
const files = suites.map((name) => join(import.meta.dirname, `${name}.suite.ts`));

const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...files];
const cwd = join(import.meta.dirname, '../../..');
const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
const code = await new Promise((resolve) => tests.once('exit', resolve));
for (const why of missing) console.error(`SKIPPED: a part of the fake of Azure was NOT proved: ${why}`);
process.exitCode = code === 0 ? 0 : 1;
