import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { kept } from '../proof-tools.ts';

export const motoVersion = '5.2.5';
const startTimeoutMs = 60_000;
const installTimeoutMs = 300_000;

export type Moto = { readonly url: string; close(): Promise<void> } | { readonly skipped: string };

/**
 * A moto server (AWS's APIs, faked in Python) on a free port of loopback, in a virtual environment that is created once
 * in the cache folder. `skipped` where python3 or moto (from PyPI) is not available.
 */
export async function startMoto(): Promise<Moto> {
  const tool = await kept(`moto-${motoVersion}`, install);
  if ('skipped' in tool) return tool;
  const python = join(tool.folder, 'bin', 'python');
  const server = spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', '0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PYTHONUNBUFFERED: '1' },
  });
  process.once('exit', () => server.kill('SIGKILL'));
  try {
    return { url: await addressOf(server), close: () => end(server) };
  } catch (error) {
    await end(server);
    throw error;
  }
}

async function install(folder: string): Promise<void> {
  const run = promisify(execFile);
  await run('python3', ['-m', 'venv', folder], { timeout: installTimeoutMs });
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `moto[server,ec2]==${motoVersion}`];
  await run(join(folder, 'bin', 'python'), pip, { timeout: installTimeoutMs });
}

/** The address werkzeug prints once it listens. */
async function addressOf(server: ChildProcess): Promise<string> {
  let seen = '';
  const address = Promise.withResolvers<string>();
  const read = (chunk: Buffer) => {
    seen += chunk.toString();
    const url = /Running on (http:\/\/127\.0\.0\.1:\d+)/.exec(seen)?.[1];
    if (url !== undefined) address.resolve(url);
  };
  server.stdout?.on('data', read);
  server.stderr?.on('data', read);
  server.once('error', address.reject);
  server.once('exit', (code) => address.reject(new Error(`moto ended with ${code}: ${seen.slice(-500)}`)));
  const timer = setTimeout(
    () => address.reject(new Error(`moto does not listen: ${seen.slice(-500)}`)),
    startTimeoutMs,
  );
  try {
    return await address.promise;
  } finally {
    clearTimeout(timer);
  }
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null || server.pid === undefined) return;
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGKILL');
  await ended;
}
