import { spawn } from 'node:child_process';
import { startMoto } from './start-moto.ts';

/** `node test/aws/run.ts`: the AWS cloud against moto. Ends in "N passed, N failed"; skips where moto cannot be had. */
// So that a run that is ended takes moto with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const moto = await startMoto();
if ('skipped' in moto) {
  console.log(`SKIPPED: the AWS cloud was NOT proved against moto: ${moto.skipped}`);
  console.log('0 passed, 0 failed, 1 skipped');
} else {
  const args = [
    '--test',
    '--test-isolation=none',
    '--test-reporter=./scripts/test-reporter.mjs',
    'test/aws/*.suite.ts',
  ];
  const tests = spawn(process.execPath, args, {
    stdio: 'inherit',
    cwd: new URL('../..', import.meta.url),
    env: { ...process.env, MOTO_URL: moto.url },
  });
  process.exitCode = await new Promise((resolve) => tests.once('exit', (code) => resolve(code ?? 1)));
  await moto.close();
}
