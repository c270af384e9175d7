import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { aws } from '../../../../common/provider-id/aws.ts';
import type { DesiredLoadBalancer, Refusal } from '../../load-balancers.ts';
import { clusterTagsOf } from '../cluster-tags.ts';
import { keys } from '../load-balancer-annotations.ts';
import type { NlbObserved } from './observed.ts';
import { type PlanContext, planNlb } from './plan.ts';
import { planNlbRemoval } from './removal.ts';
import type { NlbStep } from './step.ts';
import { desired, member, port } from './testing/example.ts';
import { clusterId, createRecordingCalls, type RecordingCalls } from './testing/recording-calls.ts';

const managed: PlanContext = {
  config: { managedNlbSecurityGroups: true, disableSecurityGroupIngress: false, healthProbe: undefined },
  cluster: clusterTagsOf(clusterId, false),
  accepts: (providerID) => aws.parse(providerID) !== undefined,
};
const plain: PlanContext = { ...managed, config: { ...managed.config, managedNlbSecurityGroups: false } };

interface Driven {
  readonly observed: NlbObserved | undefined;
  readonly steps: readonly NlbStep[];
  readonly refusals: readonly Refusal[];
}

async function drive(
  calls: RecordingCalls,
  start: NlbObserved | undefined,
  planFor: (observed: NlbObserved | undefined) => ReturnType<typeof planNlb>,
): Promise<Driven> {
  let observed = start;
  const steps: NlbStep[] = [];
  for (let round = 0; round < 200; round += 1) {
    const plan = planFor(observed);
    const [step] = plan.steps;
    if (step) {
      steps.push(step);
      observed = await calls.apply(step, observed);
    } else if (plan.waitMs !== undefined) observed = calls.later(observed);
    else return { observed, steps, refusals: plan.refusals };
  }
  assert.fail(`no end: ${steps.slice(-3).map(({ summary }) => summary)}`);
}

const ensure = (calls: RecordingCalls, wish: DesiredLoadBalancer, observed?: NlbObserved, context = managed) =>
  drive(calls, observed, (one) => planNlb(wish, one, context));

const summaries = ({ steps }: Driven) => steps.map(({ action, resource }) => `${action} ${resource}`);

