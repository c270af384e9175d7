import assert from 'node:assert/strict';
import { it } from 'node:test';
import { conditions } from '../../common/well-known.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import { createHeldBack } from './held-back.ts';

const condition = { type: conditions.loadBalancer, status: 'False', reason: 'ScopeNotServed', message: 'not this one' };
const service = {
  metadata: { namespace: 'default', name: 'web3', uid: 'u', resourceVersion: '1' },
  spec: { type: 'LoadBalancer' },
  status: { conditions: [condition] },
};
const api: KubeApi = {
  call: async <T>() => ({ metadata: { resourceVersion: '1' }, items: [service] }) as T,
  watch: async () => {},
};

const event = (message: string): KubeCall => ({
  verb: 'create',
  path: '/api/v1/namespaces/default/events',
  body: {
    ...{ type: 'Warning', reason: 'SyncLoadBalancerFailed', message },
    involvedObject: { kind: 'Service', namespace: 'default', name: 'web3' },
  },
});

async function heldAfter(message: string): Promise<readonly string[]> {
  const heldBack = createHeldBack();
  heldBack.onEvent(event(message));
  const parts = { api, nodes: [], clouds: [], isPaused: false, services: true, listens: false, changes: [] };
  return (await heldBack.found(parts)).map(({ what }) => what);
}

it('says once what the condition and the Event of a Service say', async () => {
  assert.deepEqual(await heldAfter('ScopeNotServed: not this one'), ['ScopeNotServed: not this one']);
});

it('says both where they differ', async () => {
  assert.equal((await heldAfter('QuotaExceeded: no room')).length, 2);
});
