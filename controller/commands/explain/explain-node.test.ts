import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, taints } from '../../../common/well-known.ts';
import { viewNode } from '../../model/node-view.ts';
import { missingReasons } from '../../nodes/reasons.ts';
import { explainNode } from './explain-node.ts';
import type { NodeFacts } from './facts.ts';

const nowMs = Date.parse('2026-05-01T12:00:00Z');
const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString();
const tainted = { taints: [{ key: taints.uninitialized, value: 'true', effect: 'NoSchedule' }] };
const recorded = { [annotations.instance]: 'https://cloud/demo/r1 incarnation-1' };

function condition(type: string, status: string, reason: string, message = '') {
  return { type, status, reason, message };
}

function facts(
  node: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
    readonly spec?: object;
    readonly conditions?: readonly object[];
    readonly deletionTimestamp?: string;
  },
  more: Partial<NodeFacts> = {},
): NodeFacts {
  const { annotations: held = {}, labels = {}, spec = {}, conditions = [], deletionTimestamp } = node;
  const metadata = { name: 'n0', uid: 'u0', resourceVersion: '1', creationTimestamp: at(600), deletionTimestamp };
  return {
    node: viewNode({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { ...metadata, annotations: held, labels },
      spec,
      status: { conditions },
    } as Parameters<typeof viewNode>[0]),
    nodeRenewTime: at(3),
    leader: { identity: 'one', renewTime: at(2), annotations: {} },
    pausedForAll: false,
    pausedNodes: new Set(),
    hidden: [],
    events: [],
    nowMs,
    ...more,
  };
}