describe('plan of a network load balancer', () => {
  it('makes group, load balancer, target group, targets, listener, and lets it in to the nodes', async () => {
    const calls = createRecordingCalls();
    const made = await ensure(calls, desired());
    assert.deepEqual(summaries(made), [
      'create security group',
      'update security group rules',
      'create security group',
      'create load balancer',
      'create target group',
      'update targets',
      'update security group rules',
      'create listener',
    ]);
    assert.deepEqual(made.refusals, []);
    assert.equal(made.observed?.state, 'active');
    assert.equal(made.observed.members.length, 2);
    const balancer = calls.sent.find(({ operation }) => operation === 'CreateLoadBalancer')?.input;
    assert.deepEqual(
      [balancer?.['Scheme'], balancer?.['Type'], balancer?.['IpAddressType']],
      ['internet-facing', 'network', 'ipv4'],
    );
    const group = calls.sent.find(({ operation }) => operation === 'CreateTargetGroup')?.input;
    assert.deepEqual(
      [group?.['HealthCheckProtocol'], group?.['HealthCheckPort'], group?.['HealthCheckPath']],
      ['HTTP', '10256', '/healthz'],
    );
  });

  it('without groups: the nodes let in clients and health checks', async () => {
    const calls = createRecordingCalls();
    const made = await ensure(calls, desired({ sourceRanges: ['192.0.2.0/24'] }), undefined, plain);
    const rules = calls.sent.find(({ operation }) => operation === 'AuthorizeSecurityGroupIngress')?.input;
    assert.deepEqual(
      ((rules?.['IpPermissions'] ?? []) as { FromPort: number; IpRanges: { CidrIp: string }[] }[]).map(
        ({ FromPort, IpRanges }) => [FromPort, ...IpRanges.map(({ CidrIp }) => CidrIp)],
      ),
      [
        [30080, '192.0.2.0/24'],
        [10256, '10.0.0.0/24', '10.0.1.0/24'],
        [3, '192.0.2.0/24'],
      ],
    );
    assert.ok(!summaries(made).includes('create security group'));
  });

  it('without groups, source ranges are refused where members do not see clients; without ranges, subnets are let in', async () => {
    const annotations = { [keys.targetType]: 'ip' };
    const calls = createRecordingCalls();
    const refused = await ensure(calls, desired({ annotations, sourceRanges: ['192.0.2.0/24'] }), undefined, plain);
    assert.deepEqual([refused.steps.length, refused.refusals.length], [0, 1]);
    assert.match(refused.refusals[0]!.message, /loadBalancerSourceRanges.*NLBSecurityGroupMode/);
    const made = await ensure(calls, desired({ annotations }), undefined, plain);
    assert.deepEqual(made.refusals, []);
    const withGroup = await ensure(createRecordingCalls(), desired({ annotations, sourceRanges: ['192.0.2.0/24'] }));
    assert.deepEqual(withGroup.refusals, []);
  });

  it('a target group that cannot be changed is replaced; the listener turns when the new one has all its targets', async () => {
    const calls = createRecordingCalls();
    const first = await ensure(calls, desired());
    const wish = desired({ ports: [port(80, 31999)] });
    const change = await drive(calls, calls.later(first.observed), (one) => {
      const plan = planNlb(wish, one, managed);
      const fresh = one?.pieces.groups.find((group) => group.port === 31999);
      if (plan.steps[0]?.call.does === 'modify listener') assert.equal(fresh?.targets.length, 2);
      return plan;
    });
    assert.deepEqual(summaries(change), [
      'create target group',
      'update targets',
      'update listener',
      'delete target group',
    ]);
  });

  it('what can be changed is changed in place', async () => {
    const calls = createRecordingCalls();
    const first = await ensure(calls, desired());
    const wish = desired({
      healthCheck: { port: 32000, path: '/healthz' },
      annotations: { [keys.crossZone]: 'true', [keys.targetGroupAttributes]: 'proxy_protocol_v2.enabled=true' },
    });
    assert.deepEqual(summaries(await ensure(calls, wish, first.observed)), [
      'update load balancer',
      'update target group',
      'update target group',
    ]);
  });

  const protocols: readonly (readonly [string, Partial<DesiredLoadBalancer>, readonly string[], RegExp | undefined])[] =
    [
      [
        'TCP and UDP on one port and one node port are one listener',
        { ports: [port(53, 30053), port(53, 30053, { name: 'dns', protocol: 'UDP' })] },
        ['TCP_UDP 53'],
        undefined,
      ],
      [
        'on two node ports only TCP is served',
        { ports: [port(53, 30053), port(53, 30054, { name: 'dns', protocol: 'UDP' })] },
        ['TCP 53'],
        /30053 and 30054/,
      ],
      [
        'on ports of their own they are two',
        { ports: [port(80, 30080), port(53, 30053, { name: 'dns', protocol: 'UDP' })] },
        ['TCP 80', 'UDP 53'],
        undefined,
      ],
      [
        'SCTP is refused',
        { ports: [port(80, 30080), port(90, 30090, { name: 's', protocol: 'SCTP' })] },
        ['TCP 80'],
        /SCTP/,
      ],
      ['a port without a node port is refused', { ports: [port(80, 30080), port(81, 0)] }, ['TCP 80'], /no node port/],
      [
        'TLS ends on the ports that are named',
        {
          ports: [port(80, 30080), port(443, 30443)],
          annotations: {
            [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:123456789012:certificate/1',
            [keys.sslPorts]: '443',
            [keys.sslPolicy]: 'ELBSecurityPolicy-TLS13-1-2-2021-06',
          },
        },
        ['TCP 80', 'TLS 443'],
        undefined,
      ],
      [
        'UDP and IPv6 do not go together',
        { families: ['IPv4', 'IPv6'], ports: [port(80, 30080), port(53, 30053, { name: 'dns', protocol: 'UDP' })] },
        ['TCP 80'],
        /IPv6/,
      ],
    ];
  for (const [what, fields, listeners, refused] of protocols) {
    it(what, async () => {
      const calls = createRecordingCalls();
      const made = await ensure(calls, desired(fields));
      const its = made.observed?.pieces.own?.listeners.map(({ protocol, port: number }) => `${protocol} ${number}`);
      assert.deepEqual(its, listeners);
      assert.equal(made.refusals.length, refused ? 1 : 0);
      if (refused) assert.match(made.refusals[0]!.message, refused);
      if (refused) assert.ok(made.refusals[0]!.ports?.length === 1);
    });
  }

  it('dual stack where the Service has both families', async () => {
    const calls = createRecordingCalls();
    const first = await ensure(calls, desired());
    const both = await ensure(calls, desired({ families: ['IPv4', 'IPv6'] }), first.observed);
    assert.equal(
      calls.sent.find(({ operation }) => operation === 'SetIpAddressType')?.input['IpAddressType'],
      'dualstack',
    );
    assert.equal(both.observed?.id, first.observed?.id);
  });

  it('targets by address', async () => {
    const calls = createRecordingCalls();
    await ensure(calls, desired({ annotations: { [keys.targetType]: 'ip' } }));
    const targets = calls.sent.find(({ operation }) => operation === 'RegisterTargets')?.input['Targets'];
    assert.deepEqual(targets, [{ Id: '10.0.0.1' }, { Id: '10.0.0.2' }]);
  });

  it('Elastic IPs, one for each subnet', async () => {
    const calls = createRecordingCalls();
    const wish = desired({ annotations: { [keys.eipAllocations]: 'eipalloc-1,eipalloc-2' } });
    await ensure(calls, wish);
    assert.deepEqual(calls.sent.find(({ operation }) => operation === 'CreateLoadBalancer')?.input['SubnetMappings'], [
      { SubnetId: 'subnet-a', AllocationId: 'eipalloc-1' },
      { SubnetId: 'subnet-b', AllocationId: 'eipalloc-2' },
    ]);
    const few = desired({ annotations: { [keys.eipAllocations]: 'eipalloc-1' } });
    await assert.rejects(ensure(createRecordingCalls(), few), /eip-allocations: 1 given, expected 2/);
  });

  const addresses: readonly (readonly [string, Record<string, string>])[] = [
    ['another scheme', { [keys.internal]: 'true' }],
    ['other addresses', { [keys.eipAllocations]: 'eipalloc-8,eipalloc-9' }],
    ['a subnet less', { [keys.subnets]: 'subnet-a' }],
  ];
  for (const [what, annotations] of addresses) {
    it(`${what} is refused without consent; with it, nothing of it is left out`, async () => {
      const calls = createRecordingCalls();
      const first = await ensure(calls, desired());
      const refusal = await ensure(calls, desired({ annotations, ports: [port(81, 30081)] }), first.observed);
      assert.deepEqual(
        refusal.refusals.map(({ reason }) => reason),
        ['AddressWouldChange'],
      );
      assert.equal(refusal.observed?.id, first.observed?.id);
      assert.deepEqual(
        refusal.observed?.pieces.own?.listeners.map(({ port: number }) => number),
        [81],
      );
      const given = await ensure(calls, desired({ annotations, mayChangeAddress: true }), refusal.observed);
      assert.deepEqual(given.refusals, []);
      assert.ok(given.steps.length > 0);
    });
  }

  it('a member of another place is refused, and the others serve', async () => {
    const stranger = member(3, { providerID: 'gce://project/zone/vm' });
    const made = await ensure(createRecordingCalls(), desired({ members: [member(1), stranger] }));
    assert.equal(made.observed?.members.length, 1);
    assert.match(made.refusals[0]!.message, /gce/);
  });

  it('one that drains is let go, and one known by its id alone stays and is not added', async () => {
    const calls = createRecordingCalls();
    const first = await ensure(calls, desired());
    const members = [member(1, { draining: true }), member(2, { addresses: [] }), member(3, { addresses: [] })];
    const change = await ensure(calls, desired({ members }), first.observed);
    assert.deepEqual(
      change.observed?.members.map(({ providerID }) => providerID),
      [member(2).providerID],
    );
  });

  it('what is asked for in vain leaves what serves as it is', async () => {
    const calls = createRecordingCalls();
    const first = await ensure(calls, desired({ annotations: { [keys.crossZone]: 'true' } }));
    const wish = desired({ annotations: { [keys.crossZone]: 'perhaps' } });
    const second = await ensure(calls, wish, first.observed);
    assert.deepEqual(summaries(second), []);
    assert.equal(second.refusals.length, 1);
    assert.deepEqual(summaries(await ensure(createRecordingCalls(), wish)), []);
  });

  describe('a value that cannot be read changes nothing that stands', () => {
    const good = {
      ...{ [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:123456789012:certificate/1', [keys.sslPorts]: '443' },
      ...{
        [keys.backendProtocol]: 'ssl',
        [keys.targetType]: 'ip',
        [keys.healthPort]: '9000',
        [keys.healthInterval]: '20',
      },
      ...{
        [keys.healthProtocol]: 'HTTPS',
        [keys.healthyThreshold]: '4',
        [keys.crossZone]: 'true',
        [keys.healthPath]: '/ok',
      },
      ...{ [keys.targetGroupAttributes]: 'proxy_protocol_v2.enabled=true', [keys.additionalTags]: 'a=b' },
      ...{ [keys.subnets]: 'subnet-a,subnet-b', [keys.eipAllocations]: 'eipalloc-1,eipalloc-2' },
      ...{ [keys.accessLogEnabled]: 'true', [keys.accessLogBucket]: 'logs', [keys.securityGroups]: 'sg-1' },
      ...{ [keys.unhealthyThreshold]: '4', [keys.healthTimeout]: '8' },
    };
    const bad: Readonly<Record<string, string>> = {
      ...{
        [keys.sslCertificate]: 'arn:aws:acm:x, arn:aws:acm:y',
        [keys.sslPorts]: '8443',
        [keys.backendProtocol]: 'tls',
      },
      ...{
        [keys.targetType]: 'IP',
        [keys.healthPort]: 'http',
        [keys.healthInterval]: '20s',
        [keys.healthProtocol]: 'x',
      },
      ...{
        [keys.healthyThreshold]: '99',
        [keys.crossZone]: 'on',
        [keys.healthPath]: 'ok',
        [keys.additionalTags]: '=b',
      },
      ...{ [keys.targetGroupAttributes]: 'proxy', [keys.subnets]: 'subnet-a,subnet-a', [keys.eipAllocations]: 'eip-1' },
      ...{ [keys.accessLogEnabled]: 'on', [keys.accessLogBucket]: '', [keys.securityGroups]: 'sg-1,sg_2' },
      ...{ [keys.unhealthyThreshold]: '0', [keys.healthTimeout]: '1' },
    };
    for (const key of Object.keys(good)) {
      it(key, async () => {
        const calls = createRecordingCalls();
        const ports = [port(80, 30080), port(443, 30443)];
        const first = await ensure(calls, desired({ ports, annotations: good }));
        assert.deepEqual(first.refusals, []);
        const typo = desired({ ports, annotations: { ...good, [key]: bad[key]! }, mayChangeAddress: true });
        const plan = planNlb(typo, calls.later(first.observed), managed);
        assert.ok(plan.refusals.length > 0);
        assert.deepEqual(
          plan.steps.map(({ summary }) => summary),
          [],
        );
        const members = [member(1), member(3)];
        const after = await ensure(calls, { ...typo, members }, calls.later(first.observed));
        assert.equal(after.observed?.members.length, 2);
        assert.deepEqual([...new Set(summaries(after))], ['update targets']);
      });
    }
  });

  it('a load balancer without a subject of ours has nothing to remove', async () => {
    const calls = createRecordingCalls();
    const { observed } = await ensure(calls, desired());
    const given = { ...observed!, pieces: { ...observed!.pieces, subject: undefined } };
    assert.deepEqual(planNlbRemoval(given, false).steps, []);
  });
});

describe('any two wishes of one Service', () => {
  const number = fc.integer({ min: 1, max: 4 });
  const wishes = fc
    .record({
      ports: fc.uniqueArray(fc.record({ at: number, node: number, udp: fc.boolean() }), {
        selector: ({ at, udp }) => `${at} ${udp}`,
        minLength: 1,
        maxLength: 4,
      }),
      members: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { maxLength: 5 }),
      sourceRanges: fc.constantFrom([], ['192.0.2.0/24'], ['192.0.2.0/24', '198.51.100.0/25']),
      local: fc.boolean(),
      dual: fc.boolean(),
      targetType: fc.constantFrom('instance', 'ip'),
      crossZone: fc.boolean(),
      proxy: fc.boolean(),
    })
    .map(({ ports, members, sourceRanges, local, dual, targetType, crossZone, proxy }) =>
      desired({
        ports: ports.map(({ at, node, udp }) =>
          port(at, 30000 + node, { name: `p${at}${udp}`, protocol: udp ? 'UDP' : 'TCP' }),
        ),
        members: members.map((one) => member(one)),
        sourceRanges,
        trafficPolicy: local ? 'Local' : 'Cluster',
        healthCheck: local ? { port: 32000, path: '/healthz' } : { port: 10256, path: '/healthz' },
        families: dual ? ['IPv4', 'IPv6'] : ['IPv4'],
        annotations: {
          [keys.targetType]: targetType,
          [keys.crossZone]: String(crossZone),
          [keys.targetGroupAttributes]: `proxy_protocol_v2.enabled=${proxy}`,
        },
      }),
    );

  for (const [what, context] of [
    ['with a security group', managed],
    ['without', plain],
  ] as const) {
    it(`${what}: the change ends, keeps identity and address, and then there is nothing to do; removal leaves nothing`, async () => {
      await fc.assert(
        fc.asyncProperty(wishes, wishes, async (from, to) => {
          const calls = createRecordingCalls();
          const first = await ensure(calls, from, undefined, context);
          const second = await ensure(calls, to, calls.later(first.observed), context);
          const own = first.observed?.pieces.own;
          if (own) assert.equal(second.observed?.id, own.arn);
          assert.deepEqual(planNlb(to, calls.later(second.observed), context).steps, []);
          const removed = await drive(calls, second.observed, (one) =>
            one ? planNlbRemoval(one, false) : { steps: [], refusals: [], waitMs: undefined },
          );
          assert.equal(removed.observed, undefined);
          const made = (kind: string) => calls.sent.filter(({ operation }) => operation === `Create${kind}`).length;
          const gone = (kind: string) => calls.sent.filter(({ operation }) => operation === `Delete${kind}`).length;
          for (const kind of ['LoadBalancer', 'TargetGroup', 'SecurityGroup'])
            assert.equal(gone(kind), made(kind), kind);
        }),
        { numRuns: 150 },
      );
    });
  }

  it('at no time a port that both serve is without a listener that has targets', async () => {
    await fc.assert(
      fc.asyncProperty(wishes, wishes, async (from, to) => {
        fc.pre(from.members.length > 0 && to.members.length > 0);
        const calls = createRecordingCalls();
        const first = await ensure(calls, from);
        const serving = (observed: NlbObserved | undefined) =>
          (observed?.pieces.own?.listeners ?? []).flatMap(({ port: number, group }) =>
            observed?.pieces.groups.some(({ arn, targets }) => arn === group && targets.length > 0) ? [number] : [],
          );
        const before = new Set(serving(calls.later(first.observed)));
        const { observed: last } = await ensure(createRecordingCalls(), to);
        const both = serving(last).filter((number) => before.has(number));
        const start = calls.later(first.observed);
        await drive(calls, start, (one) => {
          const now = serving(one);
          for (const number of both) assert.ok(now.includes(number), `port ${number} is not served`);
          return planNlb(to, one, managed);
        });
      }),
      { numRuns: 100 },
    );
  });
});
