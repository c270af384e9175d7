import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type DesiredLoadBalancer, type DesiredMember, type DesiredPort, ownerTags } from '../../load-balancers.ts';
import { clusterTagsOf } from '../cluster-tags.ts';
import { keys } from '../load-balancer-annotations.ts';
import { createGroupUsers } from '../security-groups/group-users.ts';
import type { NetworkFacts } from '../security-groups/network-facts.ts';
import { afterCall, clusterTag, factsOf, group, rule } from '../testing/network-facts.ts';
import { createClassicApply } from './apply.ts';
import { type ClassicObserved, ownGroupIn } from './observed.ts';
import { planClassic } from './plan.ts';
import { planClassicRemoval } from './removal.ts';
import type { ClassicConfig } from './settings.ts';
import type { ClassicStep } from './step.ts';

const subnets = ['a', 'b'].map((letter) => ({
  ...{ id: `subnet-${letter}`, zone: `eu-west-1${letter}`, cidrs: ['10.0.0.0/24'], ipv6Cidrs: [], public: true },
  tags: clusterTag,
}));
const owner = { cluster: 'uid-c', service: 'uid-s' };
const plainConfig: ClassicConfig = {
  healthProbe: undefined,
  elbSecurityGroup: undefined,
  disableSecurityGroupIngress: false,
  subnetId: undefined,
};
const idOf = (providerID: string) => /i-[0-9]+$/.exec(providerID)?.[0];

function member(number: number, fields: Partial<DesiredMember> = {}): DesiredMember {
  const providerID = `aws:///eu-west-1a/i-${number}`;
  return { node: `n${number}`, providerID, addresses: ['10.0.0.4'], zone: 'eu-west-1a', draining: false, ...fields };
}

function port(number: number, nodePort = 30_000 + number): DesiredPort {
  return { name: `p${number}`, protocol: 'TCP', port: number, nodePort, appProtocol: undefined };
}

function desired(fields: Partial<DesiredLoadBalancer> = {}): DesiredLoadBalancer {
  return {
    ...{ owner, service: 'default/web', clusterName: 'kubernetes', name: 'a1', ports: [port(80)], families: ['IPv4'] },
    ...{ sourceRanges: [], sessionAffinity: undefined, trafficPolicy: 'Cluster', members: [member(1), member(2)] },
    ...{ healthCheck: { port: 10256, path: '/healthz' }, address: undefined, attach: undefined, annotations: {} },
    ...{ mayChangeAddress: false, retain: false },
    ...fields,
  };
}

