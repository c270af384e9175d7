import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pythonWithClients } from './tools.ts';

/**
 * `node test/clouds/huawei/run.ts`: the shipped controller on a fake of Huawei Cloud; and that fake, and what Mooring
 * sends to it, against the vendor's clients for Python. Installs them itself; says what was skipped. Ends in "N passed,
 * N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const python = await pythonWithClients();
const env: Record<string, string> = 'python' in python ? { HUAWEI_PYTHON: python.python } : {};
const suites = ['life', ...('python' in python ? ['clients'] : [])];
const files = suites.map((name) => join(import.meta.dirname, `${name}.suite.ts`));

const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...files];
const cwd = join(import.meta.dirname, '../../..');
const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
const code = await new Promise((resolve) => tests.once('exit', resolve));
if ('skipped' in python) console.error(`SKIPPED: the fake of Huawei Cloud was NOT proved: ${python.skipped}`);
process.exitCode = code === 0 ? 0 : 1;
