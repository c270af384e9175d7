import assert from 'node:assert/strict';
import { it } from 'node:test';
import { readObject } from '../kube/protobuf-objects.ts';
import { writeObject } from '../kube/testing/protobuf-writer.ts';
import { nodeFields } from './node-fields.ts';
import { viewNode } from './node-view.ts';

it('gives a Node in protobuf the view that its JSON has', () => {
  const time = '2026-11-25T10:00:00Z';
  const node = {
    kind: 'Node',
    metadata: {
      name: 'a',
      uid: 'u',
      resourceVersion: '7',
      creationTimestamp: time,
      deletionTimestamp: time,
      labels: { 'node-role.kubernetes.io/control-plane': '', zone: 'ä' },
      annotations: { 'mooring.dev/paused': 'true', other: 'x' },
    },
    spec: {
      podCIDR: '10.0.0.0/24',
      podCIDRs: ['10.0.0.0/24', 'fd00::/64'],
      providerID: 'simulated:///a',
      taints: [
        { key: 'a', effect: 'NoSchedule' },
        { key: 'b', value: 'c', effect: 'NoExecute', timeAdded: time },
      ],
    },
    status: {
      conditions: [
        { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'is ready', lastTransitionTime: time },
      ],
      addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
      nodeInfo: { systemUUID: 'ABC' },
    },
  };
  assert.deepEqual(viewNode(readObject(writeObject(node, nodeFields), nodeFields)), viewNode(node));
});
