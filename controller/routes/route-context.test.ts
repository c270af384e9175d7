import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import type { Cloud } from '../clouds/cloud.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { exampleNode, uninitializedTaint } from '../model/testing/example-node.ts';
import { nodesOfScope } from './route-context.ts';

function cloud(scope: string, prefix: string, reportOnly = false): ConfiguredCloud {
  const api = reportOnly ? undefined : ({ name: 'simulated', scope, routes: {} } as Cloud);
  return { name: scope, scope, accepts: (id) => id.startsWith(prefix), selector: undefined, api };
}

const here = cloud('here', 'simulated://');
const also = cloud('also', 'simulated://');
const reported = cloud('aws', 'aws://', true);
const range = '10.244.2.0/24';

describe('the Nodes of a scope', () => {
  const cases: readonly [string, Parameters<typeof exampleNode>[0], readonly ConfiguredCloud[], string][] = [
    ['its own', { providerID: 'simulated://r/i' }, [here, reported], 'routed'],
    ['one of a report-only cloud', { providerID: 'aws:///z/i' }, [here, reported], 'elsewhere'],
    ['a foreign one', { providerID: 'kind://x' }, [here, reported], 'elsewhere'],
    ['one that waits for initialisation', { taints: [uninitializedTaint] }, [here], 'undecided'],
    [
      'the same, with its providerID',
      { providerID: 'simulated://r/i', taints: [uninitializedTaint] },
      [here],
      'undecided',
    ],
    ['one that two scopes may have', { providerID: 'simulated://r/i' }, [here, also], 'undecided'],
    [
      'one whose record names the other scope',
      {
        providerID: 'simulated://r/i',
        taints: [uninitializedTaint],
        annotations: { [annotations.instance]: 'also x' },
      },
      [here, also],
      'elsewhere',
    ],
  ];
  for (const [what, node, configured, expected] of cases) {
    it(`counts ${what} as ${expected}`, () => {
      const { nodes, undecided } = nodesOfScope([exampleNode({ ...node, podCIDRs: [range] })], configured, 'here');
      const found = nodes.length > 0 ? 'routed' : undecided.includes(range) ? 'undecided' : 'elsewhere';
      assert.equal(found, expected);
    });
  }
});
