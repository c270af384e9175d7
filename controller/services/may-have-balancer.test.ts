import assert from 'node:assert/strict';
import { it } from 'node:test';
import { conditions } from '../../common/well-known.ts';
import { mayHaveBalancer } from './may-have-balancer.ts';
import { exampleService, finalized, recorded } from './testing/example-service.ts';

const spec = { type: 'ClusterIP' };
const shown = { conditions: [{ type: conditions.loadBalancer, status: 'False', reason: 'Deleting' }] };

for (const [what, changes, expected] of [
  ['of type LoadBalancer', {}, true],
  ['of another class', { spec: { loadBalancerClass: 'example.com/x' } }, true],
  ['of another type with our record', { spec, metadata: recorded('http://cloud/demo/sim-1 lb-1') }, true],
  ['of another type with the finalizer', { spec, metadata: finalized }, true],
  ['of another type with our condition', { spec, status: shown }, true],
  ['of another type with nothing of ours', { spec }, false],
] as const) {
  it(`${expected ? 'counts' : 'leaves out'} a Service ${what}`, () => {
    assert.equal(mayHaveBalancer(exampleService(changes)), expected);
  });
}
