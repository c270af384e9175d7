import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** README.md, every page below docs/, sorted, and that of deploy/kubelet. */
export async function readPages(root: string): Promise<Page[]> {
  const names = (await readdir(join(root, 'docs'), { recursive: true })).filter((name) => name.endsWith('.md')).sort();
  const paths = ['README.md', ...names.map((name) => `docs/${name}`), 'deploy/kubelet/README.md'];
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(root, path), 'utf8') })));
}
