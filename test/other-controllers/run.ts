import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { findBinaries } from '../real/binaries.ts';
import { metallbProgram } from './metallb-program.ts';

/**
 * `node test/other-controllers/run.ts`: the controllers of MetalLB and Mooring as processes on one kube-apiserver.
 * Builds what it needs with go, some minutes the first time; says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const metallb = await metallbProgram();
const api = { reason: '', ...(await findBinaries(process.env, (line) => console.error(line))) };
if ('skipped' in metallb || api.found === undefined) {
  const why = 'skipped' in metallb ? metallb.skipped : `no real API server: ${api.reason}`;
  console.error(`SKIPPED: this was NOT proved beside MetalLB: ${why}`);
  console.log('0 passed, 0 failed');
} else {
  const env = { ...process.env, METALLB_CONTROLLER: metallb.program, METALLB_DEFINITIONS: metallb.definitions };
  const suite = join(import.meta.dirname, 'metallb.suite.ts');
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', suite];
  const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd: join(import.meta.dirname, '../..'), env });
  const code = await new Promise((resolve) => tests.once('exit', resolve));
  process.exitCode = code === 0 ? 0 : 1;
}
