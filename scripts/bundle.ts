import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { buildPage } from './bundle-page.ts';
import {
  leftOutOfAgent,
  leftOutOfClouds,
  leftOutOfController,
  leftOutOfPackages,
  leftOutOfPlugin,
} from './left-out.ts';
import { leaveUnusedShapesOut } from './unused-shapes.ts';

const root = new URL('..', import.meta.url).pathname;

/**
 * One file a program, as CommonJS: importing node:http as an ES module costs some 15 MiB of memory, and type stripping
 * at start 300 ms.
 */
const common: BuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  absWorkingDir: root,
  // A lazy import inside the bundle stays in it, and one of another bundle becomes a `require`: the loader of ES
  // modules never starts.
  supported: { 'dynamic-import': false },
};

/** Of client-node the controller uses KubeConfig alone, and of that what fills in node's own HTTPS options. */
const controllerAlias = { '@kubernetes/client-node': './node_modules/@kubernetes/client-node/dist/config.js' };

const programs = { banner: { js: '#!/usr/bin/env node' } };

/** Builds `agent/main.ts` into one executable file. Answers what went into it. */
export async function bundleAgent(outfile: string): Promise<Metafile> {
  return bundle({
    ...programs,
    entryPoints: ['agent/main.ts'],
    outfile,
    plugins: [...leftOutOfAgent],
    // The part that agent/host-facts.ts uses. The whole library is more than half of the bundle, and 1 MiB of every
    // agent's memory.
    alias: { systeminformation: 'systeminformation/lib/memory.js' },
  });
}

/**
 * What the controller and its clouds must share in one copy: the classes of errors that one throws and the other
 * recognises.
 */
const contractModules: ReadonlySet<string> = new Set(
  ['common/cloud-error.ts', 'controller/clouds/cloud.ts', 'controller/reports/attestation/verdict.ts'].map((file) =>
    join(root, file),
  ),
);

/** With the libraries for PKCS#7 and JWT: most controllers never load it. */
const signatures = 'controller/reports/attestation/signatures.ts';

/** The page of `ui`: a controller that runs never loads it. */
const pageFiles = 'controller/commands/ui/page-files.ts';

/** Builds that copy. */
export async function bundleContract(outfile: string): Promise<Metafile> {
  const contents = [...contractModules].map((file) => `export * from ${JSON.stringify(file)};`).join('\n');
  return bundle({ stdin: { contents, resolveDir: root, sourcefile: 'contract.ts', loader: 'ts' }, outfile });
}

/**
 * Builds `controller/main.ts` without clouds: those are loaded from `clouds/` beside `outfile`, the contract from
 * `contract.cjs` beside it.
 */
export async function bundleController(outfile: string): Promise<Metafile> {
  return bundle({
    ...programs,
    entryPoints: ['controller/main.ts'],
    outfile,
    alias: controllerAlias,
    plugins: [
      shareContract('./contract.cjs'),
      leaveCloudsOut(),
      leaveOut(signatures, './attestation.cjs'),
      leaveOut(pageFiles, './ui-page.cjs'),
      ...leftOutOfController,
    ],
  });
}

/** Builds the folder `controller/clouds/<cloud>` into a file that lies in `clouds/` beside the controller. */
export async function bundleCloud(cloud: string, outfile: string): Promise<Metafile> {
  return bundle({
    // Where a package has both, its ES modules instead of CommonJS: of those esbuild leaves out what is not used.
    mainFields: ['module', 'main'],
    entryPoints: [`controller/clouds/${cloud}/index.ts`],
    outfile,
    plugins: [shareContract('../contract.cjs'), leaveUnusedShapesOut, ...leftOutOfClouds],
  });
}

/** Builds a package that the controller loads on demand. */
export async function bundlePackage(name: string, outfile: string): Promise<Metafile> {
  const contents = `module.exports = require(${JSON.stringify(name)});`;
  const stdin = { contents, resolveDir: root, sourcefile: `${name}.cjs` };
  return bundle({ stdin, outfile, plugins: [...leftOutOfPackages] });
}

/** Builds what verifies signed documents, into a file that lies beside the controller. */
export async function bundleAttestation(outfile: string): Promise<Metafile> {
  return bundle({ entryPoints: [signatures], outfile, plugins: [shareContract('./contract.cjs')] });
}

/** Builds the controller's commands for people, with all clouds, into one executable file: the plugin of kubectl. */
export async function bundlePlugin(outfile: string): Promise<Metafile> {
  const { contents } = await pageModule();
  return bundle({
    ...programs,
    entryPoints: ['controller/main.ts'],
    outfile,
    alias: controllerAlias,
    plugins: [putIn(pageFiles, contents), ...leftOutOfPlugin],
  });
}

async function pageModule(): Promise<{ readonly contents: string; readonly page: Metafile }> {
  const { metafile: page, ...files } = await buildPage();
  return { contents: `export const readPageFiles = async () => (${JSON.stringify(files)});`, page };
}

/** Puts a text in the place of a module of ours. */
function putIn(module: string, contents: string): Plugin {
  return {
    name: `put in ${module}`,
    setup({ onLoad }) {
      onLoad({ filter: new RegExp(`/${basename(module).replaceAll('.', '\\.')}$`) }, ({ path }) =>
        path === join(root, module) ? { contents, loader: 'js' } : undefined,
      );
    },
  };
}

/** Builds the page of `ui` into one file that lies beside the controller. */
export async function bundlePageFiles(outfile: string): Promise<Metafile> {
  const { contents, page } = await pageModule();
  const { outputs } = await bundle({ stdin: { contents, sourcefile: 'ui-page.js' }, outfile });
  return { inputs: page.inputs, outputs };
}

async function bundle(options: BuildOptions): Promise<Metafile> {
  if (options.outfile !== undefined) await rm(options.outfile, { force: true });
  const { metafile } = await build({ ...common, ...options });
  return metafile!;
}

function shareContract(path: string): Plugin {
  return {
    name: 'share the contract',
    setup({ onResolve }) {
      onResolve({ filter: /\/(cloud|cloud-error|verdict)\.ts$/ }, ({ path: imported, resolveDir }) =>
        contractModules.has(join(resolveDir, imported)) ? { path, external: true } : undefined,
      );
    },
  };
}

/** A module that is loaded on demand, from a file of its own. */
function leaveOut(module: string, built: string): Plugin {
  return {
    name: `leave ${module} out`,
    setup({ onResolve }) {
      const filter = new RegExp(`/${basename(module).replaceAll('.', '\\.')}$`);
      onResolve({ filter }, ({ path: imported, resolveDir, kind }) =>
        join(resolveDir, imported) === join(root, module) && kind === 'dynamic-import'
          ? { path: built, external: true }
          : undefined,
      );
    },
  };
}

function leaveCloudsOut(): Plugin {
  const folder = join(root, 'controller/clouds');
  return {
    name: 'leave the clouds out',
    setup({ onResolve }) {
      onResolve({ filter: /^\.\/[^/]+\/index\.ts$/ }, ({ path: imported, resolveDir, kind }) =>
        resolveDir === folder && kind === 'dynamic-import'
          ? { path: `./clouds/${imported.split('/')[1]}.cjs`, external: true }
          : undefined,
      );
    },
  };
}
