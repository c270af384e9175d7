import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CloudConfigError } from './cloud.ts';

/**
 * Reads the files of a configuration. Both return undefined for a missing file or folder, and throw a CloudConfigError
 * for an unreadable one.
 */
export interface ConfigFiles {
  readText(path: string): Promise<string | undefined>;
  /** The files of a folder by name, as a mounted Secret has them. */
  readFolder(path: string): Promise<ReadonlyMap<string, string> | undefined>;
}

/** Those of this machine. @param cloud for errors */
export function configFilesOf(cloud: string): ConfigFiles {
  async function unlessMissing<T>(path: string, read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
      throw new CloudConfigError(`${cloud}: ${path}: cannot be read (${String(code)})`);
    }
  }
  const readText = (path: string) => unlessMissing(path, () => readFile(path, 'utf8'));
  return {
    readText,
    readFolder: (path) =>
      unlessMissing(path, async () => {
        const texts = new Map<string, string>();
        for (const entry of await readdir(path, { withFileTypes: true })) {
          // A mounted Secret has links to its files, and folders of its own.
          if (entry.isDirectory() || entry.name.startsWith('..')) continue;
          texts.set(entry.name, (await readText(join(path, entry.name))) ?? '');
        }
        return texts;
      }),
  };
}
