import { annotations } from '../../common/well-known.ts';
import type { InstanceRef } from '../clouds/cloud.ts';
import { type NodeView, readiness } from './node-view.ts';
import { parseRecord } from './scope-record.ts';

const enough = 3;

/**
 * Up to three Nodes whose instances were found in this scope before and whose kubelets speak: if the cloud cannot show one of them, its "absent" means nothing. Those nobody
 * suspects come first; but where the cloud denies every instance, as a wrong credential does, all are suspects, and their living Nodes are the very proof that it errs.
 */
export function pickCanaries(nodes: Iterable<NodeView>, scope: string, suspects: ReadonlySet<string>): InstanceRef[] {
  const ranks: NodeView[][] = [[], [], []];
  for (const node of nodes) {
    const rank = readiness(node) === 'True' ? (suspects.has(node.name) ? 1 : 0) : 2;
    const held = ranks[rank]!;
    if (held.length === enough || node.deleting || node.providerID === '') continue;
    if (rank === 2 && readiness(node) !== 'False') continue;
    if (parseRecord(node.annotations[annotations.instance])?.scope !== scope) continue;
    held.push(node);
    if (rank === 0 && held.length === enough) break;
  }
  return ranks
    .flat()
    .slice(0, enough)
    .map(({ providerID }) => ({ by: 'providerID', providerID }));
}
