import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, conditions } from '../../common/well-known.ts';
import type { NodeView } from '../model/node-view.ts';
import { exampleNode, uninitializedTaint } from '../model/testing/example-node.ts';
import { concernsRoutes } from './route-task.ts';

const addresses = [{ type: 'InternalIP', address: '10.0.0.1' }];
const node = exampleNode({ podCIDRs: ['10.244.0.0/24'], providerID: 'simulated://sim-1/i-1', addresses });
const network = (status: string, reason: string) => [
  { type: conditions.networkUnavailable, status, reason, message: 'x' },
];

describe('a change of a Node concerns its routes', () => {
  const cases: readonly [string, Partial<NodeView>, boolean][] = [
    ['when its address changes', { addresses: [{ type: 'InternalIP', address: '10.0.0.2' }] }, true],
    ['when it gets another address', { addresses: [...addresses, { type: 'InternalIP', address: 'fd00::1' }] }, true],
    ['when its pod range changes', { podCIDRs: ['10.244.1.0/24'] }, true],
    ['when it gets a range of the other family', { podCIDRs: ['10.244.0.0/24', 'fd00:10::/64'] }, true],
    ['when it is another Node', { uid: 'uid-2' }, true],
    ['when its instance becomes known', { providerID: 'simulated://sim-1/i-2' }, true],
    ['when it waits for initialisation', { taints: [uninitializedTaint] }, true],
    ['when it is paused', { annotations: { [annotations.paused]: 'true' } }, true],
    ['when its condition is written', { conditions: network('False', 'RouteCreated') }, true],
    ['when nothing changes', {}, false],
    ['when a label changes', { labels: { a: 'b' } }, false],
    ['when another taint changes', { taints: [{ key: 'a', effect: 'NoSchedule' }] }, false],
    ['when its kubelet speaks', { resourceVersion: '11' }, false],
    ['when it turns unready', { conditions: [{ type: 'Ready', status: 'False', reason: '', message: '' }] }, false],
  ];
  for (const [name, changes, expected] of cases)
    it(`${expected ? 'plans' : 'leaves'} the routes of a Node ${name}`, () =>
      assert.equal(concernsRoutes(node, { ...node, ...changes }), expected));

  it('ignores a change of the message of the condition', () => {
    const [old, now] = ['a', 'b'].map((message) => ({
      ...node,
      conditions: [{ type: conditions.networkUnavailable, status: 'True', reason: 'NoRouteCreated', message }],
    }));
    assert.equal(concernsRoutes(old!, now!), false);
  });
});
