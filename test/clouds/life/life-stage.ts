import type { NodeObject } from '../../kit/world/scenario.ts';
import { type ControllerProcess, type ControllerProcessOptions, prepareController } from '../aws/controller-process.ts';
import type { ClusterCloud, LifeCloud, OpenCloud } from './life-cloud.ts';

/** A cluster on one or several clouds: kubelets, and the shipped controller as a process. */
export interface LifeStage<Cloud extends ClusterCloud = LifeCloud> {
  readonly controller: ControllerProcess;
  readonly clouds: readonly Cloud[];
  /** Those of all clouds that have a Node and were not removed. */
  readonly machines: Cloud['machines'][number][];
  /** Starts the kubelet of one that has no Node yet. */
  join(machine: Cloud['machines'][number]): Promise<void>;
  nodeNamed(name: string): Promise<NodeObject | undefined>;
  /** As `ControllerProcess.until`, within `waitMs` of the options unless told. */
  wait<T>(what: string, probe: () => Promise<T | undefined | false>, timeoutMs?: number): Promise<T>;
  /** Of all clouds. */
  changes(): number;
  /** Ends the process and starts it again. Resolves when it has read everything. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Addresses of VMs are read again sooner than every five minutes, and one VM of each cloud may go at once. */
const quicker = ['--node-status-update-frequency=3s', '--node-deletion-budget=5/10m'];

export interface LifeStageOptions extends ControllerProcessOptions {
  /** How many VMs of each cloud have a Node from the start. Default: all. */
  readonly members?: number;
  /** The controller is not started. */
  readonly idle?: boolean;
  /** How long a step waits. Default: a minute. */
  readonly waitMs?: number;
}

export async function openLifeStage<Cloud extends ClusterCloud>(
  open: readonly OpenCloud<Cloud>[],
  { members, idle = false, waitMs = 60_000, ...options }: LifeStageOptions = {},
): Promise<LifeStage<Cloud>> {
  const clouds: Cloud[] = [];
  const closeClouds = async () => {
    for (const cloud of clouds) await cloud.close();
  };
  try {
    for (const one of open) clouds.push(await one());
    const served = clouds.map((cloud) => cloud.served);
    const controller = await prepareController(served, { flags: quicker, ...options });
    const machines: Cloud['machines'][number][] = [];
    const join = async (machine: Cloud['machines'][number]) => {
      await controller.kubelet(machine.node).start();
      machines.push(machine);
    };
    for (const cloud of clouds) for (const machine of cloud.machines.slice(0, members)) await join(machine);
    if (!idle) controller.start();
    const wait: LifeStage['wait'] = (what, probe, timeoutMs = waitMs) => controller.until(what, timeoutMs, probe);
    return {
      controller,
      clouds,
      machines,
      join,
      wait,
      async nodeNamed(name) {
        const { status, body } = await controller.rest.call('GET', `/api/v1/nodes/${name}`);
        return status === 200 ? body : undefined;
      },
      changes: () => clouds.reduce((sum, cloud) => sum + cloud.changes(), 0),
      async restart() {
        await controller.stopProcess();
        const before = clouds.map((cloud) => cloud.audits());
        controller.start();
        await wait('it has read everything', async () => clouds.every((cloud, at) => cloud.audits() > before[at]!));
      },
      async close() {
        await controller.stop();
        await closeClouds();
      },
    };
  } catch (error) {
    await closeClouds();
    throw error;
  }
}
