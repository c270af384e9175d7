import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { guard } from '../../real/child.ts';
import type { Ended } from './run.ts';

const script = join(import.meta.dirname, 'boot-machine.sh');

/** A machine with a systemd of its own that shares this one's programs, network and nothing else. */
export interface Machine {
  /** A path of the machine as this process sees it. */
  at(path: string): string;
  write(path: string, content: string | Uint8Array, mode?: number): Promise<void>;
  /** Empty when there is no such file. */
  read(path: string): Promise<string>;
  /** Runs a shell command inside. */
  sh(command: string): Promise<Ended>;
  /** What its systemd and its units said so far. */
  log(): string;
  stop(): Promise<void>;
}

/** Why no machine can be had here; undefined when one can. */
export async function whyNoMachine(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'needs root: it makes namespaces and mounts';
  if (!existsSync('/lib/systemd/systemd')) return 'there is no /lib/systemd/systemd';
  for (const program of ['unshare', 'nsenter', 'chroot']) {
    if (!(await succeeds('sh', ['-c', `command -v ${program}`]))) return `there is no ${program}`;
  }
  const cgroup = cgroupRoot();
  if (cgroup === undefined) return 'there is no cgroup v2 mounted';
  const probe = join(cgroup, `mooring-probe-${process.pid}`);
  try {
    await mkdir(probe);
    await rmdir(probe);
  } catch {
    return `${cgroup} is not writable`;
  }
  return (await succeeds('unshare', ['--mount', '--pid', '--fork', '--cgroup', '--uts', '--ipc', 'true']))
    ? undefined
    : 'namespaces are not allowed here';
}

function cgroupRoot(): string | undefined {
  return ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find((folder) => existsSync(join(folder, 'cgroup.controllers')));
}

/** Boots a machine; ready when its systemd accepts commands. It ends with `stop`, at the latest with this process. */
export async function bootMachine(): Promise<Machine> {
  const root = await mkdtemp(join(tmpdir(), 'mooring-machine-'));
  const cgroup = join(cgroupRoot()!, `mooring-test-${process.pid}-${Date.now()}`);
  await mkdir(cgroup);
  const child = spawn('sh', [script, root, cgroup], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const watchman = guard([child.pid ?? 0], root);
  const pid = await pidOfInit(child).catch(async (error) => {
    child.kill('SIGKILL');
    throw new Error(`${error}\n${text}`);
  });
  const inside = ['--target', String(pid), '--mount', '--pid', '--uts', '--ipc', '--cgroup', '--root'];
  const machine: Machine = {
    at: (path) => `/proc/${pid}/root${path}`,
    async write(path, content, mode = 0o644) {
      await mkdir(dirname(machine.at(path)), { recursive: true });
      await writeFile(machine.at(path), content, { mode });
    },
    read: (path) => readFile(machine.at(path), 'utf8').catch(() => ''),
    sh: (command) =>
      new Promise((resolve) => {
        const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
        execFile(
          'nsenter',
          // The folder that nsenter comes from is not below the new root.
          [...inside, 'env', '--chdir=/', 'sh', '-c', command],
          { env, timeout: 120_000, maxBuffer: 64 * 1024 * 1024 },
          (error, stdout, stderr) =>
            resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr }),
        );
      }),
    log: () => text,
    async stop() {
      child.kill('SIGKILL');
      await ended;
      watchman.release();
      await removeCgroups(cgroup);
      await rm(root, { recursive: true, force: true });
    },
  };
  for (let tries = 0; ; tries += 1) {
    const { code, stderr } = await machine.sh('systemctl list-units --no-pager --no-legend');
    if (code === 0) return machine;
    if (tries === 50) {
      await machine.stop();
      throw new Error(`systemd does not answer: ${stderr}\n${text}`);
    }
    await wait(100);
  }
}

/** unshare's only child, once it has become systemd. */
async function pidOfInit(child: ChildProcess): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    if (child.exitCode !== null) throw new Error(`the machine ended with ${child.exitCode}`);
    const children = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').catch(() => '');
    const pid = Number(children.trim());
    if (pid > 0 && /systemd/.test(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''))) {
      if ((await readFile(`/proc/${pid}/comm`, 'utf8')).trim() === 'systemd') return pid;
    }
    await wait(50);
  }
  throw new Error('no systemd after five seconds');
}

/** Children first: rmdir is all that a cgroup takes. It may take a moment until its processes are gone. */
async function removeCgroups(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if ((await stat(join(folder, name))).isDirectory()) await removeCgroups(join(folder, name));
  }
  for (let tries = 0; tries < 20; tries += 1) {
    try {
      return await rmdir(folder);
    } catch {
      await wait(50);
    }
  }
}

async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => execFile(command, [...args], (error) => resolve(error === null)));
}
