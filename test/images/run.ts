import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { buildImages, imageCache } from '../../scripts/image/build-images.ts';
import { missingPackages, readLock } from '../../scripts/image/debian-packages.ts';
import { containerRuntime } from './harness/container-runtime.ts';

/**
 * `node test/images/run.ts`: builds both images, looks at them, and runs the tour of the sandbox in containers of them,
 * with the runtime of Debian's package. Says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'dist/images');
const cache = imageCache(process.env);

async function runSuites(): Promise<number> {
  const missing = await missingPackages(await readLock(), join(cache, 'debian'));
  if (missing.length > 0) {
    console.error(`SKIPPED: the images were NOT built: Debian has newer packages than deploy/image/debian.json pins`);
    for (const path of missing) console.error(`  ${path}`);
    console.log('0 passed, 0 failed');
    return 0;
  }
  await buildImages(folder, cache);
  const runtime = await containerRuntime();
  const suites = ['images.suite.ts'];
  if ('skipped' in runtime) console.error(`SKIPPED: the images were NOT run in containers: ${runtime.skipped}`);
  else suites.push('tour.suite.ts');
  const env = {
    ...{ ...process.env, IMAGES: folder },
    ...('program' in runtime && { CONTAINER_RUNTIME: runtime.program, CONTAINER_LIBRARIES: runtime.libraries }),
  };
  const files = suites.map((file) => join(import.meta.dirname, file));
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...files];
  const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd: root, env });
  const code = await new Promise((resolve) => tests.once('exit', resolve));
  return code === 0 ? 0 : 1;
}

process.exitCode = await runSuites();
