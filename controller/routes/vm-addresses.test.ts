import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import type { Cloud, Lookup } from '../clouds/cloud.ts';
import { parseCidr } from '../model/cidr.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { exampleInstance } from '../model/testing/example-instance.ts';
import { exampleNode } from '../model/testing/example-node.ts';
import { createVmAddresses } from './vm-addresses.ts';

const scope = 'here';
const address = { type: 'InternalIP', address: '10.244.7.9' } as const;
const node = exampleNode({ name: 'n', providerID: 'simulated://sim-1/i-1', addresses: [address] });
const api = { name: 'simulated', scope } as Cloud;
const cloud: ConfiguredCloud = { name: 'simulated', scope, accepts: () => true, selector: undefined, api };

const answers = {
  has: { state: 'found', instance: exampleInstance({ addresses: [address] }), power: 'running', request: 'id' },
  'has not': { state: 'found', instance: exampleInstance(), power: 'running', request: 'id' },
  unknown: {
    state: 'unknown',
    error: new CloudError({ kind: 'Invalid', cloud: 'simulated', operation: 'get', message: 'malformed' }),
  },
} satisfies Record<string, Lookup>;

describe('the address that a Node shows inside the pod ranges', () => {
  const cases: readonly (readonly [answered: readonly (keyof typeof answers)[], counts: boolean])[] = [
    [['has'], true],
    [['has not'], false],
    [['unknown'], false],
    [['unknown', 'has'], true],
    [['has', 'unknown'], true],
    [['has not', 'unknown'], false],
    [['has', 'unknown', 'has not'], false],
  ];
  for (const [answered, counts] of cases)
    it(`${counts ? 'counts' : 'ignores'} the address once the cloud answered: ${answered.join(', ')}`, async () => {
      const clock = fakeClock();
      let answer: Lookup = answers.unknown;
      const vmAddresses = createVmAddresses({
        clock,
        nodes: { values: () => [node] },
        resolver: {
          configured: [cloud],
          lookupsOf: () => ({
            hasSeenInstance: true,
            lookup: async () => answer,
            lookupAll: async () => new Map([[node.providerID, answer]]),
          }),
        },
        clusterCidrs: [parseCidr('10.244.0.0/16')!],
        parse: parseCidr,
      });
      for (const each of answered) {
        answer = answers[each];
        await vmAddresses.refresh();
        await clock.advance(3_600_000);
      }
      assert.deepEqual(
        vmAddresses.counted().map(({ address: { text } }) => text),
        counts ? ['10.244.7.9/32'] : [],
      );
    });
});
