import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parseDocument } from 'yaml';
import { chart } from '../render-base.ts';
import { type TarEntry, tarOf } from '../tar.ts';

/**
 * The chart as `helm install` takes it, with the digests of the images in its values. The same chart gives the same
 * bytes.
 *
 * @param digests by component: `controller`, `agent`
 */
export async function chartArchive(digests: Readonly<Record<string, string>>): Promise<Buffer> {
  const entries = await readdir(chart, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(chart, join(parentPath, name)))
    .sort();
  const files = paths.map(async (path): Promise<TarEntry> => {
    const content = await readFile(join(chart, path), 'utf8');
    const shipped = path === 'values.yaml' ? withDigests(content, digests) : content;
    return { path: `mooring/${path}`, mode: 0o644, content: Buffer.from(shipped) };
  });
  return gzipSync(tarOf(await Promise.all(files)), { level: 9 });
}

/** Throws where the values have no image of a component. Pure. */
export function withDigests(values: string, digests: Readonly<Record<string, string>>): string {
  const document = parseDocument(values);
  for (const [component, digest] of Object.entries(digests)) {
    const path = [component, 'image', 'digest'];
    if (!document.hasIn(path)) throw new Error(`values.yaml has no ${path.join('.')}`);
    document.setIn(path, digest);
  }
  return document.toString({ lineWidth: 0 });
}
