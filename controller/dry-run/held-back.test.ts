import assert from 'node:assert/strict';
import { it } from 'node:test';
import { conditions } from '../../common/well-known.ts';
import type { KubeApi, KubeCall } from '../kube/api.ts';
import { createHeldBack } from './held-back.ts';
import type { PlannedChange } from './planned-change.ts';

const condition = { type: conditions.loadBalancer, status: 'False', reason: 'ScopeNotServed', message: 'not this one' };
const service = (spec: object) => ({
  metadata: { namespace: 'default', name: 'web3', uid: 'u', resourceVersion: '1' },
  spec,
  status: { conditions: [condition] },
});
const apiWith = (items: readonly object[]): KubeApi => ({
  call: async <T>() => ({ metadata: { resourceVersion: '1' }, items }) as T,
  watch: async () => {},
});
const api = apiWith([service({ type: 'LoadBalancer' })]);

const event = (message: string): KubeCall => ({
  verb: 'create',
  path: '/api/v1/namespaces/default/events',
  body: {
    type: 'Warning',
    reason: 'SyncLoadBalancerFailed',
    message,
    involvedObject: { kind: 'Service', namespace: 'default', name: 'web3' },
  },
});

const orphaned: KubeCall = {
  verb: 'create',
  path: '/api/v1/namespaces/kube-system/events',
  body: {
    type: 'Warning',
    reason: 'OrphanedLoadBalancer',
    message: 'Load balancer lb-7 in cloud/a belongs to Service default/web (uid u-1), which does not exist',
    involvedObject: { kind: 'Namespace', name: 'kube-system' },
  },
};

/** What is told of an orphan lb-7 where this is deleted as well. */
async function toldWith(deleted: Partial<PlannedChange>): Promise<number> {
  const heldBack = createHeldBack();
  heldBack.onEvent(orphaned);
  const change: PlannedChange = {
    of: 'cloud/a',
    object: 'service default/web',
    action: 'delete',
    what: '',
    ...deleted,
  };
  const parts = { api, nodes: [], clouds: [], isPaused: false, services: false, listens: false, changes: [change] };
  return (await heldBack.found(parts)).length;
}

async function heldAfter(message: string): Promise<readonly string[]> {
  const heldBack = createHeldBack();
  heldBack.onEvent(event(message));
  const parts = { api, nodes: [], clouds: [], isPaused: false, services: true, listens: false, changes: [] };
  return (await heldBack.found(parts)).map(({ what }) => what);
}

it('says once what the condition and the Event of a Service say', async () => {
  assert.deepEqual(await heldAfter('ScopeNotServed: not this one'), ['ScopeNotServed: not this one']);
});

it('says why the load balancer of a Service of another type is not deleted', async () => {
  const parts = { nodes: [], clouds: [], isPaused: false, services: true, listens: false, changes: [] };
  const held = await createHeldBack().found({ ...parts, api: apiWith([service({ type: 'ClusterIP' })]) });
  assert.deepEqual(
    held.map(({ object, what }) => [object, what]),
    [['service default/web3', 'ScopeNotServed: not this one']],
  );
});

it('says both where they differ', async () => {
  assert.equal((await heldAfter('QuotaExceeded: no room')).length, 2);
});

it('tells of an orphan until its own load balancer is deleted, whatever else goes', async () => {
  assert.equal(await toldWith({ target: 'lb-7' }), 0);
  assert.equal(await toldWith({ object: 'route 10.1.0.0/24', target: '' }), 1);
  assert.equal(await toldWith({ target: 'lb' }), 1);
  assert.equal(await toldWith({ target: 'lb-7', of: 'cloud/b' }), 1);
});
