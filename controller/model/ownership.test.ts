import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { providerIdCodecs } from '../../common/provider-id/registry.ts';
import { annotations } from '../../common/well-known.ts';
import type { Cloud } from '../clouds/cloud.ts';
import type { ConfiguredCloud } from './configured-cloud.ts';
import { answeringCloud, ownershipOf } from './ownership.ts';
import { parseSelector } from './selector.ts';
import { exampleNode, uninitializedTaint } from './testing/example-node.ts';

function configured(
  name: string,
  scope: string,
  options: { readonly selector?: string; readonly region?: string; readonly reportOnly?: boolean } = {},
): ConfiguredCloud {
  const { selector, region, reportOnly } = options;
  const accepts = (text: string) => {
    const parts = providerIdCodecs.get(name)?.parse(text);
    return parts !== undefined && (region === undefined || parts.region === undefined || parts.region === region);
  };
  const api = reportOnly ? undefined : ({ name, scope } as Cloud);
  return { name, scope, accepts, selector: selector === undefined ? undefined : parseSelector(selector), api };
}

const one = configured('simulated', 'one', { region: 'r1' });
const two = configured('simulated', 'two', { region: 'r2' });
const os1 = configured('openstack', 'os1');
const os2 = configured('openstack', 'os2');
const aws = configured('aws', 'aws');
const vm = '11111111-2222-3333-4444-555555555555';

describe('Node ownership', () => {
  const table: readonly [string, Parameters<typeof exampleNode>[0], readonly ConfiguredCloud[], string][] = [
    ['a providerID of the one cloud', { providerID: 'simulated://r1/i' }, [one], 'owned one'],
    ['a providerID of another region', { providerID: 'simulated://r9/i' }, [one, two], 'foreign'],
    ['a providerID of another cloud', { providerID: 'kind://x' }, [one], 'foreign'],
    ['tainted with a foreign providerID', { providerID: 'kind://x', taints: [uninitializedTaint] }, [one], 'foreign'],
    ['a scheme-less one that exactly one cloud accepts', { providerID: 'i-1' }, [aws, one], 'owned aws'],
    [
      'a scheme-less one that two clouds accept',
      { providerID: vm },
      [configured('huaweicloud', 'h'), { ...aws, accepts: () => true }],
      'foreign',
    ],
    ['one that two scopes of a cloud accept', { providerID: `openstack:///${vm}` }, [os1, os2], 'owned os1 os2'],
    [
      'one that two scopes accept, with a record of one of them',
      { providerID: `openstack:///${vm}`, annotations: { [annotations.instance]: 'os2 x' } },
      [os1, os2],
      'owned os2',
    ],
    [
      'one that two scopes accept, with a record of neither',
      { providerID: `openstack:///${vm}`, annotations: { [annotations.instance]: 'gone x' } },
      [os1, os2],
      'owned os1 os2',
    ],
    ['neither providerID nor taint', {}, [one], 'foreign'],
    ['tainted, one cloud', { taints: [uninitializedTaint] }, [one], 'claimable one, ours'],
    ['tainted, several clouds', { taints: [uninitializedTaint] }, [one, two], 'claimable one two'],
    [
      'tainted, one cloud whose selector does not match',
      { taints: [uninitializedTaint] },
      [configured('aws', 'aws', { selector: 'x=1' })],
      'foreign',
    ],
    [
      'tainted, named by a selector',
      { taints: [uninitializedTaint], labels: { x: '1' } },
      [configured('aws', 'aws', { selector: 'x=1' }), configured('simulated', 's', { selector: 'x=2' })],
      'claimable aws, ours',
    ],
    ['a deleted person’s nonsense', { providerID: '://' }, [one, aws, os1], 'foreign'],
  ];
  for (const [name, node, clouds, expected] of table) {
    it(`takes a Node as ${expected}: ${name}`, () => {
      const ownership = ownershipOf(exampleNode(node), clouds);
      const shown =
        ownership.kind === 'foreign'
          ? 'foreign'
          : `${ownership.kind} ` +
            ownership.clouds.map(({ scope }) => scope).join(' ') +
            (ownership.kind === 'claimable' && ownership.ours ? ', ours' : '');
      assert.equal(shown, expected);
    });
  }

  it('finds no answering cloud where two scopes may answer, or none', () => {
    const node = exampleNode({ providerID: `openstack:///${vm}` });
    assert.equal(answeringCloud(node, [os1, os2]), undefined);
    assert.equal(answeringCloud(node, [os1])?.scope, 'os1');
    assert.equal(answeringCloud(node, [configured('openstack', 'r', { reportOnly: true })]), undefined);
    assert.equal(answeringCloud(exampleNode({ taints: [uninitializedTaint] }), [one]), undefined);
  });
});
