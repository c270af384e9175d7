import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeCall } from '../kube/api.ts';
import { describeWrite } from './describe-write.ts';

const cases: readonly (readonly [name: string, call: KubeCall, object: string, action: string, what: string])[] = [
  [
    'addresses and a condition of a Node',
    {
      verb: 'patch',
      path: '/api/v1/nodes/worker-1/status',
      body: {
        metadata: { resourceVersion: '7' },
        status: {
          addresses: [{ $patch: 'replace' }, { type: 'InternalIP', address: '10.0.0.1' }],
          conditions: [{ type: 'CloudInitialized', status: 'True', reason: 'Initialized', message: '' }],
        },
      },
    },
    'node worker-1',
    'update',
    'addresses: InternalIP 10.0.0.1; condition CloudInitialized=True (Initialized)',
  ],
  [
    'the main patch of a Node',
    {
      verb: 'patch',
      path: '/api/v1/nodes/worker-1',
      body: {
        metadata: { resourceVersion: '8', labels: { 'topology.kubernetes.io/zone': 'a' } },
        spec: { providerID: 'simulated://sim-1/i-1', taints: [] },
      },
    },
    'node worker-1',
    'update',
    'label topology.kubernetes.io/zone: a; spec providerID: simulated://sim-1/i-1; spec taints: none',
  ],
  [
    'a deletion',
    { verb: 'delete', path: '/api/v1/nodes/worker-1', body: { preconditions: { uid: 'u' } } },
    'node worker-1',
    'delete',
    'delete the object',
  ],
  [
    'the finalizer of a Service',
    {
      verb: 'patch',
      path: '/api/v1/namespaces/default/services/web/status',
      body: { metadata: { finalizers: ['a/b'], annotations: { 'mooring.dev/load-balancer': null } } },
    },
    'service default/web',
    'update',
    'finalizers: a/b; annotation mooring.dev/load-balancer: removed',
  ],
];

for (const [name, call, object, action, what] of cases) {
  test(`says what a write would change: ${name}`, () => {
    assert.deepEqual(describeWrite(call), { of: 'kubernetes', object, action, what });
  });
}
