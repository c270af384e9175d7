import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterTag, factsOf, group } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { clusterTagsOf } from '../cluster-tags.ts';
import type { NetworkFacts } from './network-facts.ts';
import { nodeGroupsOf } from './node-group.ts';

const zone = 'eu-west-1a';
const groups = [
  group('sg-nodes', { tags: clusterTag }),
  group('sg-twin', { tags: clusterTag }),
  group('sg-other'),
  group('sg-third'),
  group('sg-database'),
];
const factsWith = (instances: Readonly<Record<string, readonly [readonly string[], object]>>): NetworkFacts =>
  factsOf(groups, {
    instances: new Map(
      Object.entries(instances).map(([id, [its, tags]]) => [id, { zone, groups: its, tags: { ...tags } }]),
    ),
  });

describe('the security group of a node', () => {
  for (const [what, ids, tags, expected] of [
    ['the only one of an instance with the tag of the cluster', ['sg-other'], clusterTag, 'sg-other'],
    ['the tagged one of several', ['sg-other', 'sg-nodes'], clusterTag, 'sg-nodes'],
    ['the tagged one, of an instance without the tag', ['sg-other', 'sg-nodes'], {}, 'sg-nodes'],
  ] as const) {
    it(`chooses the group of a node: ${what}`, () => {
      assert.deepEqual(nodeGroupsOf(['i-1'], factsWith({ 'i-1': [ids, tags] })), { groups: [expected], problems: [] });
    });
  }

  for (const [what, ids, expected] of [
    [
      'several groups, none of them tagged',
      ['sg-other', 'sg-third'],
      /i-1: it has the security groups sg-other .*expected the tag/,
    ],
    ['no group', [], /i-1: it has no security group/],
    ['two tagged groups', ['sg-nodes', 'sg-twin'], /all carry the tag of the cluster/],
  ] as const) {
    it(`names an instance with ${what}, and chooses the groups of the others`, () => {
      const facts = factsWith({ 'i-1': [ids, clusterTag], 'i-2': [['sg-nodes'], clusterTag] });
      const { groups: found, problems } = nodeGroupsOf(['i-1', 'i-2'], facts);
      assert.deepEqual(found, ['sg-nodes']);
      assert.match(problems.join(), expected);
    });
  }

  it("chooses no group where neither the instance nor the group carries the cluster's tag", () => {
    const facts = factsWith({
      'i-1': [['sg-nodes'], {}],
      'i-db': [['sg-database'], { 'kubernetes.io/cluster/another': 'owned' }],
    });
    const { groups: found, problems } = nodeGroupsOf(['i-1', 'i-db'], facts);
    assert.deepEqual(found, ['sg-nodes']);
    assert.match(
      problems.join(),
      /^instance i-db: neither it nor its security group sg-database .* carries the tag of the cluster/,
    );
  });

  it('chooses the only group of any instance where the operator runs without a cluster id', () => {
    const facts = { ...factsWith({ 'i-1': [['sg-other'], {}] }), cluster: clusterTagsOf(undefined, false) };
    assert.deepEqual(nodeGroupsOf(['i-1'], facts).groups, ['sg-other']);
  });
});
