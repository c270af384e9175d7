import { taints } from '../../common/well-known.ts';
import type { KubeObject } from '../../test/conformance/client.ts';
import { createNodes } from '../bare-patches.ts';
import { type CallsMade, countCalls } from '../calls-made.ts';
import type { Stage } from '../stage.ts';
import { watchFor } from '../watch-for.ts';

export interface NodeJoinsResult {
  /** From the first Node created to the last one without its taint and with an address of the cloud. */
  readonly wallMs: number;
  readonly calls: CallsMade;
}

interface NodeFields {
  readonly spec?: { readonly taints?: readonly { readonly key: string }[] };
  readonly status?: { readonly addresses?: readonly { readonly type: string }[] };
}

/** Whether pods can be placed on a Node and it be reached: what an initialisation is for. */
export function isInitialised(object: KubeObject): boolean {
  const { spec, status } = object as NodeFields;
  const tainted = spec?.taints?.some(({ key }) => key === taints.uninitialized) ?? false;
  return !tainted && (status?.addresses?.some(({ type }) => type === 'InternalIP') ?? false);
}

/** Nodes that are created all at once while the contender leads already. */
export async function measureNodeJoins(stage: Stage, nodes: number): Promise<NodeJoinsResult> {
  const machines = stage.cloud.model.createMany(nodes, { name: 'bench' });
  await stage.lead(['--configure-cloud-routes=false']);
  const initialised = await watchFor(stage.client, '/api/v1/nodes', isInitialised);
  try {
    const calls = countCalls(stage.cloud.calls);
    const since = Date.now();
    await createNodes(stage.api, machines, 32);
    const done = await initialised.reached(nodes, 600_000);
    return { wallMs: done - since, calls: calls() };
  } finally {
    initialised.stop();
  }
}
