import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { exampleNode } from '../model/testing/example-node.ts';
import type { DesiredNode } from './desired-node.ts';
import { nodeChanges } from './node-changes.ts';

const ip = (address: string) => ({ type: 'InternalIP', address });
const desired = (changes: Partial<DesiredNode>): DesiredNode => ({
  providerID: undefined,
  labels: {},
  tagRecord: undefined,
  record: 's inc-1',
  addresses: undefined,
  reason: 'Initialized',
  message: '',
  ...changes,
});

describe('what a write changes on a Node', () => {
  it('lists each change from the old value to the new', () => {
    const node = exampleNode({
      labels: { 'example.com/x': '1', 'topology.kubernetes.io/zone': 'z1', old: 'o' },
      annotations: { [annotations.instance]: 's inc-0' },
      addresses: [ip('10.0.0.1')],
    });
    const labels = { 'topology.kubernetes.io/zone': 'z2', old: null };
    const addresses = [ip('10.0.0.1'), ip('10.0.0.2')];
    assert.deepEqual(nodeChanges(node, desired({ providerID: 'p://1', labels, addresses })), [
      'providerID: none -> p://1',
      'incarnation: inc-0 -> inc-1',
      'addresses: InternalIP 10.0.0.1 -> InternalIP 10.0.0.1, InternalIP 10.0.0.2',
      'label topology.kubernetes.io/zone: z1 -> z2',
      'label old: o -> none',
    ]);
  });

  it('lists nothing where all is as before', () => {
    const node = exampleNode({ providerID: 'p://1', annotations: { [annotations.instance]: 's inc-1' } });
    assert.deepEqual(nodeChanges(node, desired({})), []);
  });
});
