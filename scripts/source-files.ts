import { readdirSync } from 'node:fs';
import { join } from 'node:path';

export const repositoryRoot = join(import.meta.dirname, '..');

/** Paths of all files of ours, from the root of the repository: no packages, nothing built, nothing of git. */
export function sourceFiles(folder = ''): string[] {
  return readdirSync(join(repositoryRoot, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [path];
    return /^(node_modules|dist|\.(?!ci$).*)$/.test(entry.name) ? [] : sourceFiles(path);
  });
}