/** The code that ships, over calls that all succeed: what it takes them to have done is what it sees next. */
function machine(persons: readonly string[] = [], config = plainConfig) {
  const sent: string[] = [];
  const node = { zone: 'eu-west-1a', groups: ['sg-nodes'] };
  let facts: NetworkFacts = factsOf([
    group('sg-nodes', { tags: clusterTag, ingress: persons.map((text) => rule(text)) }),
    group('sg-persons'),
  ]);
  let made = 0;
  const calls = {
    async change(operation: string) {
      sent.push(operation);
      return operation === 'CreateLoadBalancer' ? { DNSName: 'a1-1.eu-west-1.elb.amazonaws.com' } : {};
    },
    read: async () => ({}),
  };
  const users = createGroupUsers({ elb: () => calls as never, elbv2: () => calls as never });
  users.listed('classic', []);
  users.listed('nlb', []);
  const network = {
    users,
    reads: {
      facts: async () => facts,
      instances: async (ids: readonly string[]) => new Map(ids.map((id) => [id, node])),
      subnets: async () => subnets,
      vpc: async () => 'vpc-1',
    },
    groups: {
      async apply(call: Parameters<typeof afterCall>[1], known: NetworkFacts) {
        sent.push(call.does);
        if (call.does === 'create security group') {
          made += 1;
          const one = group(`sg-${made}`, { name: call.name, tags: call.tags });
          facts = { ...facts, groups: new Map(facts.groups).set(one.id, one) };
        } else if (call.does === 'delete security group') {
          const groups = new Map(facts.groups);
          assert.ok(groups.delete(call.group), call.group);
          for (const { ingress } of groups.values())
            assert.ok(!ingress.some(({ source }) => source === call.group), 'DependencyViolation');
          facts = { ...facts, groups };
        } else {
          const ref =
            'group' in call
              ? [...facts.groups.values()].find(({ id, name }) => id === call.group || name === call.group)?.id
              : undefined;
          facts = afterCall(facts, { ...call, group: ref ?? '' } as typeof call);
        }
        return { ...known, groups: facts.groups, users: users.known() };
      },
      async joining<Made>(
        carrier: { name: string; groups: readonly string[] },
        known: NetworkFacts,
        make: () => Promise<Made>,
      ) {
        users.joins(carrier);
        return { made: await make(), facts: { ...known, groups: facts.groups, users: users.known() } };
      },
      left(name: string, known: NetworkFacts) {
        users.left(name);
        return { ...known, users: users.known() };
      },
    },
  };
  const cluster = async () => clusterTagsOf('c1', false);
  const reads = {
    ...{ get: async () => undefined, observe: async () => undefined, observeAll: async () => [] },
    ...{ providerIds: new Map<string, string>(), noteAttributes: () => {} },
  };
  const apply = createClassicApply(
    { config: { subnetId: undefined } as never, elb: () => calls as never, cluster },
    network,
    reads,
  );
  const rulesOfNodes = () =>
    (facts.groups.get('sg-nodes')?.ingress ?? []).map(
      ({ source, protocol, fromPort }) => `${protocol} ${fromPort} ${source}`,
    );

  async function run(
    start: ClassicObserved | undefined,
    plan: (observed: ClassicObserved | undefined) => readonly ClassicStep[],
    onStep: (step: ClassicStep, observed: ClassicObserved | undefined) => void = () => {},
  ): Promise<ClassicObserved | undefined> {
    let observed = start;
    for (let round = 0; round < 60; round += 1) {
      const [step] = plan(observed);
      if (step === undefined) return observed;
      assert.deepEqual(structuredClone(step), step);
      onStep(step, observed);
      const before = sent.length;
      observed = await apply(step, observed, { permit: () => {} });
      assert.equal(sent.length, before + 1, step.summary);
    }
    return assert.fail('no end');
  }

  return {
    ...{ sent, rulesOfNodes },
    groups: () => [...facts.groups.keys()].sort(),
    plan: (wanted: DesiredLoadBalancer, observed: ClassicObserved | undefined) =>
      planClassic(wanted, observed, { config, idOf }),
    ensure: (wanted: DesiredLoadBalancer, observed: ClassicObserved | undefined, onStep?: Parameters<typeof run>[2]) =>
      run(observed, (now) => planClassic(wanted, now, { config, idOf }).steps, onStep),
    remove: (observed: ClassicObserved | undefined, retain = false) =>
      run(observed, (now) => (now === undefined ? [] : planClassicRemoval(now, retain).steps)),
  };
}

