import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { LoadBalancerStep } from '../clouds/load-balancer-step.ts';
import type { LoadBalancerPlan, LoadBalancers } from '../clouds/load-balancers.ts';
import { createChangeRecord } from './change-record.ts';
import { recordingLoadBalancers } from './recording-load-balancers.ts';

const step = (resource: string, fields: Partial<LoadBalancerStep> = {}): LoadBalancerStep => ({
  action: 'create',
  resource,
  target: 'main',
  summary: `create ${resource}`,
  ...fields,
});
const planFor = (service: string, fields: Partial<LoadBalancerPlan>): LoadBalancerPlan => ({
  request: { owner: { cluster: 'c', service }, desired: undefined, retain: false },
  steps: [],
  refusals: [],
  waitMs: undefined,
  ...fields,
});

async function recorded(plans: readonly LoadBalancerPlan[]): Promise<readonly string[]> {
  const record = createChangeRecord();
  const cloud = { preview: async (plan: LoadBalancerPlan) => plan } as Partial<LoadBalancers> as LoadBalancers;
  const balancers = recordingLoadBalancers(cloud, 'scope', record);
  const options = { permit: () => {}, save: async () => {} };
  for (const plan of plans) await balancers.apply(plan, options);
  return record.changes().map(({ object, action, what }) => `${object} ${action} ${what}`);
}

it('lists what several Services share once, and what each has of its own for each', async () => {
  const steps = [step('health check', { isShared: true }), step('listener')];
  assert.deepEqual(await recorded([planFor('a', { steps }), planFor('b', { steps }), planFor('a', { steps })]), [
    'service with uid a create create health check',
    'service with uid a create create listener',
    'service with uid b create create listener',
  ]);
});

it('says beside the steps, not as a change, that more follows once they are done', async () => {
  const plan = planFor('a', { steps: [step('address')], later: ['pool', 'rule'] });
  assert.deepEqual(await recorded([plan]), [
    'service with uid a create create address',
    'service with uid a hold more follows once this is done: pool, rule may be changed, deleted or made again',
  ]);
});
