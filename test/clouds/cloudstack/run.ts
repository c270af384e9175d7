import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { apiDescription, pythonWithClient } from './tools.ts';

/**
 * `node test/clouds/cloudstack/run.ts`: the shipped controller on a fake of CloudStack; and that fake, and what Mooring
 * sends, against what Mooring has not written: the vendor's API description, recorded answers of a management server,
 * and a client for Python. Installs them itself; says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const [description, python] = [await apiDescription(), await pythonWithClient()];
const env: Record<string, string> = {};
if ('folder' in description) env['CLOUDSTACK_DESCRIPTION'] = description.folder;
if ('python' in python) env['CLOUDSTACK_PYTHON'] = python.python;

const missing = [description, python].flatMap((tool) => ('skipped' in tool ? [tool.skipped] : []));
const suites = [
  'life',
  ...(env['CLOUDSTACK_DESCRIPTION'] === undefined ? [] : ['schema']),
  ...(env['CLOUDSTACK_PYTHON'] === undefined ? [] : ['clients']),
].map((name) => join(import.meta.dirname, `${name}.suite.ts`));

const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...suites];
const cwd = join(import.meta.dirname, '../../..');
const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
const code = await new Promise((resolve) => tests.once('exit', resolve));
for (const why of missing) console.error(`SKIPPED: a part of the fake of CloudStack was NOT proved: ${why}`);
process.exitCode = code === 0 ? 0 : 1;
