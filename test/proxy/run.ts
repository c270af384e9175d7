import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { debianPackages } from '../clouds/proof-tools.ts';

/**
 * `node test/proxy/run.ts`: the controller behind tinyproxy, the only way to its cloud and to the API server. Takes the
 * program out of Debian's package; says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const tool = await debianPackages('tinyproxy', ['tinyproxy-bin']);
if ('skipped' in tool) {
  console.error(`SKIPPED: proxies were NOT proved by a program of others: ${tool.skipped}`);
  console.log('0 passed, 0 failed');
} else {
  const env = { ...process.env, TINYPROXY: join(tool.folder, 'usr/bin/tinyproxy') };
  const suite = join(import.meta.dirname, 'tinyproxy.suite.ts');
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', suite];
  const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd: join(import.meta.dirname, '../..'), env });
  const code = await new Promise((resolve) => tests.once('exit', resolve));
  process.exitCode = code === 0 ? 0 : 1;
}
