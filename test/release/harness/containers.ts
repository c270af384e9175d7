import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { type Child, startProgram } from '../../kit/world/child.ts';
import type { StartProgram } from '../../kit/world/programs.ts';
import { type ContainerRuntime, mountCgroups } from './container-runtime.ts';
import type { UnpackedImage } from './unpack-image.ts';

export interface Containers {
  readonly start: StartProgram;
  /** The ids of those that run: the program and a number. */
  running(): readonly string[];
  /** Ends what still runs. Safe to repeat. */
  close(): void;
}

/**
 * Starts the programs in containers on the network of the machine, as their Pods have it: with a root file system that
 * nobody can write, no capability, and the image's own user and command.
 *
 * @param folder for what the runtime keeps
 * @param visible the folder of the machine that the containers see, at the same path
 */
export function createContainers(
  { program: crun, libraries }: ContainerRuntime,
  images: Readonly<Record<'agent' | 'controller', UnpackedImage>>,
  { folder, visible }: { readonly folder: string; readonly visible: string },
): Containers {
  const env = { ...process.env, LD_LIBRARY_PATH: libraries };
  const command = (args: string) =>
    [
      'unshare',
      '--mount',
      'sh',
      '-c',
      `${mountCgroups} && exec ${crun} --root ${folder}/state --cgroup-manager=disabled ${args}`,
    ] as const;
  const ids = new Set<string>();
  let started = 0;

  function end(id: string): void {
    if (!ids.delete(id)) return;
    const [program, ...args] = command(`delete --force ${id}`);
    // What has ended by itself is gone already: then it fails.
    spawnSync(program, args, { env, stdio: 'ignore' });
  }
  function close(): void {
    for (const id of [...ids]) end(id);
  }
  process.once('exit', close);

  function start(program: 'agent' | 'controller', args: readonly string[], logFile: string): Child {
    const image = images[program];
    started += 1;
    const id = `${program}-${started}`;
    const bundle = join(folder, id);
    const [uid = 0, gid = 0] = image.config.User.split(':').map(Number);
    giveFiles(args, uid, gid);
    mkdirSync(bundle, { recursive: true });
    writeFileSync(join(bundle, 'config.json'), JSON.stringify(bundleOf(image, { uid, gid }, args, visible)));
    ids.add(id);
    const child = startProgram(command(`run --bundle ${bundle} ${id}`), logFile, env);
    return {
      pid: child.pid,
      logFile,
      get running() {
        return child.running;
      },
      async stop() {
        const code = await child.stop();
        end(id);
        return code;
      },
      async kill() {
        end(id);
        await child.kill();
      },
    };
  }

  function running(): readonly string[] {
    const [program, ...args] = command('list --quiet');
    return execFileSync(program, args, { env, encoding: 'utf8' })
      .split('\n')
      .filter((id) => ids.has(id));
  }

  return { start, running, close };
}

function bundleOf(
  { folder, config }: UnpackedImage,
  user: { readonly uid: number; readonly gid: number },
  args: readonly string[],
  visible: string,
) {
  const kept = ['nosuid', 'noexec', 'nodev'];
  return {
    ociVersion: '1.0.2',
    process: {
      user,
      args: [...config.Entrypoint, ...config.Cmd, ...args],
      env: config.Env,
      cwd: config.WorkingDir,
      noNewPrivileges: true,
      capabilities: {},
    },
    root: { path: folder, readonly: true },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc', options: kept },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=64k'] },
      { destination: visible, type: 'bind', source: visible, options: ['rbind', 'ro'] },
    ],
    linux: { namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })) },
  };
}

/** The kubelet gives a mounted folder to the group of the Pod's user. */
function giveFiles(args: readonly string[], uid: number, gid: number): void {
  const files = args
    .map((arg) => arg.slice(arg.indexOf('=') + 1))
    .filter((path) => isAbsolute(path) && existsSync(path));
  for (const folder of new Set(files.map(dirname))) {
    chmodSync(folder, 0o711);
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isFile()) chownSync(join(folder, entry.name), uid, gid);
  }
}
