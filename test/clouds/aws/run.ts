import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startMoto } from './start-moto.ts';

/**
 * `node test/clouds/aws/run.ts [SUITE ...]`: the AWS cloud against moto, each suite (`moto`, `nlb`, `life`, ...) with a
 * server of its own. Ends in "N passed, N failed"; skips where moto is not available.
 */
// So that a run that is ended takes moto with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const wanted = process.argv.slice(2);
const files = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.suite.ts')).sort();
const suites = files.filter((name) => wanted.length === 0 || wanted.includes(name.replace('.suite.ts', '')));
const counts = { passed: 0, failed: 0, skipped: 0 };
let without: string | undefined;

for (const suite of suites) {
  const moto = await startMoto();
  if ('skipped' in moto) {
    without = moto.skipped;
    counts.skipped += 1;
    break;
  }
  const startedMs = Date.now();
  const output = await run(join('test/clouds/aws', suite), moto.url);
  await moto.close();
  const [, passed, failed, left] = /(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$/.exec(output) ?? [];
  counts.passed += Number(passed ?? 0);
  counts.skipped += Number(left ?? 0);
  // A suite that ends without counts has failed as a whole.
  counts.failed += Number(failed ?? 1);
  console.error(`${suite}: ${((Date.now() - startedMs) / 1000).toFixed(1)} s`);
}
if (without !== undefined) console.log(`SKIPPED: the AWS cloud was NOT proved against moto: ${without}`);
console.log(
  `${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`,
);
process.exitCode = counts.failed > 0 || suites.length === 0 ? 1 : 0;

/** What one suite has printed; its failures and skips are shown as they come. */
function run(suite: string, url: string): Promise<string> {
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', suite];
  const tests = spawn(process.execPath, args, {
    stdio: ['inherit', 'pipe', 'inherit'],
    cwd: join(import.meta.dirname, '../../..'),
    env: { ...process.env, MOTO_URL: url },
  });
  let output = '';
  tests.stdout.on('data', (chunk: Buffer) => {
    output += chunk;
    const lines = chunk.toString().replace(/^\d+ passed, \d+ failed.*\n?/gm, '');
    if (lines !== '') process.stdout.write(lines);
  });
  return new Promise((resolve) => tests.once('exit', () => resolve(output)));
}
