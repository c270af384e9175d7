import { execFile } from 'node:child_process';
import { access, readFile, rename, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type Access, openAccess } from './access.ts';
import { parseKubeconfig } from './kubeconfig.ts';
import { type KubeletState, noRestarts, parseRestarts, printRestarts, type Restarts } from './restarts.ts';

const run = promisify(execFile);

/** systemd's word about a unit. @param monotonicMs now, on CLOCK_MONOTONIC */
export async function unitState(unit: string, monotonicMs: number): Promise<KubeletState> {
  const { stdout } = await run(
    'systemctl',
    ['show', unit, '--property=ActiveState', '--property=ActiveEnterTimestampMonotonic'],
    { timeout: 10_000 },
  );
  const since = /^ActiveEnterTimestampMonotonic=(\d+)$/m.exec(stdout)?.[1];
  if (since === undefined) throw new Error(`systemctl show ${unit} does not tell since when it is active`);
  return { active: /^ActiveState=active$/m.test(stdout), activeForMs: monotonicMs - Number(since) / 1000 };
}

/** Restarts a unit if it runs, and waits until that is done. */
export async function restartUnit(unit: string): Promise<void> {
  await run('systemctl', ['try-restart', unit], { timeout: 180_000 });
}

/** What the first of the kubeconfigs that is there leads to; undefined when there is none. */
export async function accessOf(kubeconfigs: readonly string[]): Promise<Access | undefined> {
  for (const path of kubeconfigs) {
    if (!(await exists(path))) continue;
    try {
      return await openAccess(parseKubeconfig(await readFile(path, 'utf8'), path), {
        readFile: (file) => readFile(file, 'utf8'),
        async execute(command, args, env) {
          const { stdout } = await run(command, [...args], { env: { ...process.env, ...env }, timeout: 60_000 });
          return stdout;
        },
      });
    } catch (error) {
      throw new Error(`${path}: ${reasonOf(error)}`);
    }
  }
  return undefined;
}

/** A failed program is told by its name alone: its output may hold a credential. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && 'cmd' in error) {
    return `exec: ${String(error.cmd).split(' ')[0]} failed (${'code' in error ? error.code : 'killed'})`;
  }
  return error instanceof Error ? error.message : String(error);
}

export async function readRestarts(path: string): Promise<Restarts> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return noRestarts;
  try {
    return parseRestarts(text, await bootId());
  } catch (error) {
    throw new Error(`${path}: ${reasonOf(error)}; remove it`);
  }
}

export async function writeRestarts(path: string, restarts: Restarts): Promise<void> {
  await writeFile(`${path}.new`, printRestarts(restarts, await bootId()), { mode: 0o644 });
  await rename(`${path}.new`, path);
}

async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
