import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  afterCall,
  clusterTag,
  factsOf,
  group,
  rule,
  settled,
} from '../../../../test/clouds/aws/fake/network-facts.ts';
import { clusterTagsOf } from '../cluster-tags.ts';
import { type IngressRule, ruleKey } from './ingress-rule.ts';
import { markedBy, type NetworkFacts } from './network-facts.ts';
import { type NodeRuleWish, planNodeRuleRemoval, planNodeRules } from './node-rules.ts';

const owner = { cluster: 'uid-c', service: 'uid-s' };
const shown = (facts: NetworkFacts, id = 'sg-nodes') =>
  (facts.groups.get(id)?.ingress ?? []).map((one) => `${ruleKey(one)} ${one.description ?? ''}`.trim()).sort();

function wish(fields: Partial<NodeRuleWish> = {}): NodeRuleWish {
  return {
    ...{ owner, loadBalancer: 'a1', groups: ['sg-front', 'sg-traffic'], source: 'sg-traffic', instances: ['i-1'] },
    ...{ clients: [], ports: [], subnetCidrs: [], healthPorts: [], disabled: false },
    ...fields,
  };
}

const byAddress = (fields: Partial<NodeRuleWish> = {}) =>
  wish({
    ...{ groups: [], source: undefined, clients: ['0.0.0.0/0'], ports: [{ protocol: 'tcp', port: 30080 }] },
    ...{ subnetCidrs: ['10.0.0.0/24', '10.0.1.0/24'], healthPorts: [{ port: 10256, shared: true }] },
    ...fields,
  });

function nodes(ingress: readonly IngressRule[] = [], more: Partial<NetworkFacts> = {}): NetworkFacts {
  const groups = [group('sg-nodes', { tags: clusterTag, ingress }), group('sg-other'), group('sg-third')];
  return factsOf(groups, {
    instances: new Map([['i-1', { zone: 'eu-west-1a', groups: ['sg-nodes', 'sg-other'], tags: clusterTag }]]),
    ...more,
  });
}

const ensured = (facts: NetworkFacts, wanted: NodeRuleWish) =>
  settled(facts, (now) => planNodeRules(wanted, now).calls);
const removed = (facts: NetworkFacts, loadBalancer: string, groups: string[] = [], ownGroup?: string) =>
  settled(facts, (now) => planNodeRuleRemoval({ owner, loadBalancer, groups, ownGroup }, now));

