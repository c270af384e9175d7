import { execFile } from 'node:child_process';

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program with an environment of its own, which has PATH alone unless given. Never rejects. */
export function run(
  command: string,
  args: readonly string[] = [],
  { env = {}, cwd }: { env?: Readonly<Record<string, string>>; cwd?: string } = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const all = { PATH: process.env['PATH'] ?? '', ...env };
    execFile(
      command,
      [...args],
      { env: all, timeout: 60_000, maxBuffer: 64 * 1024 * 1024, ...(cwd === undefined ? {} : { cwd }) },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr }),
    );
  });
}