describe('explain', () => {
  const initialised = condition('CloudInitialized', 'True', 'Initialized', 'up to date with the cloud');

  for (const [what, given, state, reason] of [
    ['an initialised Node', facts({ annotations: recorded, conditions: [initialised] }), 'initialized', 'Initialized'],
    [
      'a Node that waits',
      facts({ spec: tainted, conditions: [condition('CloudInitialized', 'False', 'AwaitingCloud', 'Throttled')] }),
      'waiting',
      'AwaitingCloud',
    ],
    ['a foreign Node', facts({ spec: { providerID: 'other:///1' } }), 'foreign', ''],
    ['a Node without anything of a cloud', facts({}), 'foreign', ''],
    [
      'a Node that another controller initialised, with our record',
      facts({ annotations: recorded, spec: { providerID: 'simulated://r1/i-1' } }),
      'initialized',
      '',
    ],
    [
      'a Node that another controller initialised, not yet looked at',
      facts({ spec: { providerID: 'simulated://r1/i-1' } }),
      'initialized',
      '',
    ],
    ['a foreign Node that waits', facts({ spec: { ...tainted, providerID: 'mesos://x' } }), 'foreign', ''],
    [
      'a Node of a cloud of --cloud-module that waits',
      facts({ spec: { ...tainted, providerID: 'example://x' } }, { moduleNames: ['example'] }),
      'waiting',
      '',
    ],
    [
      'a foreign Node that its own controller marked as off',
      facts({ spec: { taints: [{ key: taints.shutdown, effect: 'NoSchedule' }], providerID: 'mesos://x' } }),
      'foreign',
      '',
    ],
    [
      'a foreign Node while everything is paused',
      facts({ spec: { ...tainted, providerID: 'mesos://x' } }, { pausedForAll: true }),
      'foreign',
      '',
    ],
    ['a paused Node', facts({ annotations: { [annotations.paused]: 'true' } }), 'paused', 'Paused'],
    ['any Node while everything is paused', facts({ spec: tainted }, { pausedForAll: true }), 'paused', 'Paused'],
    [
      'a Node whose VM is off',
      facts({
        spec: { taints: [{ key: taints.shutdown, effect: 'NoSchedule' }] },
        annotations: recorded,
        conditions: [initialised],
      }),
      'powered off',
      'ShutdownTaintAdded',
    ],
    [
      'a Node that is kept though its instance looks gone',
      facts({ annotations: recorded, conditions: [condition('CloudInstanceMissing', 'True', 'BudgetExhausted')] }),
      'missing',
      'BudgetExhausted',
    ],
    [
      'a Node whose pod range gets no route',
      facts({
        annotations: recorded,
        conditions: [initialised, condition('NetworkUnavailable', 'True', 'CIDRNotAllowed', 'pod range 0.0.0.0/1')],
      }),
      'initialized',
      'CIDRNotAllowed',
    ],
    [
      'a Node with its route',
      facts({
        annotations: recorded,
        conditions: [initialised, condition('NetworkUnavailable', 'False', 'RouteCreated', 'created')],
      }),
      'initialized',
      'Initialized',
    ],
    [
      'a Node whose network a plugin keeps',
      facts({
        annotations: recorded,
        conditions: [initialised, condition('NetworkUnavailable', 'True', 'CalicoIsDown')],
      }),
      'initialized',
      'Initialized',
    ],
    [
      'a Node without a route that another controller initialised',
      facts({
        annotations: recorded,
        spec: { providerID: 'simulated://r1/i-1' },
        conditions: [condition('NetworkUnavailable', 'True', 'QuotaExceeded')],
      }),
      'initialized',
      'QuotaExceeded',
    ],
    [
      'a Node whose VM the cloud takes back',
      facts({ annotations: recorded, conditions: [initialised, condition('CloudInterruption', 'True', 'Preemption')] }),
      'initialized',
      'Preemption',
    ],
    [
      'a Node without an interruption any more',
      facts({
        annotations: recorded,
        conditions: [initialised, condition('CloudInterruption', 'False', 'NoneAnnounced')],
      }),
      'initialized',
      'Initialized',
    ],
    [
      'a Node that is being deleted',
      facts({ annotations: recorded, conditions: [initialised], deletionTimestamp: at(60) }, { pausedForAll: true }),
      'deleting',
      '',
    ],
    [
      'a paused Node that is kept though its instance looks gone',
      facts({
        annotations: { ...recorded, [annotations.paused]: 'true' },
        conditions: [initialised, condition('CloudInstanceMissing', 'True', 'BudgetExhausted')],
      }),
      'missing',
      'BudgetExhausted',
    ],
  ] as const) {
    it(`${what} is ${state}${reason === '' ? '' : ` (${reason})`}`, () => {
      const told = explainNode(given);
      assert.deepEqual([told.state, told.reason], [state, reason]);
      assert.notEqual(told.why, '');
    });
  }

  it('says of a Node whose VM was replaced which Node to delete and what to restart', () => {
    const message = 'the agent reports b, but the Node belongs to a, which is gone: kubectl delete node n';
    const replaced = { ...condition('CloudInstanceMissing', 'True', 'InstanceReplaced'), message };
    const told = explainNode(facts({ annotations: recorded, conditions: [replaced] }));
    assert.deepEqual([told.reason, told.why], ['InstanceReplaced', message]);
    assert.match(told.remedy, /Delete the Node and restart its kubelet/);
  });

  it('says the meaning and the remedy of the reason where the condition has no message', () => {
    const told = explainNode(facts({ conditions: [condition('CloudInstanceMissing', 'True', 'CanaryNotFound')] }));
    assert.deepEqual(
      [told.why, told.remedy],
      [missingReasons.CanaryNotFound.meaning, missingReasons.CanaryNotFound.remedy],
    );
  });

  it('points to the log of the leader only while one holds the Lease', () => {
    for (const leader of [undefined, { identity: '', renewTime: at(2), annotations: {} }]) {
      const told = explainNode(facts({ spec: tainted }, { leader }));
      assert.match(told.why, /no controller holds the Lease/);
      assert.doesNotMatch(told.remedy, /leader/);
    }
    const late = explainNode(
      facts({ spec: tainted }, { leader: { identity: 'one', renewTime: at(90), annotations: {} } }),
    );
    assert.match(late.why, /last renewed 90 s ago/);
    assert.match(explainNode(facts({ spec: tainted })).remedy, /log of the leader/);
  });

  it('says what a Node that is being deleted waits for', () => {
    const given = { annotations: recorded, conditions: [initialised], deletionTimestamp: at(60) };
    const told = explainNode(facts(given, { finalizers: ['karpenter.sh/termination'] }));
    assert.match(told.why, /stays until these finalizers are removed: karpenter\.sh\/termination$/);
    assert.match(told.facts['deletedWithVm']?.text ?? '', /already/);
    assert.equal(explainNode(facts(given)).why, 'it is being deleted');
  });

  it('reports an object that it may not read as unreadable, not as missing', () => {
    const told = explainNode(
      facts({ spec: tainted }, { leader: undefined, nodeRenewTime: '', hidden: ['leader', 'node lease', 'pause'] }),
    );
    assert.match(told.why, /may not read the Lease of the leader/);
    assert.doesNotMatch(told.why, /none acts/);
    for (const key of ['leader', 'leaderRenewedAt', 'leaseRenewedAt', 'pausedForAll'])
      assert.deepEqual([told.facts[key]?.text, told.facts[key]?.value], ['may not be read', null], key);
  });

  it('never says of a Node that may be deleted with its VM that it is never changed', () => {
    const spec = { providerID: 'simulated://r1/i-1' };
    for (const given of [facts({ annotations: recorded, spec }), facts({ spec })])
      assert.doesNotMatch(explainNode(given).why, /never changed/);
  });

  it('says which value of the annotation pauses', () => {
    assert.match(explainNode(facts({ annotations: { [annotations.paused]: 'for Ann' } })).why, /paused=for Ann/);
  });

  it('promises deletion only where an API once found the instance in the scope that answers', () => {
    const told = (given: NodeFacts) => explainNode(given).facts['deletedWithVm']?.text ?? '';
    assert.match(
      told(facts({ annotations: recorded }, { pausedNodes: new Set(['n0']) })),
      /not while ConfigMap mooring-ca has its name in paused-nodes/,
    );
    assert.match(told(facts({})), /^never/);
    assert.match(told(facts({ annotations: { [annotations.instance]: 'report:aws' } })), /^never/);
    assert.match(told(facts({ annotations: recorded })), /^yes/);
    const elsewhere = { annotations: recorded, conditions: [condition('CloudInstanceMissing', 'True', 'NeverFound')] };
    assert.match(told(facts(elsewhere)), /^never/);
  });
});

