import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

/** A package of which something is in a bundle. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression, as the package states it. */
  readonly license: string;
  /** The files that its terms ask to be passed on; empty when it ships none. */
  readonly texts: readonly string[];
}

/** Every package that went into the bundles, by name. @param root the folder that holds node_modules */
export async function bundledPackages(root: string, metafiles: Iterable<Metafile>): Promise<BundledPackage[]> {
  const folders = new Set<string>();
  for (const { inputs } of metafiles)
    for (const path of Object.keys(inputs)) {
      const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
      if (folder !== undefined) folders.add(folder);
    }
  const packages = await Promise.all([...folders].map((folder) => readPackage(join(root, folder))));
  return packages.sort((a, b) => (a.name === b.name ? (a.version < b.version ? -1 : 1) : a.name < b.name ? -1 : 1));
}

async function readPackage(folder: string): Promise<BundledPackage> {
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>;
  const files = (await readdir(folder)).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name)).sort();
  return {
    name: String(manifest['name']),
    version: String(manifest['version']),
    license: typeof manifest['license'] === 'string' ? manifest['license'] : '',
    texts: await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8'))),
  };
}

/** The notices as one document. Pure. */
export function printNotices(packages: readonly BundledPackage[]): string {
  const sections = packages.map(({ name, version, license, texts }) =>
    [`${name} ${version} (${license})`, ...texts.map((text) => text.trim())].join('\n\n'),
  );
  const intro = 'Mooring contains parts of these packages, under their own terms.';
  return `${[intro, ...sections].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
