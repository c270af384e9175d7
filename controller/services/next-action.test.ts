import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LoadBalancerStep } from '../clouds/load-balancer-step.ts';
import type { LoadBalancerPlan, LoadBalancers, ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import type { Action } from './action.ts';
import { nextAction } from './next-action.ts';
import type { Observation } from './observation.ts';
import { strictPolicy } from './operator-policy.ts';
import type { Retention } from './retention.ts';
import { serviceViewFor } from './service-context.ts';
import type { Situation } from './situation.ts';
import { exampleService, finalized, rawService, recorded } from './testing/example-service.ts';

const scope = 'x/1';
const request = { owner: { cluster: '', service: '' }, desired: undefined, retain: false };
const nothing: LoadBalancerPlan = { request, steps: [], refusals: [], waitMs: undefined };
const create: LoadBalancerStep = { action: 'create', resource: 'load balancer', target: 'a', summary: 'create' };
const remove: LoadBalancerStep = { action: 'delete', resource: 'load balancer', target: 'a', summary: 'delete' };

const observed = (changes: Partial<ObservedLoadBalancer> = {}): ObservedLoadBalancer => ({
  id: 'lb-1',
  name: 'a',
  owner: { cluster: 'c', service: exampleService().uid },
  state: 'active',
  ingress: [{ ip: '192.0.2.1' }],
  members: [],
  attached: false,
  retained: false,
  createdAtMs: undefined,
  service: undefined,
  ...changes,
});

const observation = (changes: Partial<Observation> = {}): Observation => ({
  observed: undefined,
  source: 'read',
  readId: undefined,
  readReferences: undefined,
  missingSinceMs: 0,
  atMs: 0,
  fresh: true,
  ...changes,
});

interface Given {
  readonly metadata?: object;
  readonly spec?: object;
  readonly intent?: Situation['intent'];
  readonly observation?: Observation | undefined;
  readonly plan?: LoadBalancerPlan;
  readonly removal?: LoadBalancerPlan;
  readonly nowMs?: number;
  readonly retention?: Retention;
  readonly refused?: Situation['refused'];
  /** Answers what the condition says. */
  readonly told?: true;
}

function next({
  metadata = {},
  spec = {},
  intent = 'ensure',
  plan = nothing,
  removal = nothing,
  nowMs = 0,
  retention = { kind: 'none' },
  ...given
}: Given) {
  const loadBalancers = {
    annotations: [],
    annotationPrefixes: [],
    settleMs: 5000,
    plan: () => plan,
    lastDone: () => undefined,
    planRemoval: () => removal,
  } as unknown as LoadBalancers;
  const action: Action = nextAction({
    service: exampleService({ metadata, spec }),
    intent,
    cloud: { name: 'x', scope, loadBalancers },
    cluster: { uid: 'c', name: 'blue' },
    observation: given.observation,
    members: [{ node: 'n0', providerID: 'x:///0', addresses: [], zone: '', draining: false }],
    refused: given.refused ?? [],
    policy: strictPolicy,
    retention,
    nowMs,
  });
  if (given.told && action.do === 'settle') return `${action.condition.reason}: ${action.condition.message}`;
  if (action.do === 'settle') return `settle ${action.condition.reason} ${action.againInMs ?? ''}`.trim();
  if (action.do === 'write') return `write ${action.what}${action.first ? ', first' : ''}`;
  return action.do === 'apply' ? `apply ${action.plan.steps[0]?.action}` : action.do;
}

const pending = { ...finalized, ...recorded(`${scope} pending`) };
const ours = { ...finalized, ...recorded(`${scope} lb-1`) };
const notOurs: LoadBalancerPlan = { ...nothing, refusals: [{ reason: 'ForeignLoadBalancer', message: 'x' }] };
const steps = (...list: LoadBalancerStep[]): LoadBalancerPlan => ({ ...nothing, steps: list });

describe('the remarks of a condition that is True', () => {
  const annotationsOf = (annotations: Record<string, string>) => ({
    ...ours,
    annotations: { ...recorded(`${scope} lb-1`).annotations, ...annotations },
  });
  const message = (annotations: Record<string, string>, plan: LoadBalancerPlan, spec = {}, omits = false) => {
    const loadBalancers = {
      annotations: [{ key: 'x.io/lb-observation', values: '', meaning: '' }],
      annotationPrefixes: ['x.io/lb-'],
      settleMs: 5000,
      plan: () => plan,
    } as unknown as LoadBalancers;
    const cloud = { name: 'x', scope, loadBalancers };
    const raw = { metadata: annotationsOf(annotations), spec };
    const action = nextAction({
      service: serviceViewFor([cloud])(rawService(raw)),
      intent: 'ensure',
      cloud,
      nowMs: 0,
      cluster: { uid: 'c', name: 'blue' },
      observation: observation({ observed: observed() }),
      members: [{ node: 'n0', providerID: 'x:///0', addresses: [], zone: '', draining: false }],
      refused: [],
      omits,
      policy: strictPolicy,
      retention: { kind: 'none' },
    });
    return action.do === 'settle' ? `${action.condition.reason}: ${action.condition.message}` : action.do;
  };
  const ensured = 'Ensured: the load balancer is as the Service asks';

  it('includes the remarks of the plan in the message', () => {
    const plan = { ...nothing, remarks: ['port 8443 is none', 'used once'] };
    assert.equal(message({}, plan), `${ensured}; port 8443 is none; used once`);
    assert.equal(message({}, nothing), ensured);
  });

  it('names annotations of the cloud that it does not define', () => {
    const given = {
      'x.io/lb-scheme': 'internal',
      'x.io/lb-observation': '1',
      'y.io/lb': '1',
      'x.io/lb-attributes': 'a',
    };
    assert.equal(message(given, nothing), `${ensured}; unknown annotations: x.io/lb-attributes, x.io/lb-scheme`);
  });

  it('says with the policy Local that the cloud accepts fewer members than there are Nodes', () => {
    const local = { externalTrafficPolicy: 'Local' };
    assert.match(message({}, nothing, local, true), /does not accept all Nodes as members/);
    assert.equal(message({}, nothing, local), ensured);
    assert.equal(message({}, nothing, {}, true), ensured);
  });
});

describe('the next action for a Service that asks for a load balancer', () => {
  for (const [what, given, expected] of [
    ['nothing has been read yet', {}, 'observe'],
    ['new', { observation: observation({ source: 'list' }) }, 'write finalizer and record, first'],
    [
      'new, and ours is there',
      { observation: observation({ source: 'list', observed: observed() }) },
      'write finalizer and record',
    ],
    [
      'an address is asked for',
      { observation: observation({ source: 'list' }), spec: { loadBalancerIP: '192.0.2.9' } },
      'write finalizer and record',
    ],
    ['a foreign finalizer, a search', { metadata: finalized, observation: observation({ source: 'list' }) }, 'observe'],
    ['a foreign finalizer, asked', { metadata: finalized, observation: observation() }, 'settle AdoptionRequired'],
    [
      'the finalizer was taken off',
      { metadata: recorded(`${scope} lb-1`), observation: observation() },
      'write finalizer and record',
    ],
    [
      'claimed just now',
      { metadata: pending, observation: observation({ source: 'neverCreated' }), plan: steps(create) },
      'apply create',
    ],
    [
      'claimed earlier, a search',
      { metadata: pending, observation: observation({ source: 'list' }), plan: steps(create) },
      'observe',
    ],
    [
      'claimed earlier, asked once',
      { metadata: pending, observation: observation(), plan: steps(create) },
      'settle Provisioning 5000',
    ],
    [
      'claimed earlier, asked 3 s ago',
      { metadata: pending, observation: observation(), plan: steps(create), nowMs: 3000 },
      'settle Provisioning 2000',
    ],
    [
      'claimed earlier, asked again',
      { metadata: pending, observation: observation({ atMs: 5000 }), plan: steps(create), nowMs: 5000 },
      'apply create',
    ],
    ['spoilt', { metadata: ours, observation: observation({ observed: observed(), fresh: false }) }, 'observe'],
    [
      'recorded, and a search misses it',
      { metadata: ours, observation: observation({ source: 'list' }), plan: steps(create) },
      'observe',
    ],
    [
      'recorded, and a search finds its address alone',
      { metadata: ours, observation: observation({ source: 'list', observed: observed({ id: undefined }) }) },
      'observe',
    ],
    [
      'recorded, and asked for by another id',
      { metadata: ours, observation: observation({ readId: 'lb-0' }), plan: steps(create) },
      'observe',
    ],
    [
      'recorded, and gone by its id',
      { metadata: ours, observation: observation({ readId: 'lb-1' }), plan: steps(create) },
      'apply create',
    ],
    [
      'made, its id not recorded, more to do',
      { metadata: pending, observation: observation({ source: 'answer', observed: observed() }), plan: steps(create) },
      'write its id',
    ],
    [
      'made, its id not recorded, nothing to do',
      { metadata: pending, observation: observation({ source: 'answer', observed: observed() }) },
      'settle Ensured',
    ],
    [
      'a forged record of another Service',
      {
        metadata: ours,
        observation: observation({ readId: 'lb-1', observed: observed({ owner: undefined }) }),
        plan: steps(create),
      },
      'apply create',
    ],
    [
      'the cloud is at work',
      {
        metadata: ours,
        observation: observation({ observed: observed({ ingress: [] }) }),
        plan: { ...nothing, waitMs: 700 },
      },
      'settle Provisioning 700',
    ],
    [
      'no address yet',
      { metadata: ours, observation: observation({ observed: observed({ ingress: [] }) }) },
      'settle Provisioning 15000',
    ],
    [
      'something is to go, says the list of everything',
      { metadata: ours, observation: observation({ source: 'list', observed: observed() }), plan: steps(remove) },
      'apply delete',
    ],
    [
      'something is to go',
      { metadata: ours, observation: observation({ readId: 'lb-1', observed: observed() }), plan: steps(remove) },
      'apply delete',
    ],
    [
      'something is to be made, says the list of everything',
      { metadata: ours, observation: observation({ source: 'list', observed: observed() }), plan: steps(create) },
      'apply create',
    ],
    ['done', { metadata: ours, observation: observation({ source: 'list', observed: observed() }) }, 'settle Ensured'],
    ['bad ranges', { metadata: ours, spec: { loadBalancerSourceRanges: ['x'] } }, 'settle InvalidSourceRanges'],
  ] as const satisfies readonly (readonly [string, Given, string])[]) {
    it(`decides ${expected}: ${what}`, () => {
      assert.equal(next(given), expected);
    });
  }
});

describe('the next action for a Service that no longer asks for one', () => {
  const gone = { metadata: ours, intent: 'remove' } as const;
  const halfway = { metadata: pending, intent: 'remove' } as const;
  for (const [what, given, expected] of [
    ['nothing has been read yet', gone, 'observe'],
    [
      'it is in the list of everything',
      { ...gone, observation: observation({ source: 'list', observed: observed() }), removal: steps(remove) },
      'apply delete',
    ],
    [
      'it is there',
      { ...gone, observation: observation({ observed: observed() }), removal: steps(remove) },
      'apply delete',
    ],
    [
      'one of its parts has just been removed',
      { ...gone, observation: observation({ source: 'answer', observed: observed() }), removal: steps(remove) },
      'apply delete',
    ],
    [
      'the cloud is at work',
      { ...gone, observation: observation({ observed: observed() }), removal: { ...nothing, waitMs: 9 } },
      'settle Deleting 9',
    ],
    [
      'nothing of ours is left, says the last call',
      { ...gone, observation: observation({ source: 'answer', observed: observed() }) },
      'observe',
    ],
    [
      'nothing of ours is left of what the last read showed, by a later read of others',
      { ...gone, observation: observation({ observed: observed(), readId: 'lb-1' }) },
      'settle AwaitingCloud 60000',
    ],
    [
      'all that is left is not provably ours, read just now',
      { ...gone, observation: observation({ observed: observed(), readId: 'lb-1' }), removal: notOurs },
      'release',
    ],
    ['deleted, says the last call', { ...gone, observation: observation({ source: 'answer' }) }, 'observe'],
    ['missed by a search', { ...gone, observation: observation({ source: 'list' }) }, 'observe'],
    ['gone by its id', { ...gone, observation: observation({ readId: 'lb-1' }) }, 'release'],
    ['gone by its id, long ago', { ...gone, observation: observation({ readId: 'lb-1' }), nowMs: 60_000 }, 'observe'],
    ['gone by another id', { ...gone, observation: observation({ readId: 'lb-0' }) }, 'observe'],
    [
      "another Service's by its id",
      {
        ...gone,
        observation: observation({ readId: 'lb-1', observed: observed({ owner: undefined }) }),
        removal: steps(remove),
      },
      'release',
    ],
    ['never recorded, asked once', { ...halfway, observation: observation() }, 'settle Deleting 5000'],
    ['never recorded, asked again', { ...halfway, observation: observation({ atMs: 5000 }), nowMs: 5000 }, 'release'],
    [
      'never recorded, and found',
      { ...halfway, observation: observation({ observed: observed() }), removal: steps(remove) },
      'apply delete',
    ],
    [
      'a foreign finalizer',
      { metadata: finalized, intent: 'remove', observation: observation() },
      'settle AdoptionRequired',
    ],
    [
      'a foreign finalizer on another type',
      { metadata: finalized, spec: { type: 'NodePort' }, intent: 'remove', observation: observation() },
      'nothing',
    ],
    [
      'a foreign finalizer on another type, five minutes later',
      { metadata: finalized, spec: { type: 'NodePort' }, intent: 'remove', observation: observation(), nowMs: 300_000 },
      'settle AdoptionRequired',
    ],
    [
      'the record was taken off',
      { metadata: finalized, intent: 'remove', observation: observation({ observed: observed() }) },
      'write its record',
    ],
  ] as const satisfies readonly (readonly [string, Given, string])[]) {
    it(`decides ${expected}: ${what}`, () => {
      assert.equal(next(given), expected);
    });
  }
});

describe('the condition of a load balancer that exists', () => {
  const stands = {
    metadata: ours,
    observation: observation({ observed: observed(), readId: 'lb-1' }),
    told: true,
  } as const;

  it('names the members that the cloud refuses, and each reason once', () => {
    const refused = ['n3', 'n1'].map((node) => ({ node, why: 'its security group is closed' }));
    assert.equal(
      next({ ...stands, refused }),
      'MembersRefused: the cloud refuses as members: n1, n3; its security group is closed',
    );
  });

  it('shows the remarks of the plan although everything is done', () => {
    const told = next({ ...stands, plan: { ...nothing, remarks: ['security group sg-1 stays'] } });
    assert.match(told, /^Ensured: .*; security group sg-1 stays$/);
  });
});
