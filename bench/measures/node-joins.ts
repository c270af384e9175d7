import { setTimeout as sleep } from 'node:timers/promises';
import { taints } from '../../common/well-known.ts';
import type { KubeObject } from '../../test/conformance/client.ts';
import { createNodes } from '../bare-patches.ts';
import { type CallsMade, countCalls } from '../calls-made.ts';
import { cpuSecondsOf } from '../process-figures.ts';
import type { Stage } from '../stage.ts';
import { watchFor } from '../watch-for.ts';

/** Nodes that a leader finds when it starts, or that are created all at once while it leads. */
export const nodeJoinWays = ['at-start', 'created'] as const;

export interface NodeJoinsOptions {
  readonly way: (typeof nodeJoinWays)[number];
  readonly nodes: number;
  /** Processor time of the API server so far. */
  serverCpuSeconds(): Promise<number>;
}

export interface NodeJoinsResult {
  /**
   * From the leader's lease, or from the first Node created, to the last one without its taint and with an address of
   * the cloud.
   */
  readonly wallMs: number;
  readonly calls: CallsMade;
  /** Processor time of the contender: of the whole process at-start, of the joins alone where they are created. */
  readonly cpuSeconds: number;
  /** Processor time of the API server meanwhile, the creation of the Nodes included where they are created. */
  readonly serverCpuSeconds: number;
}

interface NodeFields {
  readonly spec?: { readonly taints?: readonly { readonly key: string }[] };
  readonly status?: { readonly addresses?: readonly { readonly type: string }[] };
}

const noRoutes = ['--configure-cloud-routes=false'];
const sockets = 32;
const patienceMs = 600_000;

/** Whether pods can be placed on a Node and it be reached: what an initialisation is for. */
export function isInitialised(object: KubeObject): boolean {
  const { spec, status } = object as NodeFields;
  const tainted = spec?.taints?.some(({ key }) => key === taints.uninitialized) ?? false;
  return !tainted && (status?.addresses?.some(({ type }) => type === 'InternalIP') ?? false);
}

export async function measureNodeJoins(
  stage: Stage,
  { way, nodes, serverCpuSeconds }: NodeJoinsOptions,
): Promise<NodeJoinsResult> {
  const { api, client, cloud } = stage;
  const machines = cloud.model.createMany(nodes, { name: 'bench' });
  if (way === 'at-start') await createNodes(api, machines, sockets);
  const early = way === 'created' ? await stage.lead(noRoutes) : undefined;
  // The start is over.
  if (early !== undefined) await sleep(2000);
  const initialised = await watchFor(client, '/api/v1/nodes', isInitialised);
  try {
    const calls = countCalls(cloud.calls);
    const serverBefore = await serverCpuSeconds();
    const before = early === undefined ? 0 : await cpuSecondsOf(early.pid);
    const createdAt = Date.now();
    const leader = early ?? (await stage.lead(noRoutes));
    if (way === 'created') await createNodes(api, machines, sockets);
    const done = await initialised.reached(nodes, patienceMs);
    return {
      wallMs: done - (way === 'created' ? createdAt : leader.ledAt),
      calls: calls(),
      cpuSeconds: (await cpuSecondsOf(leader.pid)) - before,
      serverCpuSeconds: (await serverCpuSeconds()) - serverBefore,
    };
  } finally {
    initialised.stop();
  }
}