describe("rules on the nodes' groups", () => {
  it('one rule for everything from the group that all load balancers of the cluster carry', () => {
    const after = ensured(nodes(), wish());
    assert.deepEqual(shown(after), ['-1 -1--1 sg-traffic mooring.dev/traffic cluster=uid-c']);
    assert.deepEqual(planNodeRules(wish({ loadBalancer: 'a2' }), after).calls, []);
  });

  it('what lets in everything from any of its groups is enough, whoever made it', () => {
    assert.deepEqual(planNodeRules(wish(), nodes([rule('-1 * sg-front')])).calls, []);
  });

  it('a rule that lets in less is not', () => {
    assert.equal(planNodeRules(wish(), nodes([rule('tcp 30080 sg-front')])).calls.length, 1);
  });

  it('nothing where a person looks after the groups', () => {
    assert.deepEqual(planNodeRules(wish({ disabled: true }), nodes()), { calls: [], refusals: [] });
  });

  for (const [what, ids, tags, expected] of [
    [
      'the only group of an instance with the tag of the cluster, where no group is tagged',
      ['sg-other'],
      clusterTag,
      'sg-other',
    ],
    ['the tagged one of several', ['sg-other', 'sg-nodes'], clusterTag, 'sg-nodes'],
    ['the tagged one, of an instance without the tag', ['sg-other', 'sg-nodes'], {}, 'sg-nodes'],
  ] as const) {
    it(`the group of a node is ${what}`, () => {
      const facts = nodes([], { instances: new Map([['i-1', { zone: 'eu-west-1a', groups: ids, tags }]]) });
      const plan = planNodeRules(wish(), facts);
      assert.deepEqual(
        plan.calls.map(({ target }) => target),
        [expected],
      );
    });
  }

  for (const [what, ids, expected] of [
    [
      'several, none of them tagged',
      ['sg-other', 'sg-third'],
      /i-1: it has the security groups sg-other .*expected the tag/,
    ],
    ['no group', [], /i-1: it has no security group/],
    ['two that are tagged', ['sg-nodes', 'sg-twin'], /all carry the tag of the cluster/],
  ] as const) {
    it(`a node with ${what} is named, and the others get their rule`, () => {
      const instances = new Map([
        ['i-1', { zone: 'eu-west-1a', groups: ids, tags: clusterTag }],
        ['i-2', { zone: 'eu-west-1a', groups: ['sg-nodes'], tags: clusterTag }],
      ]);
      const facts = nodes([], { instances });
      const twin = group('sg-twin', { tags: clusterTag });
      const plan = planNodeRules(wish({ instances: ['i-1', 'i-2'] }), {
        ...facts,
        groups: new Map(facts.groups).set(twin.id, twin),
      });
      assert.match(plan.refusals.map(({ message }) => message).join(), expected);
      assert.deepEqual(
        plan.calls.map(({ target }) => target),
        ['sg-nodes'],
      );
    });
  }

  it("opens no group of an instance when neither carries the cluster's tag, as of a database that a rogue Node names", () => {
    const database = group('sg-database');
    const facts = nodes([], {
      instances: new Map([
        ['i-1', { zone: 'eu-west-1a', groups: ['sg-nodes'], tags: {} }],
        ['i-db', { zone: 'eu-west-1a', groups: ['sg-database'], tags: { 'kubernetes.io/cluster/another': 'owned' } }],
      ]),
    });
    const withDatabase = { ...facts, groups: new Map(facts.groups).set(database.id, database) };
    for (const wanted of [wish({ instances: ['i-1', 'i-db'] }), byAddress({ instances: ['i-1', 'i-db'] })]) {
      const plan = planNodeRules(wanted, withDatabase);
      assert.deepEqual(
        plan.calls.map(({ target }) => target),
        ['sg-nodes'],
      );
      assert.match(
        plan.refusals.map(({ message }) => message).join(),
        /^instance i-db: neither it nor its security group sg-database .* carries the tag of the cluster/,
      );
    }
  });

  it('opens the only group of any instance where the operator runs without a cluster id', () => {
    const facts = nodes([], {
      ...markedBy(clusterTagsOf(undefined, false)),
      instances: new Map([['i-1', { zone: 'eu-west-1a', groups: ['sg-other'], tags: {} }]]),
    });
    assert.deepEqual(
      planNodeRules(wish(), facts).calls.map(({ target }) => target),
      ['sg-other'],
    );
  });

  it('without groups: clients to the node port, health checks from the subnets unless clients reach that port, and packet sizes', () => {
    assert.deepEqual(shown(ensured(nodes(), byAddress())), [
      'icmp 3-4 0.0.0.0/0 kubernetes.io/rule/nlb/mtu',
      'tcp 10256-10256 10.0.0.0/24 mooring.dev/health cluster=uid-c',
      'tcp 10256-10256 10.0.1.0/24 mooring.dev/health cluster=uid-c',
      'tcp 30080-30080 0.0.0.0/0 kubernetes.io/rule/nlb/client=a1',
    ]);
    const own = byAddress({ healthPorts: [{ port: 30080, shared: false }] });
    assert.equal(shown(ensured(nodes(), own)).length, 2);
  });

  it('what the classic controller made for it is taken for its own: nothing is added', () => {
    const theirs = [
      rule('tcp 30080 0.0.0.0/0', 'kubernetes.io/rule/nlb/client=a1'),
      rule('icmp 3-4 0.0.0.0/0', 'kubernetes.io/rule/nlb/mtu'),
      rule('tcp 31000 10.0.0.0/24', 'kubernetes.io/rule/nlb/health=a1'),
      rule('tcp 31000 10.0.1.0/24', 'kubernetes.io/rule/nlb/health=a1'),
    ];
    const wanted = byAddress({ healthPorts: [{ port: 31000, shared: false }] });
    assert.deepEqual(planNodeRules(wanted, nodes(theirs)).calls, []);
    assert.deepEqual(shown(removed(nodes(theirs), 'a1')), []);
  });

  it('other ports and clients: the new ones first, then the old ones go', () => {
    const before = ensured(nodes(), byAddress());
    const next = byAddress({ clients: ['192.0.2.0/24'], ports: [{ protocol: 'tcp', port: 30999 }] });
    const calls = planNodeRules(next, before).calls.map(({ call }) => call.does);
    assert.equal(calls[0], 'authorize ingress');
    const after = ensured(before, next);
    assert.deepEqual(
      shown(after).filter((line) => !line.includes('health')),
      [
        'icmp 3-4 192.0.2.0/24 kubernetes.io/rule/nlb/mtu',
        'tcp 30999-30999 192.0.2.0/24 kubernetes.io/rule/nlb/client=a1',
      ],
    );
  });

  it('where members were and are no more, its own rules go; not while an answer has left out a member', () => {
    const before = ensured(nodes(), byAddress());
    const moved = {
      ...before,
      instances: new Map([['i-2', { zone: 'eu-west-1a', groups: ['sg-other'], tags: clusterTag }]]),
    };
    const wanted = byAddress({ instances: ['i-2'] });
    assert.deepEqual(shown(ensured(moved, wanted)), []);
    const unseen = byAddress({ instances: ['i-1', 'i-2'] });
    assert.equal(shown(ensured(moved, unseen)).length, 4);
    const nobody = { ...before, instances: new Map() };
    assert.deepEqual(planNodeRules(byAddress(), nobody).calls, []);
  });

  it('a shared rule stays while another load balancer is there, and goes with the last one', () => {
    const both = ensured(
      ensured(nodes(), byAddress()),
      byAddress({ loadBalancer: 'a2', ports: [{ protocol: 'tcp', port: 30081 }] }),
    );
    const one = removed(both, 'a1');
    assert.deepEqual(shown(one), [
      'icmp 3-4 0.0.0.0/0 kubernetes.io/rule/nlb/mtu',
      'tcp 10256-10256 10.0.0.0/24 mooring.dev/health cluster=uid-c',
      'tcp 10256-10256 10.0.1.0/24 mooring.dev/health cluster=uid-c',
      'tcp 30081-30081 0.0.0.0/0 kubernetes.io/rule/nlb/client=a2',
    ]);
    assert.deepEqual(shown(removed(one, 'a2')), []);
  });

  it("one from a group goes with the last that used that group's load balancer, which could not go otherwise", () => {
    const guest = (name: string, from: string, port: number) =>
      byAddress({
        ...{ loadBalancer: name, clients: [from], subnetCidrs: [from], ports: [{ protocol: 'tcp', port }] },
      });
    const both = ensured(ensured(nodes(), guest('a1', 'sg-front-1', 30080)), guest('a2', 'sg-front-2', 30081));
    const one = removed(both, 'a1');
    assert.deepEqual(shown(one), [
      'icmp 3-4 sg-front-2 kubernetes.io/rule/nlb/mtu',
      'tcp 10256-10256 sg-front-2 mooring.dev/health cluster=uid-c',
      'tcp 30081-30081 sg-front-2 kubernetes.io/rule/nlb/client=a2',
    ]);
    assert.deepEqual(shown(removed(one, 'a2')), []);
  });

  it('two that go at once, each seeing the other: the later one takes the shared rule', () => {
    const both = ensured(
      ensured(nodes(), byAddress()),
      byAddress({ loadBalancer: 'a2', ports: [{ protocol: 'tcp', port: 30081 }] }),
    );
    const planned = (name: string, facts: NetworkFacts) =>
      planNodeRuleRemoval({ owner, loadBalancer: name, groups: [], ownGroup: undefined }, facts);
    // Both have been planned from the same look, and their calls come one after the other.
    const firsts = ['a1', 'a2'].map((name) => planned(name, both)[0]!.call);
    let now = firsts.reduce(afterCall, both);
    for (const name of ['a1', 'a2']) now = settled(now, (facts) => planned(name, facts));
    assert.deepEqual(shown(now), []);
  });

  it('the rule from the traffic group stays while another load balancer carries it', () => {
    const before = ensured(nodes(), wish());
    const shared = { ...before, users: new Map([['sg-traffic', ['a1', 'a2']]]) };
    assert.deepEqual(
      planNodeRuleRemoval({ owner, loadBalancer: 'a1', groups: ['sg-traffic'], ownGroup: undefined }, shared),
      [],
    );
    const last = { ...before, users: new Map([['sg-traffic', ['a1']]]) };
    const [call] = planNodeRuleRemoval(
      { owner, loadBalancer: 'a1', groups: ['sg-traffic'], ownGroup: undefined },
      last,
    );
    assert.deepEqual(call?.call.does === 'revoke ingress' && call.call.unless, {
      by: 'users of a group',
      group: 'sg-traffic',
      but: 'a1',
    });
  });

  it('a rule of ours from a group that nobody carries any more goes with the next change, once it is known who carries what', () => {
    const before = ensured(nodes(), wish({ groups: ['sg-persons'], source: 'sg-persons' }));
    const unknown = { ...before, users: undefined };
    assert.equal(planNodeRules(wish(), unknown).calls.length, 1);
    const used = { ...before, users: new Map([['sg-persons', ['a2']]]) };
    assert.equal(planNodeRules(wish(), used).calls.length, 1);
    assert.deepEqual(shown(ensured(before, wish())), ['-1 -1--1 sg-traffic mooring.dev/traffic cluster=uid-c']);
  });

  it("what an earlier version let in from a person's group stays until every load balancer with that group has rules of its own", () => {
    const broad = rule('-1 * sg-persons', 'mooring.dev/traffic cluster=uid-c');
    const users = new Map([['sg-persons', ['a1', 'a2']]]);
    const from = (loadBalancer: string, port: number) =>
      byAddress({
        loadBalancer,
        clients: ['sg-persons'],
        subnetCidrs: ['sg-persons'],
        ports: [{ protocol: 'tcp', port }],
      });
    const one = ensured(nodes([broad], { users }), from('a1', 30080));
    assert.ok(shown(one).some((line) => line.startsWith('-1')));
    assert.ok(shown(one).some((line) => line.startsWith('tcp 30080-30080 sg-persons')));
    const both = ensured(one, from('a2', 30081));
    assert.deepEqual(shown(both), [
      'icmp 3-4 sg-persons kubernetes.io/rule/nlb/mtu',
      'tcp 10256-10256 sg-persons mooring.dev/health cluster=uid-c',
      'tcp 30080-30080 sg-persons kubernetes.io/rule/nlb/client=a1',
      'tcp 30081-30081 sg-persons kubernetes.io/rule/nlb/client=a2',
    ]);
  });

  it('what was taken over goes on by the rule that the classic controller made, and nothing is added', () => {
    const facts = nodes([rule('-1 * sg-persons')]);
    const wanted = byAddress({ clients: ['sg-persons'], subnetCidrs: ['sg-persons'], adopted: true });
    assert.deepEqual(planNodeRules(wanted, facts).calls, []);
    assert.equal(planNodeRules({ ...wanted, adopted: false }, facts).calls.length, 1);
  });

  it('of the rules that let in the group that goes, those of the classic controller and ours go: none that a person described, none in groups that are not of the cluster', () => {
    const before = nodes([rule('-1 * sg-front'), rule('-1 * sg-traffic', 'by hand')]);
    const other = group('sg-db', { ingress: [rule('-1 * sg-front')] });
    const facts = { ...before, groups: new Map(before.groups).set(other.id, other) };
    const after = removed(facts, 'a1', ['sg-front'], 'sg-front');
    assert.deepEqual(shown(after), ['-1 -1--1 sg-traffic by hand']);
    assert.deepEqual(shown(after, 'sg-db'), ['-1 -1--1 sg-front']);
    const described = nodes([rule('-1 * sg-front', 'by hand')]);
    assert.deepEqual(shown(removed(described, 'a1', ['sg-front'], 'sg-front')), ['-1 -1--1 sg-front by hand']);
  });

  it("a person's rule from the traffic group is a person's", () => {
    const facts = nodes([rule('-1 * sg-traffic'), rule('tcp 443 sg-front')]);
    assert.deepEqual(shown(removed(facts, 'a1', ['sg-traffic', 'sg-front'])), [
      '-1 -1--1 sg-traffic',
      'tcp 443-443 sg-front',
    ]);
  });
});

