import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { debianPackages, librariesOf, type Tool } from '../../clouds/proof-tools.ts';

const run = promisify(execFile);
/** crun, and what it needs that a small machine may lack. */
const packages = ['crun', 'libyajl2', 'libseccomp2', 'libsystemd0', 'libcap2'];

export interface ContainerRuntime {
  readonly program: string;
  /** Where its libraries are. */
  readonly libraries: string;
}

/** crun out of Debian's packages, unpacked. Containers need root and a kernel with cgroup 2. */
export async function containerRuntime(): Promise<Tool<ContainerRuntime>> {
  if (process.getuid?.() !== 0) return { skipped: 'containers need root' };
  const tool = await debianPackages('crun', packages);
  if ('skipped' in tool) return tool;
  const runtime = { program: join(tool.folder, 'usr/bin/crun'), libraries: librariesOf(tool) };
  try {
    await run('unshare', ['--mount', 'sh', '-c', `${mountCgroups} && exec ${runtime.program} --version`], {
      env: { ...process.env, LD_LIBRARY_PATH: runtime.libraries },
    });
    return runtime;
  } catch (error) {
    return { skipped: `this machine starts no container: ${String(error).trim().split('\n').at(-1)}` };
  }
}

/** In a mount namespace of its own. crun refuses a machine that has cgroups 1 and 2 side by side. */
export const mountCgroups = 'umount --recursive /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup';
