import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { stringify } from 'yaml';
import { chart } from '../render-base.ts';
import { type TarEntry, tarOf } from '../tar.ts';

/**
 * The chart as `helm install` takes it, with a file that names the digests of the images. The same chart gives the same
 * bytes.
 *
 * @param digests by component: `controller`, `agent`
 */
export async function chartArchive(digests: Readonly<Record<string, string>>): Promise<Buffer> {
  const entries = await readdir(chart, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const files = await Promise.all(
    paths.map(async (path) => ({ path: relative(chart, path), content: await readFile(path) })),
  );
  const all = [...files, { path: 'files/image-digests.yaml', content: Buffer.from(stringify(digests)) }];
  const entriesOfTar = all
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, content }): TarEntry => ({ path: `mooring/${path}`, mode: 0o644, content }));
  return gzipSync(tarOf(entriesOfTar), { level: 9 });
}
