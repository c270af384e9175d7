import { spawn } from 'node:child_process';

/**
 * `OS_CLOUD=name node test/clouds/openstack/run.ts`: the OpenStack cloud against that cloud of clouds.yaml. Creates
 * servers, routes and load balancers there and deletes them. Ends in "N passed, N failed"; skips without OS_CLOUD.
 */
if (!process.env['OS_CLOUD']) {
  console.log('SKIPPED: the OpenStack cloud was NOT proved against a real OpenStack: OS_CLOUD names none');
  console.log('0 passed, 0 failed, 1 skipped');
} else {
  const suites = 'test/clouds/openstack/*.suite.ts';
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', suites];
  const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd: new URL('../../..', import.meta.url) });
  process.exitCode = await new Promise((resolve) => tests.once('exit', (code) => resolve(code ?? 1)));
}
