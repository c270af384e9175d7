import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { imageCache } from '../../scripts/image/build-images.ts';
import { missingPackages, readLock } from '../../scripts/image/debian-packages.ts';
import { findHelm } from '../deploy/find-helm.ts';
import { containerRuntime } from './harness/container-runtime.ts';
import { cycloneDx, findCosign, findKrew } from './harness/proof.ts';
import { findRegistry } from './harness/registry.ts';

/**
 * `node test/release/run.ts`: makes a release, looks at it, and runs the tour of the sandbox in containers of its
 * images, with the runtime of Debian's package. Says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'dist/release');
const env = { ...process.env, COSIGN_PASSWORD: 'not a secret' };

async function runSuites(): Promise<number> {
  const missing = await missingPackages(await readLock(), join(imageCache(env), 'debian'));
  if (missing.length > 0) {
    console.error(`SKIPPED: the images were NOT built: Debian has newer packages than deploy/image/debian.json pins`);
    for (const path of missing) console.error(`  ${path}`);
    console.log('0 passed, 0 failed');
    return 0;
  }
  const [cosign, cycloneDxLibrary, helm] = [await findCosign(), await cycloneDx(), await findHelm()];
  const [krew, registry] = [await findKrew(), await findRegistry()];
  const work = await mkdtemp(join(tmpdir(), 'mooring-signing-'));
  try {
    const key = join(work, 'release');
    if ('program' in cosign)
      await promisify(execFile)(cosign.program, ['generate-key-pair', `--output-key-prefix=${key}`], { env });
    const signing = 'program' in cosign ? [`--key=${key}.key`, `--cosign=${cosign.program}`] : [];
    const made = await runNode(
      ['scripts/release/release.ts', '--uncommitted', '--url=https://example.com/mooring', ...signing],
      env,
    );
    if (made !== 0) {
      console.log('0 passed, 1 failed');
      return 1;
    }
    const runtime = await containerRuntime();
    const suites = ['images.suite.ts', 'release.suite.ts'];
    if ('skipped' in runtime) console.error(`SKIPPED: the images were NOT run in containers: ${runtime.skipped}`);
    else suites.push('tour.suite.ts');
    for (const tool of [cosign, cycloneDxLibrary, helm, krew, registry])
      if ('skipped' in tool) console.error(`SKIPPED: a part of the release was NOT proved: ${tool.skipped}`);
    const files = suites.map((file) => join(import.meta.dirname, file));
    return await runNode(['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...files], {
      ...env,
      RELEASE: folder,
      ...('program' in cosign && { COSIGN: cosign.program, COSIGN_PUBLIC_KEY: `${key}.pub` }),
      ...('folder' in cycloneDxLibrary && { CYCLONEDX: cycloneDxLibrary.folder }),
      ...('program' in helm && { HELM: helm.program }),
      ...('program' in krew && { KREW: krew.program }),
      ...('program' in runtime && { CONTAINER_RUNTIME: runtime.program, CONTAINER_LIBRARIES: runtime.libraries }),
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The code with which it ends. */
async function runNode(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(process.execPath, args, { stdio: 'inherit', cwd: root, env });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}

process.exitCode = await runSuites();
