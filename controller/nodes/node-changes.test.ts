import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewNode } from '../model/node-view.ts';
import { nodeChanges } from './node-changes.ts';

const nodeWith = (spec: object, labels: object, addresses: readonly object[]) =>
  viewNode({
    metadata: { name: 'a', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', labels },
    spec,
    status: { addresses },
  });

describe('what changed on a Node', () => {
  it('is told from what to what', () => {
    const ip = (address: string) => ({ type: 'InternalIP', address });
    const taint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
    const before = nodeWith({ taints: [taint] }, { 'example.com/x': '1', 'topology.kubernetes.io/zone': 'z1' }, [
      ip('10.0.0.1'),
    ]);
    const after = nodeWith({ providerID: 'p://1' }, { 'example.com/x': '1', 'topology.kubernetes.io/zone': 'z2' }, [
      ...[ip('10.0.0.1'), ip('10.0.0.2')],
    ]);
    assert.deepEqual(nodeChanges(before, after), [
      'providerID: none -> p://1',
      'addresses: InternalIP 10.0.0.1 -> InternalIP 10.0.0.1, InternalIP 10.0.0.2',
      'taint node.cloudprovider.kubernetes.io/uninitialized: true:NoSchedule -> none',
      'label topology.kubernetes.io/zone: z1 -> z2',
    ]);
  });

  it('is nothing where all is as before', () => {
    const node = nodeWith({ providerID: 'p://1' }, { a: 'b' }, []);
    assert.deepEqual(nodeChanges(node, node), []);
  });
});
