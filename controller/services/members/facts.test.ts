import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, labels, taints } from '../../../common/well-known.ts';
import type { NodeView } from '../../model/node-view.ts';
import { exampleNode, uninitializedTaint } from '../../model/testing/example-node.ts';
import { type Eligibility, eligibilityOf, isExcluded, sameEligibility } from './facts.ts';
import { memberNode, regionCloud } from './testing/node-list.ts';

const one = regionCloud('r1');
const taint = (key: string, effect = 'NoSchedule') => ({ key, effect });
const excluded = (value: string) => ({ labels: { [labels.excludeFromLoadBalancers]: value } });

function said(eligibility: Eligibility): string {
  if (eligibility.kind === 'none') return eligibility.reason;
  return eligibility.kind === 'leaving' ? eligibility.reason : eligibility.kind;
}

describe('the eligibility of a Node as a member', () => {
  const notReady = { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: '' };
  const table: readonly [string, NodeView, string][] = [
    ['initialised and ours', memberNode('a'), 'member'],
    ['not ready', memberNode('a', { conditions: [notReady] }), 'member'],
    ['without a Ready condition', memberNode('a', { conditions: [] }), 'member'],
    ['cordoned', memberNode('a', { taints: [taint('node.kubernetes.io/unschedulable')] }), 'member'],
    ['with an unrelated taint', memberNode('a', { taints: [taint('dedicated')] }), 'member'],
    ['without any address', memberNode('a', { addresses: [] }), 'member'],
    [
      'whose agent announced an interruption',
      memberNode('a', {
        conditions: [{ type: 'CloudInterruption', status: 'True', reason: 'Preemption', message: '' }],
        taints: [taint(taints.interruption)],
      }),
      'member',
    ],
    ['excluded by an empty label', memberNode('a', excluded('')), 'Excluded'],
    ['excluded by "true"', memberNode('a', excluded('true')), 'Excluded'],
    ['excluded by what does not parse', memberNode('a', excluded('foo')), 'Excluded'],
    ['not excluded by "false"', memberNode('a', excluded('false')), 'member'],
    ['being deleted', memberNode('a', { deleting: true }), 'Deleting'],
    [
      'marked by the autoscaler',
      memberNode('a', { taints: [taint(taints.toBeDeletedByAutoscaler)] }),
      'MarkedByAutoscaler',
    ],
    ['marked by Karpenter', memberNode('a', { taints: [taint(taints.disruptedByKarpenter)] }), 'MarkedByKarpenter'],
    ['shut down', memberNode('a', { taints: [taint(taints.shutdown)] }), 'off'],
    ['shut down and marked', memberNode('a', { deleting: true, taints: [taint(taints.shutdown)] }), 'off'],
    ['re-created, with its providerID', memberNode('a', { taints: [uninitializedTaint] }), 'waiting'],
    ['new, without providerID', exampleNode({ taints: [uninitializedTaint] }), 'Uninitialized'],
    ['of another cloud', memberNode('a', { providerID: 'kind://x' }), 'Foreign'],
    ['without providerID and taint', memberNode('a', { providerID: '' }), 'Foreign'],
  ];
  for (const [what, node, expected] of table) {
    it(`a Node ${what}: ${expected}`, () => assert.equal(said(eligibilityOf(node, [one])), expected));
  }

  it('a Node without proof joins nowhere, but stays where it is, under --require-attestation alone', () => {
    const strict = { ...one, requireAttestation: true };
    const proved = memberNode('a', { labels: { [labels.attested]: 'fresh' } });
    const taken = memberNode('a', { labels: { [labels.attested]: '' } });
    const answers = [memberNode('a'), taken, proved].map((node) => said(eligibilityOf(node, [strict])));
    assert.deepEqual(answers, ['waiting', 'waiting', 'member']);
    assert.equal(said(eligibilityOf(memberNode('a'), [one])), 'member');
  });

  it('a Node that two scopes accept is in neither, until a record says which', () => {
    const twin = { ...one, scope: 'twin', api: { ...one.api, scope: 'twin' } as typeof one.api };
    assert.equal(said(eligibilityOf(memberNode('a'), [one, twin])), 'SeveralScopes');
    const recorded = memberNode('a', { annotations: { [annotations.instance]: 'twin x' } });
    const eligibility = eligibilityOf(recorded, [one, twin]);
    assert.equal(eligibility.kind === 'member' && eligibility.scope, 'twin');
  });

  it('a Node of a report-only cloud is a member of no load balancer', () => {
    assert.equal(said(eligibilityOf(memberNode('a'), [{ ...one, api: undefined }])), 'Foreign');
  });

  it('a Node that has external addresses alone is a member by them', () => {
    const node = memberNode('a', { addresses: [{ type: 'ExternalIP', address: '192.0.2.1' }] });
    const eligibility = eligibilityOf(node, [one]);
    assert.ok(eligibility.kind === 'member');
    assert.deepEqual(eligibility.facts.addresses, ['192.0.2.1']);
  });

  it('takes internal addresses alone where there are any, in their order, and the zone from the label', () => {
    const node = memberNode('a', {
      labels: { [labels.zone]: 'r1-b', [labels.zoneBeta]: 'old' },
      addresses: [
        { type: 'ExternalIP', address: '192.0.2.1' },
        { type: 'InternalIP', address: '10.0.0.2' },
        { type: 'InternalIP', address: 'fd00::2' },
      ],
    });
    const eligibility = eligibilityOf(node, [one]);
    assert.ok(eligibility.kind === 'member');
    assert.deepEqual([eligibility.facts.addresses, eligibility.facts.zone], [['10.0.0.2', 'fd00::2'], 'r1-b']);
  });
});

