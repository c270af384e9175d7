const codes: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR']);

/** Whether reading a file failed because it does not exist. */
export function isMissing(error: unknown): boolean {
  return codes.has((error as NodeJS.ErrnoException).code);
}
