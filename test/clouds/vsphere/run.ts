import { spawn } from 'node:child_process';
import { findVcsim } from './start-vcsim.ts';

/**
 * `node test/clouds/vsphere/run.ts [SUITE ...]`: the vSphere cloud against vcsim. Ends in "N passed, N failed"; skips
 * where there is no go to build vcsim.
 */
const found = await findVcsim();
if ('skipped' in found) {
  console.log(`SKIPPED: the vSphere cloud was NOT proved against vcsim: ${found.skipped}`);
  console.log('0 passed, 0 failed, 1 skipped');
} else {
  const suites = process.argv.slice(2);
  const files = (suites.length > 0 ? suites : ['*']).map((suite) => `test/clouds/vsphere/${suite}.suite.ts`);
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...files];
  const env = { ...process.env, VCSIM: found.program };
  const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd: new URL('../../..', import.meta.url), env });
  process.exitCode = await new Promise((resolve) => tests.once('exit', (code) => resolve(code ?? 1)));
}