describe('the exclusion label', () => {
  it('parses as Go does', () => {
    for (const value of ['0', 'f', 'F', 'false', 'False', 'FALSE']) assert.equal(isExcluded(value), false, value);
    for (const value of ['', '1', 't', 'true', 'fAlse', 'no', ' false', 'foo'])
      assert.equal(isExcluded(value), true, value);
    assert.equal(isExcluded(undefined), false);
  });
});

describe('which updates of a Node matter to load balancers', () => {
  const relevant: Readonly<Record<string, (node: NodeView) => NodeView>> = {
    none: (node) => node,
    excluded: (node) => ({ ...node, ...excluded('') }),
    'another providerID': (node) => ({ ...node, providerID: 'simulated://r1/i-other' }),
    // Upstream misses these two until something else happens.
    'marked by the autoscaler': (node) => ({
      ...node,
      taints: [...node.taints, taint(taints.toBeDeletedByAutoscaler)],
    }),
    'being deleted': (node) => ({ ...node, deleting: true }),
  };
  const irrelevant: Readonly<Record<string, (node: NodeView) => NodeView>> = {
    none: (node) => node,
    'not ready': (node) => ({ ...node, conditions: [], resourceVersion: '11' }),
    'another label': (node) => ({ ...node, labels: { ...node.labels, x: 'y' } }),
    'another taint': (node) => ({ ...node, taints: [...node.taints, taint('dedicated')] }),
  };
  for (const [change, apply] of Object.entries(relevant)) {
    for (const [noise, disturb] of Object.entries(irrelevant)) {
      for (const before of ['plain', 'excluded before']) {
        const matters = change !== 'none' && !(before === 'excluded before' && change === 'excluded');
        it(`an update of a Node ${matters ? 'matters' : 'does not matter'}: ${before}, ${change}, ${noise}`, () => {
          const old = before === 'plain' ? memberNode('a') : memberNode('a', excluded('true'));
          const now = disturb(apply(old));
          assert.equal(!sameEligibility(eligibilityOf(old, [one]), eligibilityOf(now, [one])), matters);
        });
      }
    }
  }
});
