import { createHash } from 'node:crypto';

/** `readFile` of `node:fs/promises`, or a test's. */
export type ReadFile = (path: string) => Promise<string | Uint8Array>;

/** A digest of each file, by path. The contents are secrets and are not kept. */
export type Digests = ReadonlyMap<string, string>;

/**
 * Reads all files. An unreadable file has a digest, too. Mounted Secrets change by a symbolic link, which reading
 * follows.
 */
export async function digestsOf(paths: readonly string[], readFile: ReadFile): Promise<Digests> {
  const digests = new Map<string, string>();
  for (const path of paths) digests.set(path, await digestOf(path, readFile));
  return digests;
}

async function digestOf(path: string, readFile: ReadFile): Promise<string> {
  try {
    return digestOfText(await readFile(path));
  } catch (error) {
    return `unreadable ${(error as { code?: string }).code ?? ''}`;
  }
}

export function digestOfText(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The paths of changed files. */
export function changedIn(before: Digests, now: Digests): string[] {
  return [...now].flatMap(([path, digest]) => (before.get(path) === digest ? [] : [path]));
}
