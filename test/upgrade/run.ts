import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildAll } from '../../scripts/build.ts';
import { startMoto } from '../clouds/aws/start-moto.ts';
import { buildClassicProgram, classicPrograms, classicVariable } from './classic-programs.ts';
import { previousRelease, secondPreviousCommit } from './previous-release.ts';

/**
 * `node test/upgrade/run.ts [SUITE ...]`: the previous release, this one and the previous one again (`world`, `clouds`,
 * `moto`, and `openstack` on the cloud that OS_CLOUD names); a classic controller, Mooring and the classic controller
 * again (`classic`). All are programs as built; builds them itself and says what was skipped. `UPGRADE_FROM=REVISION`
 * takes another commit for the previous release. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const [asked, root] = [process.argv.slice(2), join(import.meta.dirname, '../..')];
const isAsked = (suite: string) => asked.length === 0 || asked.includes(suite);
const env: Record<string, string> = {};
const missing: string[] = [];
const suites: string[] = [];
let stopMoto = async () => {};

/** Makes what one suite alone needs. Resolves with the reason why there is none. */
async function lack(suite: string): Promise<string | undefined> {
  if (suite === 'openstack' && !process.env['OS_CLOUD']) return 'OS_CLOUD names no cloud';
  if (suite === 'world') {
    const second = await previousRelease(secondPreviousCommit);
    if ('skipped' in second) return second.skipped;
    env['UPGRADE_SECOND_PREVIOUS'] = second.folder;
  }
  if (suite !== 'moto') return undefined;
  const moto = await startMoto();
  if ('skipped' in moto) return moto.skipped;
  env['MOTO_URL'] = moto.url;
  stopMoto = moto.close;
  return undefined;
}

const ofReleases = ['world', 'clouds', 'moto', 'openstack'].filter(isAsked);
if (ofReleases.length > 0) {
  const previous = await previousRelease(process.env['UPGRADE_FROM']);
  if ('skipped' in previous) missing.push(`upgrade and downgrade: ${previous.skipped}`);
  else {
    env['UPGRADE_PREVIOUS'] = previous.folder;
    for (const suite of ofReleases) {
      const why = await lack(suite);
      if (why === undefined) suites.push(suite);
      else missing.push(`upgrade and downgrade on ${suite}: ${why}`);
    }
  }
}
if (isAsked('classic')) {
  for (const name of classicPrograms) {
    const built = await buildClassicProgram(name);
    if ('skipped' in built) missing.push(`the classic controller of ${name}: ${built.skipped}`);
    else env[classicVariable(name)] = built.program;
  }
  if (Object.keys(env).some((name) => name.startsWith('UPGRADE_CLASSIC'))) suites.push('classic');
}

let code: unknown = 0;
if (suites.length > 0) {
  const dist = await mkdtemp(join(tmpdir(), 'mooring-upgrade-'));
  await buildAll(dist);
  const files = suites.map((name) => join(import.meta.dirname, `${name}.suite.ts`));
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...files];
  const environment = { ...process.env, ...env, UPGRADE_THIS: dist };
  const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd: root, env: environment });
  code = await new Promise((resolve) => tests.once('exit', resolve));
  await rm(dist, { recursive: true, force: true });
  await stopMoto();
} else console.log('0 passed, 0 failed');
for (const why of missing) console.error(`SKIPPED: this was NOT proved: ${why}`);
process.exitCode = code === 0 ? 0 : 1;
