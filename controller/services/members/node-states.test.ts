import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { labels, taints } from '../../../common/well-known.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import type { NodeView } from '../../model/node-view.ts';
import { uninitializedTaint } from '../../model/testing/example-node.ts';
import { eligibilityOf } from './facts.ts';
import { nextMemberships } from './membership.ts';
import { nodeStates } from './node-states.ts';
import { createSelections } from './selection.ts';
import { idOf, memberNode, regionCloud } from './testing/node-list.ts';

const [here, there] = [regionCloud('r1'), regionCloud('r2')];
const tainted = (key: string) => ({ taints: [{ key, effect: 'NoSchedule' }] });
const proved = { [labels.attested]: 'doc' };

function statesOf(nodes: readonly NodeView[], clouds: readonly ConfiguredCloud[] = [here, there], chosen?: string) {
  const chosenBy = new Set(chosen === undefined ? [] : [chosen]);
  const eligibilities = new Map(nodes.map((node) => [node.name, eligibilityOf(node, clouds, chosenBy)]));
  const changes = { eligibilities: eligibilities.values(), last: new Map(), deletedByUs: () => false };
  const set = nextMemberships(clouds, new Map(), changes, 0).get(here.scope)!;
  const chooses = chosen === undefined ? [] : [{ key: chosen, value: undefined }];
  return nodeStates(eligibilities, createSelections().of(set, chooses));
}

const named = (groups: ReturnType<typeof statesOf>['refused']) =>
  groups.map(({ reason, nodes }) => `${reason}: ${nodes.join(' ')}`);

describe('Nodes by their state as members', () => {
  it('counts a Node as serving unless the Node itself says otherwise, however ready it is', () => {
    const { serving, draining, refused } = statesOf([memberNode('a'), memberNode('b', { conditions: [] })]);
    assert.deepEqual([serving, draining, refused], [2, [], []]);
  });

  it('counts a Node as draining by each mark, with its reason', () => {
    const { serving, draining } = statesOf([
      memberNode('a'),
      memberNode('d', { labels: { [labels.excludeFromLoadBalancers]: '' } }),
      memberNode('c', { labels: { [labels.excludeFromLoadBalancers]: '' } }),
      memberNode('e', { deleting: true }),
      memberNode('f', tainted(taints.toBeDeletedByAutoscaler)),
      memberNode('g', tainted(taints.disruptedByKarpenter)),
    ]);
    assert.equal(serving, 1);
    const expected = ['Deleting: e', 'Excluded: c d', 'MarkedByAutoscaler: f', 'MarkedByKarpenter: g'];
    assert.deepEqual(named(draining), expected);
    assert.match(draining[1]!.why, /^a label excludes it/);
  });

  it('refuses Nodes without power, initialisation or proof, and a second Node for one instance', () => {
    const clouds = [{ ...here, requireAttestation: true }];
    const { serving, refused } = statesOf(
      [
        memberNode('a', { labels: proved }),
        memberNode('off', { labels: proved, ...tainted(taints.shutdown) }),
        memberNode('new', { labels: proved, taints: [uninitializedTaint] }),
        memberNode('nowhere', { providerID: '', taints: [uninitializedTaint] }),
        memberNode('unproved'),
        memberNode('twin', { providerID: idOf('a') }),
      ],
      clouds,
    );
    assert.equal(serving, 1);
    assert.deepEqual(named(refused), [
      'IdentityConflict: twin',
      'PoweredOff: off',
      'Uninitialized: new unproved',
      'Uninitialized: nowhere',
    ]);
    assert.match(refused[0]!.why, /Node a stands for the same instance/);
  });

  it('refuses Nodes whose scope is not certain, and only counts those of another one, or none', () => {
    const twin = { ...here, scope: 'http://cloud/other/r1' };
    const { refused, elsewhere } = statesOf([memberNode('a')], [here, twin]);
    assert.deepEqual([named(refused), elsewhere], [['SeveralScopes: a'], 0]);
    const others = [memberNode('b', { providerID: 'simulated://r2/i-b' }), memberNode('c', { providerID: 'x://1' })];
    const found = statesOf([memberNode('a'), ...others]);
    assert.deepEqual([found.serving, found.refused, found.elsewhere], [1, [], 2]);
  });

  it('refuses Nodes that the Service does not choose by their labels', () => {
    const { serving, draining, refused } = statesOf(
      [memberNode('a', { labels: { role: 'ingress' } }), memberNode('b')],
      [here],
      'role',
    );
    assert.deepEqual([serving, draining, named(refused)], [1, [], ['NotChosen: b']]);
  });

  it('changes the hash exactly where other Nodes do not serve, or for another reason', () => {
    const off = (name: string) => memberNode(name, tainted(taints.shutdown));
    const { hash } = statesOf([memberNode('a'), off('b')]);
    assert.equal(statesOf([off('b'), memberNode('a'), memberNode('c')]).hash, hash);
    assert.notEqual(statesOf([off('a'), memberNode('b')]).hash, hash);
    assert.notEqual(statesOf([memberNode('a'), memberNode('b', { deleting: true })]).hash, hash);
  });
});
