import { spawn } from 'node:child_process';
import { join } from 'node:path';

/**
 * `node test/clouds/out-of-tree/run.ts`: the example package of a cloud that is no part of Mooring, outside this
 * repository: its types, its conformance suite, and the shipped controller with it. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const suite = join(import.meta.dirname, 'package.suite.ts');
const args = ['--test', '--test-isolation=none', '--test-reporter=./scripts/test-reporter.mjs', suite];
const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd: join(import.meta.dirname, '../../..') });
const code = await new Promise((resolve) => tests.once('exit', resolve));
process.exitCode = code === 0 ? 0 : 1;