describe('the explanation of a Node', () => {
  const power = (given: NodeFacts) => explainNode(given).facts['power'];
  const ready = (status: 'True' | 'Unknown') => condition('Ready', status, 'x');

  it('says whether its VM runs, as far as it was asked', () => {
    assert.match(power(facts({ conditions: [ready('True')] }))?.text ?? '', /^not asked .* Node is Ready$/);
    assert.match(power(facts({ conditions: [ready('Unknown')] }))?.text ?? '', /^the cloud has not said/);
    const missing = facts({
      conditions: [ready('Unknown'), condition('CloudInstanceMissing', 'True', 'DeletionPaused')],
    });
    assert.equal(power(missing)?.text, 'gone or not found, see WHY');
    const off = facts({ spec: { taints: [{ key: taints.shutdown, effect: 'NoSchedule' }] } });
    assert.equal(power(off)?.value, 'off');
  });

  it('gives the command that ends a pause of everything', () => {
    const { remedy } = explainNode(facts({}, { pausedForAll: true, namespace: 'site' }));
    assert.match(remedy, /^To go on: kubectl -n site patch configmap mooring-ca --type=json -p '\[\{"op":"remove"/);
  });

  it('shows the taints of the cloud, and since when where that is noted', () => {
    const since = at(60);
    const spec = {
      taints: [
        { key: taints.interruption, effect: 'NoSchedule' },
        { key: taints.outOfService, value: 'mooring', effect: 'NoExecute', timeAdded: since },
        { key: 'team', effect: 'NoSchedule' },
      ],
    };
    const shown = explainNode(facts({ spec })).facts['taints'];
    assert.equal(shown?.text, `${taints.interruption}:NoSchedule, ${taints.outOfService}:NoExecute since ${since}`);
    assert.deepEqual(shown?.value, [
      { key: taints.interruption, effect: 'NoSchedule', since: null },
      { key: taints.outOfService, effect: 'NoExecute', since },
    ]);
  });

  it('shows the labels that come from tags, as far as they still stand', () => {
    const names = 'example.com/gone,example.com/team';
    const node = { annotations: { [annotations.labelsFromTags]: names }, labels: { 'example.com/team': 'shop' } };
    const { labelsFromTags } = explainNode(facts(node)).facts;
    assert.deepEqual(labelsFromTags?.value, ['example.com/team=shop']);
    assert.equal(explainNode(facts({})).facts['labelsFromTags']?.text, 'none');
  });
});
