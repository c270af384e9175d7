import { taints } from '../../../common/well-known.ts';
import type { NodeView } from '../node-view.ts';

export const uninitializedTaint = { key: taints.uninitialized, value: 'true', effect: 'NoSchedule' };

/** A healthy Node, with the changes of a test. */
export function exampleNode(changes: Partial<NodeView> = {}): NodeView {
  return {
    name: 'node-1',
    uid: 'uid-1',
    resourceVersion: '10',
    createdAtMs: Date.parse('2026-01-01T00:00:00Z'),
    deleting: false,
    labels: {},
    annotations: {},
    providerID: '',
    podCIDRs: [],
    taints: [],
    addresses: [],
    conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }],
    systemUuid: '',
    ...changes,
  };
}
