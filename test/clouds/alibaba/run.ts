import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pythonWithClients } from './tools.ts';

/**
 * `node test/clouds/alibaba/run.ts`: the shipped controller on a fake of Alibaba Cloud; and that fake against what
 * Mooring has not written: the vendor's clients for Python, with signatures of both generations. Installs them itself;
 * says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const python = await pythonWithClients();
const env: Record<string, string> = 'python' in python ? { ALIBABA_PYTHON: python.python } : {};
const suites = ['life', ...('python' in python ? ['clients'] : [])].map((name) =>
  join(import.meta.dirname, `${name}.suite.ts`),
);
const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...suites];
const cwd = join(import.meta.dirname, '../../..');
const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
const code = await new Promise((resolve) => tests.once('exit', resolve));
if ('skipped' in python) console.error(`SKIPPED: the fake of Alibaba Cloud was NOT proved: ${python.skipped}`);
process.exitCode = code === 0 ? 0 : 1;
