import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..');
const contract = 'controller/clouds/out-of-tree';
/** Of the compiler: what the declarations need, and nothing of where they are read. */
const flags = [
  '--ignoreConfig',
  '--declaration',
  '--emitDeclarationOnly',
  '--noEmit',
  'false',
  '--strict',
  '--skipLibCheck',
  '--exactOptionalPropertyTypes',
  '--allowImportingTsExtensions',
  '--target',
  'es2024',
  '--lib',
  'es2024',
  '--types',
  'node',
  '--module',
  'nodenext',
  '--moduleResolution',
  'nodenext',
];

/**
 * Writes a package `mooring` that has the types `mooring/cloud` alone, as declarations: a module in plain JavaScript,
 * or one that is compiled with other options than ours, is checked against it. What was in `folder` is replaced.
 */
export async function buildTypes(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const args = [...flags, '--rootDir', root, '--outDir', folder, join(root, `${contract}.ts`)];
  await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), args, { cwd: root });
  const { name, version, license } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const types = { types: `./${contract}.d.ts` };
  const json = { name, version, license, type: 'module', exports: { './cloud': types } };
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(json, undefined, 2)}\n`);
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}

if (import.meta.main) await buildTypes(join(root, 'dist/types'));
