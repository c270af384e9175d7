import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { prism } from '../proof-tools.ts';
import { goClient, openApiDocument, pythonWithClient } from './tools.ts';

/**
 * `node test/clouds/hetzner/run.ts`: the shipped controller on a fake of Hetzner Cloud; and that fake, and what Mooring
 * sends, against what Mooring has not written: the OpenAPI document of the vendor through Prism, and the vendor's
 * clients for Python and Go. Installs them itself; says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const [document, validator, python, go] = [
  await openApiDocument(),
  await prism(),
  await pythonWithClient(),
  await goClient(),
];
const env: Record<string, string> = {};
if ('file' in document && 'script' in validator) {
  env['HETZNER_OPENAPI'] = document.file;
  env['PRISM'] = validator.script;
}
if ('python' in python) env['HETZNER_PYTHON'] = python.python;
if ('program' in go) env['HETZNER_GO_CLIENT'] = go.program;

const missing = [document, validator, python, go].flatMap((tool) => ('skipped' in tool ? [tool.skipped] : []));
const suites = [
  'life',
  ...(env['PRISM'] === undefined ? [] : ['schema']),
  ...(env['HETZNER_PYTHON'] === undefined && env['HETZNER_GO_CLIENT'] === undefined ? [] : ['clients']),
].map((name) => join(import.meta.dirname, `${name}.suite.ts`));

const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...suites];
const cwd = join(import.meta.dirname, '../../..');
const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
const code = await new Promise((resolve) => tests.once('exit', resolve));
for (const why of missing) console.error(`SKIPPED: a part of the fake of Hetzner Cloud was NOT proved: ${why}`);
process.exitCode = code === 0 ? 0 : 1;
