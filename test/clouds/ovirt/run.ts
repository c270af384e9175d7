import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pythonWithClient } from './tools.ts';

/**
 * `node test/clouds/ovirt/run.ts`: the shipped controller on a fake engine of oVirt; and that fake by the vendor's
 * client for Python. Installs it itself; says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const python = await pythonWithClient();
const env: Record<string, string> = 'python' in python ? { OVIRT_PYTHON: python.python } : {};
const suites = ['life', ...('python' in python ? ['clients'] : [])];
const files = suites.map((name) => join(import.meta.dirname, `${name}.suite.ts`));
const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...files];
const cwd = join(import.meta.dirname, '../../..');
const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
const code = await new Promise((resolve) => tests.once('exit', resolve));
if ('skipped' in python) console.error(`SKIPPED: the fake of oVirt was NOT proved: ${python.skipped}`);
process.exitCode = code === 0 ? 0 : 1;