describe('the plan of a classic load balancer', () => {
  it('makes the group that tells whose it is first, and lets the nodes in last', async () => {
    const { ensure, sent } = machine();
    await ensure(desired(), undefined);
    assert.deepEqual(sent, [
      'create security group',
      'authorize ingress',
      'create security group',
      'CreateLoadBalancer',
      'ConfigureHealthCheck',
      'RegisterInstancesWithLoadBalancer',
      'authorize ingress',
    ]);
  });

  it('is told in full before anything is there', () => {
    const { plan } = machine();
    assert.deepEqual(
      plan(desired(), undefined).steps.map(({ action, resource }) => `${action} ${resource}`),
      ['create security group', 'update security group rules', 'create security group', 'create load balancer'],
    );
  });

  it('takes a member in before it lets one go', async () => {
    const { ensure, sent } = machine();
    const observed = await ensure(desired(), undefined);
    const from = sent.length;
    await ensure(desired({ members: [member(2), member(3)] }), observed);
    assert.deepEqual(sent.slice(from), ['RegisterInstancesWithLoadBalancer', 'DeregisterInstancesFromLoadBalancer']);
  });

  it('neither adds nor removes a member that is known by its id alone', async () => {
    const { ensure, plan } = machine();
    const observed = await ensure(desired({ members: [member(1)] }), undefined);
    const members = [member(1, { addresses: [], node: '' }), member(9, { addresses: [], node: '' })];
    assert.deepEqual(plan(desired({ members }), observed).steps, []);
  });

  it('names a member of another place, and goes on without it', async () => {
    const { plan } = machine();
    const { refusals, steps } = plan(
      desired({ members: [member(1), member(2, { providerID: 'gce://p/z/n' })] }),
      undefined,
    );
    assert.match(refusals[0]?.message ?? '', /member n2: providerID "gce:\/\/p\/z\/n" is of another place/);
    assert.ok(steps.length > 0);
  });

  it('adds a new port before it changes and deletes others', async () => {
    const { ensure, sent } = machine();
    const observed = await ensure(desired({ ports: [port(80), port(81), port(82)] }), undefined);
    const from = sent.length;
    await ensure(desired({ ports: [port(80), port(81, 30_999), port(443)] }), observed);
    assert.deepEqual(
      sent.slice(from).filter((operation) => operation.includes('Listener')),
      [
        'CreateLoadBalancerListeners',
        'DeleteLoadBalancerListeners',
        'CreateLoadBalancerListeners',
        'DeleteLoadBalancerListeners',
      ],
    );
  });

  it('leaves what a person has set where it asks for nothing', async () => {
    const { ensure, plan } = machine();
    const observed = await ensure(desired(), undefined);
    const balancer = observed?.pieces.balancer;
    assert.ok(observed && balancer);
    const theirs = {
      ...balancer,
      attributes: {
        draining: { enabled: false, timeout: 300 },
        accessLog: { enabled: false, emitInterval: 60 },
        idleTimeout: 60,
        crossZone: false,
      },
    };
    assert.deepEqual(plan(desired(), { ...observed, pieces: { ...observed.pieces, balancer: theirs } }).steps, []);
  });

  it('does nothing to one that is not ours', async () => {
    const { ensure, plan } = machine();
    const observed = await ensure(desired(), undefined);
    assert.ok(observed?.pieces.balancer);
    const foreign = { ...observed.pieces, isOurs: false, balancer: { ...observed.pieces.balancer, tags: {} } };
    const { steps, refusals } = plan(desired(), { ...observed, pieces: foreign });
    assert.deepEqual(steps, []);
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['ForeignLoadBalancer'],
    );
  });

  it('with a shared group of the cloud config: makes none, and lets the nodes in from it', async () => {
    const { ensure, groups, rulesOfNodes, remove } = machine(['tcp 22 192.0.2.0/24'], {
      ...plainConfig,
      elbSecurityGroup: 'sg-persons',
    });
    const observed = await ensure(desired(), undefined);
    assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
    assert.deepEqual(rulesOfNodes(), ['tcp 22 192.0.2.0/24', '-1 -1 sg-persons']);
    assert.equal(await remove(observed), undefined);
    assert.deepEqual(rulesOfNodes(), ['tcp 22 192.0.2.0/24']);
  });

  it('with DisableSecurityGroupIngress: the groups of the nodes are a matter of persons', async () => {
    const { ensure, rulesOfNodes, sent } = machine([], { ...plainConfig, disableSecurityGroupIngress: true });
    await ensure(desired(), undefined);
    assert.deepEqual(rulesOfNodes(), []);
    assert.equal(sent.filter((call) => call === 'create security group').length, 1);
  });

  it('what is retained loses our tags, its own last, and keeps its groups and rules', async () => {
    const { ensure, remove, groups, sent } = machine();
    const observed = await ensure(desired(), undefined);
    const [before, from] = [groups(), sent.length];
    // Tags of groups are the business of their calls.
    const steps = planClassicRemoval(observed!, true).steps.map(({ call }) =>
      call.does === 'change security groups' ? call.call.does : call.does,
    );
    assert.deepEqual(steps, ['tag security group', 'untag security group', 'add tags', 'remove tags']);
    assert.deepEqual(groups(), before);
    assert.equal(sent.length, from);
    await remove(observed);
    assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
  });

  it('names a subnet that is none: nothing is made there, and one that stands goes on where it is', async () => {
    const { ensure, plan } = machine();
    const nowhere = desired({ annotations: { [keys.subnets]: 'subnet-nowhere' } });
    await assert.rejects(ensure(nowhere, undefined), {
      kind: 'Invalid',
      message: /"subnet-nowhere" is no subnet of the VPC/,
    });
    const other = machine();
    const observed = await other.ensure(desired(), undefined);
    const { steps, refusals } = plan(nowhere, observed);
    assert.deepEqual(steps, []);
    assert.match(refusals[0]?.message ?? '', /subnets: "subnet-nowhere"/);
  });

  it('makes a group of its own beside one that another kind of load balancer of this Service has left', async () => {
    const { ensure, remove, groups } = machine();
    const left = group('sg-left', {
      name: 'k8s-default-web-0123456789',
      tags: { [ownerTags.cluster]: 'uid-c', [ownerTags.service]: 'uid-s' },
    });
    const observed = await ensure(desired(), undefined);
    assert.ok(observed);
    const facts = { ...observed.pieces.facts, groups: new Map(observed.pieces.facts.groups).set(left.id, left) };
    const pieces = { ...observed.pieces, facts };
    assert.equal(ownGroupIn(pieces)?.name, 'k8s-elb-a1');
    assert.equal(ownGroupIn({ ...pieces, facts: factsOf([left]) }), undefined);
    await remove(observed);
    assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
  });

  const typos: readonly [good: Readonly<Record<string, string>>, key: string, bad: string][] = [
    [{ [keys.securityGroups]: 'sg-persons' }, keys.securityGroups, 'sg-persons,sg_2'],
    [{ [keys.extraSecurityGroups]: 'sg-persons' }, keys.extraSecurityGroups, 'sg-persons,sg_2'],
    [{ [keys.subnets]: 'subnet-a' }, keys.subnets, 'subnet-a,subnet-a'],
    [{ [keys.crossZone]: 'true' }, keys.crossZone, 'yes'],
    [{ [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:1:certificate/a' }, keys.sslCertificate, 'arn:aws:acm-typo'],
    [{ [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:1:certificate/a', [keys.sslPorts]: '80' }, keys.sslPorts, '81'],
    [{ [keys.backendProtocol]: 'http' }, keys.backendProtocol, 'htttp'],
    [{ [keys.additionalTags]: 'a=b' }, keys.additionalTags, 'aws:a=b'],
    [{ [keys.healthProtocol]: 'TCP' }, keys.healthProtocol, 'TCPP'],
    [{ [keys.healthPort]: '8080' }, keys.healthPort, 'http'],
    [{ [keys.healthPath]: '/up' }, keys.healthPath, 'up'],
    [{ [keys.healthyThreshold]: '3' }, keys.healthyThreshold, 'three'],
    [{ [keys.unhealthyThreshold]: '3' }, keys.unhealthyThreshold, '11'],
    [{ [keys.healthTimeout]: '4' }, keys.healthTimeout, '4s'],
    [{ [keys.healthInterval]: '20' }, keys.healthInterval, '20s'],
    [{ [keys.accessLogEnabled]: 'true', [keys.accessLogBucket]: 'logs' }, keys.accessLogEnabled, 'on'],
    [{ [keys.accessLogEnabled]: 'true', [keys.accessLogBucket]: 'logs' }, keys.accessLogBucket, ''],
    [
      { [keys.accessLogEnabled]: 'true', [keys.accessLogBucket]: 'logs', [keys.accessLogEmitInterval]: '5' },
      keys.accessLogEmitInterval,
      '7',
    ],
    [{ [keys.proxyProtocol]: '*' }, keys.proxyProtocol, 'v2'],
    [{ [keys.drainingEnabled]: 'true', [keys.drainingTimeout]: '60' }, keys.drainingEnabled, 'on'],
    [{ [keys.drainingEnabled]: 'true', [keys.drainingTimeout]: '60' }, keys.drainingTimeout, '1m'],
    [{ [keys.idleTimeout]: '300' }, keys.idleTimeout, '5m'],
  ];
  for (const [good, key, bad] of typos) {
    it(`${key}: a value that means nothing is refused, and what it is about stays as it is`, async () => {
      for (const healthProbe of [undefined, { mode: 'ServiceNodePort' } as const]) {
        const { ensure, plan } = machine([], { ...plainConfig, healthProbe });
        const observed = await ensure(desired({ annotations: good }), undefined);
        const { steps, refusals } = plan(desired({ annotations: { ...good, [key]: bad } }), observed);
        assert.equal(refusals.length, 1);
        assert.deepEqual(
          steps.map(({ summary }) => summary),
          [],
        );
      }
    });
  }

  it('tags say whose it is, and what a person asks to add', async () => {
    const { ensure } = machine();
    const observed = await ensure(desired({ annotations: { [keys.additionalTags]: 'team=x' } }), undefined);
    const tags = observed?.pieces.balancer?.tags ?? {};
    assert.equal(tags[ownerTags.service], 'uid-s');
    assert.equal(tags['kubernetes.io/service-name'], 'default/web');
    assert.deepEqual([tags['kubernetes.io/cluster/c1'], tags['team']], ['owned', 'x']);
  });
});

describe('whatever a Service asks for, one wish after another', () => {
  const annotation = fc.record(
    {
      [keys.proxyProtocol]: fc.constant('*'),
      [keys.idleTimeout]: fc.constantFrom('60', '300', 'never'),
      [keys.drainingEnabled]: fc.constantFrom('true', 'false'),
      [keys.crossZone]: fc.constantFrom('true', 'x'),
      [keys.securityGroups]: fc.constant('sg-persons'),
      [keys.sslCertificate]: fc.constantFrom(
        'arn:aws:acm:eu-west-1:1:certificate/a',
        'arn:aws:acm:eu-west-1:1:certificate/b',
        'bad',
      ),
      [keys.sslPolicy]: fc.constantFrom('P1', 'P2'),
      [keys.sslPorts]: fc.constantFrom('*', '80'),
      [keys.backendProtocol]: fc.constantFrom('http', 'https', 'ssl', 'tcp'),
      [keys.healthProtocol]: fc.constantFrom('TCP', 'HTTP', 'x'),
      [keys.internal]: fc.constantFrom('true', 'false'),
      [keys.subnets]: fc.constantFrom('subnet-a', 'subnet-b', 'subnet-a, subnet-b'),
      [keys.additionalTags]: fc.constantFrom('a=b', 'c=d'),
    },
    { requiredKeys: [] },
  );
  const wish = fc
    .record({
      annotations: annotation.map(
        (all) =>
          Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<string, string>,
      ),
      ports: fc.uniqueArray(fc.constantFrom(80, 81, 443, 8080), { minLength: 1 }),
      shift: fc.constantFrom(0, 1000),
      members: fc.uniqueArray(fc.constantFrom(1, 2, 3, 4)),
      sourceRanges: fc.constantFrom([], ['192.0.2.0/24'], ['192.0.2.0/24', '198.51.100.0/24']),
      mayChangeAddress: fc.boolean(),
      healthPort: fc.constantFrom(10256, 32000),
    })
    .map(({ annotations, ports, shift, members, sourceRanges, mayChangeAddress, healthPort }) =>
      desired({
        ...{ annotations, sourceRanges, mayChangeAddress, healthCheck: { port: healthPort, path: '/healthz' } },
        ports: ports.map((number) => port(number, 30_000 + number + shift)),
        members: members.map((number) => member(number)),
      }),
    );

  it('the plan ends, one call a step; members come before others go; the load balancer goes only with consent; and removal leaves what persons made', () =>
    fc.assert(
      fc.asyncProperty(fc.array(wish, { minLength: 1, maxLength: 4 }), async (wishes) => {
        const persons = ['tcp 22 192.0.2.0/24', '-1 * sg-persons'];
        const { ensure, remove, plan, rulesOfNodes, groups } = machine(persons);
        const before = rulesOfNodes();
        let observed: ClassicObserved | undefined;
        for (const wanted of wishes) {
          observed = await ensure(wanted, observed, ({ call }, now) => {
            if (call.does === 'delete load balancer') assert.ok(wanted.mayChangeAddress);
            if (call.does !== 'deregister instances') return;
            const there = new Set(now?.pieces.balancer?.instances);
            for (const { providerID } of wanted.members)
              assert.ok(there.has(idOf(providerID)!), 'all are in before one goes');
          });
          assert.deepEqual(plan(wanted, observed).steps, []);
          if (observed?.pieces.balancer === undefined) continue;
          assert.deepEqual(
            observed.pieces.balancer.instances.toSorted(),
            wanted.members.map(({ providerID }) => idOf(providerID)!).sort(),
          );
        }
        assert.equal(await remove(observed), undefined);
        assert.deepEqual(rulesOfNodes(), before);
        // Where its groups are a person's at the end, what all share stays for the sweep to find.
        assert.deepEqual(
          groups().filter((id) => !['sg-nodes', 'sg-persons'].includes(id)),
          [],
        );
      }),
      { numRuns: 200 },
    ));
});
