import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildAll } from '../../scripts/build.ts';
import { previousRelease } from './previous-release.ts';

/**
 * `node test/upgrade/run.ts [SUITE ...]`: the previous release, this one and the previous one again, with the programs
 * as built. Builds both itself; says what was skipped. `UPGRADE_FROM=REVISION` takes another commit for the previous
 * release. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const [asked, root] = [process.argv.slice(2), join(import.meta.dirname, '../..')];
const suites = ['world', 'clouds'].filter((name) => asked.length === 0 || asked.includes(name));
const previous = await previousRelease(process.env['UPGRADE_FROM']);
let code: unknown = 0;
if ('folder' in previous) {
  const dist = await mkdtemp(join(tmpdir(), 'mooring-upgrade-'));
  await buildAll(dist);
  const files = suites.map((name) => join(import.meta.dirname, `${name}.suite.ts`));
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...files];
  const env = { ...process.env, UPGRADE_THIS: dist, UPGRADE_PREVIOUS: previous.folder };
  const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd: root, env });
  code = await new Promise((resolve) => tests.once('exit', resolve));
  await rm(dist, { recursive: true, force: true });
} else console.log('0 passed, 0 failed');
if ('skipped' in previous) console.error(`SKIPPED: upgrade and downgrade were NOT proved: ${previous.skipped}`);
process.exitCode = code === 0 ? 0 : 1;
