import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '../../kit/free-ports.ts';

/**
 * What stands behind a vCenter: `do` is one of `create`, `guest`, `power off`, `power on`, `destroy`, `configure`,
 * `tag`, `uuids`, `end sessions`.
 */
export interface Order {
  readonly do: string;
  readonly [field: string]: unknown;
}

/** A vCenter simulator on loopback, with TLS. User `user`, password `pass`. */
export interface Vcsim {
  readonly server: string;
  readonly port: number;
  readonly uuid: string;
  // biome-ignore lint/suspicious/noExplicitAny: as the control port answers
  order(order: Order): Promise<any>;
  close(): Promise<void>;
}

const source = join(import.meta.dirname, 'vcsim');
const buildTimeoutMs = 600_000;

/**
 * The program, built once for each version of its source and kept under the cache folder. `skipped` where there is no
 * go, or no module to be had.
 */
export async function findVcsim(
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ program: string } | { skipped: string }> {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(await readFile(join(source, file)));
  const cache = join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'mooring');
  const program = join(cache, `vcsim-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(program)) return { program };
  await mkdir(cache, { recursive: true });
  const partial = `${program}.${process.pid}`;
  try {
    const args = ['build', '-trimpath', '-buildvcs=false', '-o', partial, '.'];
    await promisify(execFile)('go', args, {
      cwd: source,
      env: { ...env, GOTOOLCHAIN: 'local' },
      timeout: buildTimeoutMs,
    });
  } catch (error) {
    return { skipped: `go build of vcsim failed: ${String(error).trim().split('\n').at(-1)}` };
  }
  await rename(partial, program);
  return { program };
}

export async function startVcsim(
  program: string,
  options: { uuid: string; datacenters?: number; machines?: number },
): Promise<Vcsim> {
  const ports = await freePorts('vcenter', 'control');
  const args = [`-listen=127.0.0.1:${ports.vcenter}`, `-control=127.0.0.1:${ports.control}`];
  args.push(`-uuid=${options.uuid}`, `-dc=${options.datacenters ?? 1}`, `-vm=${options.machines ?? 1}`);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await Promise.race([
    new Promise<void>((resolve) => child.stdout.once('data', () => resolve())),
    exited.then(() => Promise.reject(new Error('vcsim ended before it listened'))),
  ]);
  return {
    server: '127.0.0.1',
    port: ports.vcenter,
    uuid: options.uuid,
    async order(order) {
      const answer = await fetch(`http://127.0.0.1:${ports.control}/`, { method: 'POST', body: JSON.stringify(order) });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${order.do}: ${text}`);
      return JSON.parse(text);
    },
    async close() {
      process.off('exit', end);
      end();
      await exited;
    },
  };
}