describe('whatever rules persons have made', () => {
  const cidr = fc.constantFrom('0.0.0.0/0', '192.0.2.0/24', '10.0.0.0/24', '10.0.1.0/24', '2001:db8::/64');
  const source = fc.oneof(cidr, fc.constantFrom('sg-front', 'sg-traffic', 'sg-persons', 'pl-1'));
  const port = fc.constantFrom(22, 10256, 30080, 30081, 30999, 32000);
  const personsRule = fc.oneof(
    fc
      .record({ protocol: fc.constantFrom('tcp', 'udp'), port, source })
      .map(({ protocol, port: at, source: from }) => ({
        ...{ protocol, fromPort: at, toPort: at, source: from },
      })),
    source.map((from) => ({ protocol: '-1', fromPort: -1, toPort: -1, source: from })),
    source.map((from) => ({ protocol: 'icmp', fromPort: 3, toPort: 4, source: from })),
    source.map((from) => ({ protocol: 'tcp', fromPort: 30000, toPort: 32767, source: from })),
  );
  const description = fc.constantFrom(
    undefined,
    '',
    'ssh',
    'kubernetes.io/rule/nlb/',
    'health',
    'mooring.dev/traffic',
    'mooring.dev/traffic cluster=another',
  );
  const persons = fc
    .uniqueArray(fc.tuple(personsRule, description), { selector: ([one]) => ruleKey(one), maxLength: 12 })
    .map((rules) => rules.map(([one, about]): IngressRule => ({ ...one, description: about })));
  const aWish = fc
    .record({
      grouped: fc.boolean(),
      clients: fc.uniqueArray(fc.constantFrom('0.0.0.0/0', '192.0.2.0/24'), { minLength: 1 }),
      ports: fc.uniqueArray(fc.constantFrom(30080, 30081, 30999), { minLength: 1 }),
      health: fc.constantFrom({ port: 10256, shared: true }, { port: 32000, shared: false }),
    })
    .map(
      ({ grouped, clients, ports, health }) =>
        (loadBalancer: string) =>
          grouped
            ? wish({ loadBalancer })
            : byAddress({
                ...{ loadBalancer, clients, healthPorts: [health] },
                ports: ports.map((number) => ({ protocol: 'tcp' as const, port: number })),
              }),
    );

  it('none of them is ever revoked, what was planned is done once it is applied, and removal leaves them alone', () => {
    fc.assert(
      fc.property(persons, aWish, aWish, aWish, (theirs, first, second, other) => {
        const keep = new Set(theirs.map(ruleKey));
        const onCall: Parameters<typeof settled>[2] = (call) => {
          if (call.does !== 'revoke ingress') return;
          for (const one of call.rules) assert.ok(!keep.has(ruleKey(one)), `revokes ${ruleKey(one)}`);
        };
        let facts = nodes(theirs);
        for (const wanted of [first('a1'), second('a1')]) {
          facts = settled(facts, (now) => planNodeRules(wanted, now).calls, onCall);
          assert.deepEqual(planNodeRules(wanted, facts).calls, []);
        }
        // Ports of two Services never meet.
        const another = other('a2');
        facts = settled(
          facts,
          (now) => planNodeRules({ ...another, ports: [{ protocol: 'tcp', port: 31500 }] }, now).calls,
          onCall,
        );
        for (const name of ['a1', 'a2']) {
          const removal = { owner, loadBalancer: name, groups: ['sg-traffic'], ownGroup: undefined };
          const users = new Map([['sg-traffic', name === 'a1' ? ['a1', 'a2'] : ['a2']]]);
          facts = settled({ ...facts, users }, (now) => planNodeRuleRemoval(removal, now), onCall);
        }
        assert.deepEqual(shown(facts), shown(nodes(theirs)));
      }),
      { numRuns: 500 },
    );
  });
});
