const problems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file: a part of its path is no folder',
  EISDIR: 'it is a folder, expected a file',
  EACCES: 'this user may not read it',
};

/** Why a file could not be read, for people. Pure. */
export function fileProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return problems[code] ?? (error instanceof Error ? error.message : String(error));
}
