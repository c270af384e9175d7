import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { prism } from '../proof-tools.ts';
import { goClient, openApiDocument } from './tools.ts';

/**
 * `node test/clouds/digitalocean/run.ts`: the shipped controller on a fake of DigitalOcean; and that fake, and what
 * Mooring sends, against what Mooring has not written: the OpenAPI document of the vendor through Prism, and the
 * vendor's client for Go, which the classic controller uses. Installs them itself; says what was skipped. Ends in
 * "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const [document, validator, go] = [await openApiDocument(), await prism(), await goClient()];
const env: Record<string, string> = {};
if ('file' in document && 'script' in validator) {
  env['DIGITALOCEAN_OPENAPI'] = document.file;
  env['PRISM'] = validator.script;
}
if ('program' in go) env['DIGITALOCEAN_GO_CLIENT'] = go.program;

const missing = [document, validator, go].flatMap((tool) => ('skipped' in tool ? [tool.skipped] : []));
const suites = [
  'life',
  ...(env['PRISM'] === undefined ? [] : ['schema']),
  ...(env['DIGITALOCEAN_GO_CLIENT'] === undefined ? [] : ['clients']),
].map((name) => join(import.meta.dirname, `${name}.suite.ts`));

const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...suites];
const cwd = join(import.meta.dirname, '../../..');
const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
const code = await new Promise((resolve) => tests.once('exit', resolve));
for (const why of missing) console.error(`SKIPPED: a part of the fake of DigitalOcean was NOT proved: ${why}`);
process.exitCode = code === 0 ? 0 : 1;
