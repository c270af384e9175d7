import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Metafile } from 'esbuild';
import { cloudModules } from '../controller/clouds/registry.ts';
import {
  bundleAgent,
  bundleAttestation,
  bundleCloud,
  bundleContract,
  bundleController,
  bundlePackage,
  bundlePageFiles,
  bundlePlugin,
} from './bundle.ts';
import { packagesOnDemand } from './left-out.ts';
import { bundledPackages, printNotices } from './licenses.ts';

const root = join(import.meta.dirname, '..');

/** What went into each file, by its path under the folder. */
export type Build = ReadonlyMap<string, Metafile>;

/**
 * Builds everything that ships into `folder`: both programs, a file for each cloud of the registry and for each package
 * that few controllers need, what verifies signed documents, the page of `ui`, what they share, and the notices of the
 * packages inside. Safe to repeat.
 */
export async function buildAll(folder: string): Promise<Build> {
  for (const inner of ['clouds', 'packages']) await mkdir(join(folder, inner), { recursive: true });
  const at = (name: string) => join(folder, name);
  const work: [string, Promise<Metafile>][] = [
    ['agent.cjs', bundleAgent(at('agent.cjs'))],
    ['controller.cjs', bundleController(at('controller.cjs'))],
    ['contract.cjs', bundleContract(at('contract.cjs'))],
    ['attestation.cjs', bundleAttestation(at('attestation.cjs'))],
    ['ui-page.cjs', bundlePageFiles(at('ui-page.cjs'))],
    ['kubectl-mooring.cjs', bundlePlugin(at('kubectl-mooring.cjs'))],
    ...[...cloudModules.keys()].map((cloud): [string, Promise<Metafile>] => [
      `clouds/${cloud}.cjs`,
      bundleCloud(cloud, at(`clouds/${cloud}.cjs`)),
    ]),
    ...[...packagesOnDemand.keys()].map((name): [string, Promise<Metafile>] => [
      `packages/${name}.cjs`,
      bundlePackage(name, at(`packages/${name}.cjs`)),
    ]),
  ];
  const built = new Map<string, Metafile>();
  for (const [name, metafile] of work) built.set(name, await metafile);
  for (const name of ['agent.cjs', 'controller.cjs', 'kubectl-mooring.cjs']) await chmod(at(name), 0o755);
  await writeFile(at('third-party-licenses.txt'), printNotices(await bundledPackages(root, built.values())));
  return built;
}

if (import.meta.main) {
  const folder = join(root, 'dist');
  for (const [name, { outputs }] of await buildAll(folder)) {
    const bytes = Object.values(outputs).reduce((sum, output) => sum + output.bytes, 0);
    const path = relative(process.cwd(), join(folder, name));
    process.stdout.write(
      `${path.padEnd(32)} ${Math.ceil(bytes / 1024)
        .toString()
        .padStart(6)} KiB\n`,
    );
  }
}
