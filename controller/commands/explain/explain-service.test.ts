import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../../common/well-known.ts';
import { loadBalancerReasons } from '../../services/reasons.ts';
import { exampleService, finalized, recorded } from '../../services/testing/example-service.ts';
import { explainService, hasMembers, type ServiceFacts } from './explain-service.ts';
import { explanationJson } from './print-explanation.ts';

const nowMs = Date.parse('2026-05-01T12:00:00Z');
const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString();
const ours = { ...finalized, ...recorded('http://cloud/demo/sim-1 lb-1') };
const deleted = { deletionTimestamp: '2026-05-01T11:59:00Z' };

function facts(changes: Parameters<typeof exampleService>[0], more: Partial<ServiceFacts> = {}): ServiceFacts {
  return {
    service: exampleService(changes),
    loadBalancerClasses: [],
    leader: { identity: 'one', renewTime: at(2), annotations: {} },
    pausedForAll: false,
    pausedNodes: new Set(),
    hidden: [],
    events: [],
    nowMs,
    ...more,
  };
}

const withCondition = (reason: string, status = 'False', message = '') => ({
  status: { conditions: [{ type: 'CloudLoadBalancer', status, reason, message }] },
});

describe('explain service', () => {
  for (const [what, given, state, reason] of [
    ['a served one', facts({ metadata: ours, ...withCondition('Ensured', 'True') }), 'ensured', 'Ensured'],
    [
      'one with refused members',
      facts({ metadata: ours, ...withCondition('MembersRefused', 'True') }),
      'ensured',
      'MembersRefused',
    ],
    [
      'one that waits for the cloud',
      facts({ metadata: ours, ...withCondition('AwaitingCloud') }),
      'waiting',
      'AwaitingCloud',
    ],
    [
      'one that needs a person',
      facts({ metadata: finalized, ...withCondition('AdoptionRequired') }),
      'refused',
      'AdoptionRequired',
    ],
    ['one without a condition', facts({}), 'waiting', ''],
    [
      'one that is being removed',
      facts({ metadata: { ...ours, ...deleted }, ...withCondition('Deleting') }),
      'deleting',
      'Deleting',
    ],
    [
      'one whose removal fails',
      facts({ metadata: { ...ours, ...deleted }, ...withCondition('CredentialRefused') }),
      'deleting',
      'CredentialRefused',
    ],
    ['a paused one', facts({ metadata: { annotations: { [annotations.paused]: 'true' } } }), 'paused', 'Paused'],
    ['any while everything is paused', facts({}, { pausedForAll: true }), 'paused', 'Paused'],
    [
      'one with an address that we neither recorded nor wrote of',
      facts({ status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }),
      'foreign',
      '',
    ],
    [
      'one that was deleted before an adoption',
      facts({ metadata: { ...finalized, ...deleted }, ...withCondition('AdoptionRequired') }),
      'refused',
      'AdoptionRequired',
    ],
    [
      'one of another type with a finalizer that we did not record',
      facts({ metadata: finalized, spec: { type: 'ClusterIP' } }),
      'foreign',
      '',
    ],
    ['one of another class', facts({ spec: { loadBalancerClass: 'example.com/x' } }), 'foreign', ''],
    ['one of another type', facts({ spec: { type: 'ClusterIP' } }, { pausedForAll: true }), 'none', ''],
  ] as const) {
    it(`${what} is ${state}${reason === '' ? '' : ` (${reason})`}`, () => {
      const explained = explainService(given);
      assert.deepEqual([explained.state, explained.reason, explained.service], [state, reason, 'default/web']);
      assert.notEqual(explained.why, '');
    });
  }

  it('says the message, or else the meaning, and the remedy', () => {
    const { meaning, remedy } = loadBalancerReasons.ForeignLoadBalancer;
    const bare = explainService(facts({ metadata: ours, ...withCondition('ForeignLoadBalancer') }));
    assert.deepEqual([bare.why, bare.remedy], [meaning, remedy]);
    const explained = explainService(
      facts({ metadata: ours, ...withCondition('ForeignLoadBalancer', 'False', 'lb-9 is theirs') }),
    );
    assert.equal(explained.why, 'lb-9 is theirs');
  });

  it('gives a remedy wherever an operator is needed', () => {
    for (const reason of Object.keys(loadBalancerReasons)) {
      const { state, remedy } = explainService(facts({ metadata: ours, ...withCondition(reason) }));
      if (state === 'refused' && reason !== 'Ensured' && reason !== 'Deleting') assert.notEqual(remedy, '', reason);
    }
  });

  it('points to the log of the leader only while one holds the Lease', () => {
    assert.match(explainService(facts({}, { leader: undefined })).why, /no controller holds the Lease/);
    const late = explainService(facts({}, { leader: { identity: 'one', renewTime: at(90), annotations: {} } }));
    assert.match(late.why, /last renewed 90 s ago/);
    assert.match(explainService(facts({})).remedy, /log of the leader for default\/web/);
  });

  it('reports an object that it may not read as unreadable, not as missing', () => {
    const explained = explainService(facts({}, { leader: undefined, hidden: ['leader', 'pause', 'events'] }));
    assert.match(explained.why, /may not read the Lease of the leader/);
    for (const key of ['leader', 'pausedForAll', 'events']) assert.equal(explained.facts[key]?.text, 'may not be read');
  });

  it('lists what is recorded', () => {
    const explained = explainService(facts({ metadata: ours, ...withCondition('Ensured', 'True') })).facts;
    assert.equal(explained['loadBalancer']?.text, 'lb-1');
    assert.equal(explained['scope']?.value, 'http://cloud/demo/sim-1');
    assert.equal(explained['atDeletion']?.text, 'the load balancer is deleted');
    const pending = explainService(facts({ metadata: recorded('http://cloud/demo/sim-1 pending') })).facts;
    assert.match(pending['loadBalancer']?.text ?? '', /^pending/);
  });

  it('says that nothing is deleted where the load balancer is of another controller', () => {
    for (const foreign of [
      facts({ spec: { loadBalancerClass: 'example.com/x' } }),
      facts({ status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }),
    ]) {
      const { atDeletion } = explainService(foreign).facts;
      assert.deepEqual([atDeletion?.value, atDeletion?.text.includes('nothing is deleted')], ['foreign', true]);
    }
  });

  it('says whose flag excludes the class of a Service', () => {
    const { why } = explainService(facts({ spec: { loadBalancerClass: 'example.com/x' } }));
    assert.match(why, /not among --load-balancer-class of this command/);
  });

  it('names the finalizers that a deletion waits for when nothing of ours is left', () => {
    const { why } = explainService(facts({ metadata: { ...deleted, finalizers: ['a.b/c', 'a.b/d'] } }));
    assert.match(why, /nothing of ours is left; it waits for the finalizers a\.b\/c, a\.b\/d/);
  });

  it('reports retention only where the operator allows it', () => {
    const { annotations } = ours;
    const metadata = { ...ours, annotations: { ...annotations, 'mooring.dev/load-balancer-retain': 'true' } };
    const end = (reason: string) =>
      explainService(facts({ metadata, ...withCondition(reason, 'True') })).facts['atDeletion']?.text ?? '';
    assert.match(end('RetentionNotAllowed'), /is deleted: the operator does not allow its retention/);
    assert.match(end('Ensured'), /is retained, if the operator allows it/);
  });

  it('lists only the relevant facts for a Service of another type', () => {
    const { facts: explained } = explainService(facts({ spec: { type: 'ClusterIP' } }));
    assert.deepEqual(Object.keys(explained), ['type', 'deleting', 'leader', 'leaderRenewedAt']);
  });

  it('lists desired members where they were read: names by reason for people, few of many, and all as values', () => {
    const nodes = Array.from({ length: 12 }, (_, at) => `n${String(at).padStart(2, '0')}`);
    const refused = [
      { reason: 'PoweredOff', why: 'its VM is off', nodes },
      { reason: 'Uninitialized', why: 'it waits', nodes: ['x'] },
    ] as const;
    const members = { serving: 3, omitted: 0, draining: [], refused, elsewhere: 1, notKnown: ['health'], hash: '' };
    const explained = explainService(facts({ metadata: ours, ...withCondition('Ensured', 'True') }, { members }));
    const told = Object.entries(explained.facts).map(([key, { label, text }]) => `${key} ${label}: ${text}`);
    const first = told.findIndex((line) => line.startsWith('desiredMembers'));
    assert.deepEqual(told.slice(first, first + 6), [
      'desiredMembers desired members: 3 Nodes',
      'omittedMembers left out by the cap: 0',
      'drainingMembers draining: none',
      `refusedMembers refused: 13: ${nodes.slice(0, 10).join(', ')} and 2 more (PoweredOff: its VM is off); ` +
        'x (Uninitialized: it waits)',
      'nodesElsewhere of other clouds: 1 Node',
      'notKnownOfMembers not known here: health',
    ]);
    const { facts: values } = explanationJson(explained) as { readonly facts: Readonly<Record<string, unknown>> };
    assert.deepEqual(
      [values['desiredMembers'], values['drainingMembers'], values['refusedMembers'], values['nodesElsewhere']],
      [3, [], refused, 1],
    );
    const capped = explainService(facts({}, { members: { ...members, omitted: 2 } })).facts;
    assert.match(capped['desiredMembers']?.text ?? '', /3 Nodes; 2 more would serve, but the cloud takes no more/);
  });

  it('says why desired members are unknown, and nothing of them where they were not read', () => {
    const { desiredMembers, refusedMembers } = explainService(facts({}, { members: { unknown: 'no right' } })).facts;
    assert.deepEqual(
      [desiredMembers, refusedMembers],
      [{ label: 'desired members', value: null, text: 'unknown: no right' }, undefined],
    );
    assert.equal(explainService(facts({})).facts['desiredMembers'], undefined);
  });

  it('asks for members only where the controller chooses some', () => {
    const asks = (changes: Parameters<typeof exampleService>[0]) => hasMembers(facts(changes));
    assert.deepEqual([asks({}), asks({ metadata: ours, ...withCondition('Ensured', 'True') })], [true, true]);
    for (const changes of [
      { spec: { type: 'ClusterIP' } },
      { spec: { loadBalancerClass: 'example.com/x' } },
      { metadata: { ...ours, ...deleted } },
      { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } },
    ])
      assert.equal(asks(changes), false, JSON.stringify(changes));
  });

  it('says that no load balancer was created where the request is refused', () => {
    const pending = { ...finalized, ...recorded('http://cloud/demo/sim-1 pending') };
    const explained = (reason: string) =>
      explainService(facts({ metadata: pending, ...withCondition(reason) })).facts['loadBalancer']?.text;
    assert.equal(explained('ForeignLoadBalancer'), 'none: ForeignLoadBalancer');
    assert.equal(explained('Provisioning'), 'pending: requested, no answer yet');
  });

  it('says that an adopted load balancer has none of our tags yet', () => {
    const metadata = { ...finalized, ...recorded('http://cloud/demo/sim-1 lb-1 adopted:203.0.113.5') };
    const { facts: explained } = explainService(facts({ metadata, ...withCondition('Ensured', 'True') }));
    assert.match(explained['loadBalancer']?.text ?? '', /^lb-1, adopted/);
  });

  it('says that a paused Service is being deleted', () => {
    const paused = { annotations: { [annotations.paused]: 'true' } };
    const { why, facts: explained } = explainService(facts({ metadata: { ...finalized, ...paused, ...deleted } }));
    assert.match(why, /being deleted/);
    assert.equal(explained['deleting']?.value, true);
  });
});
