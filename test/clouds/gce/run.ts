import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { googleProgram, pythonWithClient } from './tools.ts';

/**
 * `node test/clouds/gce/run.ts`: the shipped controller on a fake of Compute Engine; and that fake, and what Mooring
 * sends, against what Mooring has not written: Google's own mock behind HTTP, its cloud provider, and its client for
 * Python. Installs them itself; says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const [google, python] = [await googleProgram(), await pythonWithClient()];
const env: Record<string, string> = {};
if ('program' in google) env['GCE_GOOGLE'] = google.program;
if ('python' in python) env['GCE_PYTHON'] = python.python;

const missing = [google, python].flatMap((tool) => ('skipped' in tool ? [tool.skipped] : []));
const suites = [
  'alias-ranges',
  'life',
  ...(env['GCE_GOOGLE'] === undefined ? [] : ['mock', 'classic', 'balancers']),
  ...(env['GCE_PYTHON'] === undefined ? [] : ['clients']),
].map((name) => join(import.meta.dirname, `${name}.suite.ts`));

let code: unknown = 0;
if (suites.length > 0) {
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...suites];
  const cwd = join(import.meta.dirname, '../../..');
  const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
  code = await new Promise((resolve) => tests.once('exit', resolve));
} else console.log('0 passed, 0 failed');
for (const why of missing) console.error(`SKIPPED: a part of Compute Engine was NOT proved: ${why}`);
process.exitCode = code === 0 ? 0 : 1;
