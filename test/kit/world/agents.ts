import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { linuxMachine } from '../../../agent/dmi.ts';
import { runFlags, sourceFlags } from '../../../agent/options.ts';
import { runAgent } from '../../../agent/run.ts';
import { systemClock } from '../../../common/process/clock.ts';
import { parseFlags } from '../../../common/process/flags.ts';
import { silentLog } from '../../../common/process/log.ts';
import { writeFirmware } from '../cloud/firmware.ts';
import type { SimulatedInstance } from '../cloud/instance.ts';
import type { RunningCloud } from '../cloud/start-cloud.ts';
import { type AgentMounts, createAgentPod } from './agent-pod.ts';
import type { KubeRest } from './kube-rest.ts';
import type { StartProgram } from './programs.ts';
import { shortened } from './shortened.ts';

interface Agent {
  readonly mounts: AgentMounts;
  readonly process: boolean;
  /** Takes leave and ends. */
  stop(): Promise<void>;
  /** Ends without a word. */
  kill(): Promise<void>;
}

/** The agents of the world, one on every VM. */
export interface SandboxAgents {
  start(vm: SimulatedInstance): Promise<void>;
  stop(nodeName: string): Promise<void>;
  kill(nodeName: string): Promise<void>;
  /** Starts the agent of a VM again, with the same pod. */
  restart(vm: SimulatedInstance): Promise<void>;
  mounts(): Iterable<AgentMounts>;
  stopAll(): Promise<void>;
}

export interface AgentsOptions {
  readonly rest: KubeRest;
  readonly cloud: RunningCloud;
  readonly folder: string;
  /** How many at a time are processes of their own. */
  readonly processes: number;
  readonly startProgram: StartProgram;
}

export function createAgents({ rest, cloud, folder, processes, startProgram }: AgentsOptions): SandboxAgents {
  const agents = new Map<string, Agent>();
  /** Names of Nodes. */
  const asProcesses = new Set<string>();

  async function start(vm: SimulatedInstance): Promise<void> {
    // Taken before the first await: many start side by side.
    const isProcess = asProcesses.size < processes;
    if (isProcess) asProcesses.add(vm.name);
    const place = join(folder, 'agents', vm.name);
    const mounts = await createAgentPod(rest, vm.name, place);
    await writeFirmware(join(place, 'root'), vm);
    const args = [
      `--node-name=${vm.name}`,
      `--metadata-url=${cloud.metadataUrl(vm.id)}`,
      `--system-root=${join(place, 'root')}`,
      `--token-file=${mounts.tokenFile}`,
      `--ca-file=${mounts.caFile}`,
      `--controller-url-file=${mounts.urlFile}`,
      `--poll-interval=${shortened.pollInterval}`,
      `--heartbeat=${shortened.heartbeat}`,
      '--health-address=127.0.0.1:0',
    ];
    const asProcess = async (): Promise<Agent> => {
      const logs = join(folder, 'logs');
      await mkdir(logs, { recursive: true });
      const child = startProgram('agent', args, join(logs, `agent-${vm.name}.log`));
      return { mounts, process: true, stop: async () => void (await child.stop()), kill: () => child.kill() };
    };
    agents.set(vm.name, isProcess ? await asProcess() : inside(mounts, args));
  }

  return {
    start,
    restart: start,
    async stop(nodeName) {
      await agents.get(nodeName)?.stop();
      agents.delete(nodeName);
      asProcesses.delete(nodeName);
    },
    async kill(nodeName) {
      await agents.get(nodeName)?.kill();
      agents.delete(nodeName);
      asProcesses.delete(nodeName);
    },
    *mounts() {
      for (const { mounts } of agents.values()) yield mounts;
    },
    async stopAll() {
      await Promise.all([...agents.values()].map((agent) => agent.kill()));
    },
  };
}

/** The very same code, inside this process. */
function inside(mounts: AgentMounts, args: readonly string[]): Agent {
  const parsed = parseFlags({ ...sourceFlags, ...runFlags }, args);
  if (!parsed.ok) throw new Error(parsed.message);
  const stop = new AbortController();
  const ended = runAgent(parsed.values, {
    clock: systemClock(),
    random: Math.random,
    log: silentLog,
    machine: linuxMachine(parsed.values.systemRoot),
    signal: stop.signal,
  });
  const end = async () => {
    stop.abort();
    await ended;
  };
  return { mounts, process: false, stop: end, kill: end };
}
