import { annotations } from '../../common/well-known.ts';
import type { InstanceRef } from '../clouds/cloud.ts';
import { type NodeView, readiness } from './node-view.ts';
import { parseRecord } from './scope-record.ts';

const enough = 3;

/** Up to three Nodes whose instances were found in this scope before and that are alive now: if the cloud cannot show one of them, its "absent" means nothing. */
export function pickCanaries(nodes: Iterable<NodeView>, scope: string, suspects: ReadonlySet<string>): InstanceRef[] {
  const canaries: InstanceRef[] = [];
  for (const node of nodes) {
    if (suspects.has(node.name) || node.deleting || node.providerID === '' || readiness(node) !== 'True') continue;
    if (parseRecord(node.annotations[annotations.instance])?.scope !== scope) continue;
    canaries.push({ by: 'providerID', providerID: node.providerID });
    if (canaries.length === enough) break;
  }
  return canaries;
}
