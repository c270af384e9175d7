import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  desired as classic,
  machine,
  managedConfig,
  network,
  plainConfig,
  port,
  subnets,
} from '../../../../test/clouds/aws/fake/machine.ts';
import { group } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { type DesiredLoadBalancer, ownerTags } from '../../load-balancers.ts';
import { toCloudError } from '../errors.ts';
import { keys } from '../load-balancer-annotations.ts';

const managed = () => machine({ config: managedConfig });
const udp = (number: number, nodePort = 30_000 + number) => {
  return { ...port(number, nodePort), name: `u${number}`, protocol: 'UDP' as const };
};
const inputOf = (m: ReturnType<typeof machine>, operation: string) =>
  m.aws.sent.findLast((call) => call.operation === `v2 ${operation}`)?.input;
const reasons = (refusals: readonly { readonly reason: string }[]) => refusals.map(({ reason }) => reason);

describe('a network load balancer', () => {
  it('registers the targets before it creates a listener, and opens the nodes last', async () => {
    const m = managed();
    const { sent, refusals, observed } = await m.ensure(network());
    assert.deepEqual(sent.toSorted(), [
      'AuthorizeSecurityGroupIngress',
      'AuthorizeSecurityGroupIngress',
      'CreateSecurityGroup',
      'CreateSecurityGroup',
      'v2 CreateListener',
      'v2 CreateLoadBalancer',
      'v2 CreateTargetGroup',
      'v2 RegisterTargets',
    ]);
    assert.ok(sent.indexOf('v2 RegisterTargets') < sent.indexOf('v2 CreateListener'));
    assert.equal(sent.at(-1), 'AuthorizeSecurityGroupIngress');
    assert.deepEqual([refusals, observed?.members.length], [[], 2]);
    const balancer = inputOf(m, 'CreateLoadBalancer');
    assert.deepEqual(
      [balancer?.['Scheme'], balancer?.['Type'], balancer?.['IpAddressType']],
      ['internet-facing', 'network', 'ipv4'],
    );
    const made = inputOf(m, 'CreateTargetGroup');
    assert.deepEqual(
      [made?.['HealthCheckProtocol'], made?.['HealthCheckPort'], made?.['HealthCheckPath']],
      ['HTTP', '10256', '/healthz'],
    );
    assert.deepEqual(
      m.rulesOfNodes().map((rule) => rule.split(' ')[0]),
      ['-1'],
    );
  });

  it('costs no mutating call when nothing has changed, after a restart too', async () => {
    for (const config of [managedConfig, plainConfig]) {
      const { ensure, restart, audit } = machine({ config });
      await ensure(network());
      restart();
      await audit();
      assert.deepEqual((await ensure(network())).sent, []);
    }
  });

  it('opens the nodes to clients, health checks and path MTU messages alone, without groups', async () => {
    const m = machine();
    await m.ensure(network({ sourceRanges: ['192.0.2.0/24'] }));
    assert.deepEqual(m.rulesOfNodes(), [
      ...['tcp 30080 192.0.2.0/24', 'icmp 3 192.0.2.0/24', 'tcp 10256 10.0.0.0/24', 'tcp 10256 10.0.1.0/24'].toSorted(
        (a, b) => m.rulesOfNodes().indexOf(a) - m.rulesOfNodes().indexOf(b),
      ),
    ]);
    assert.deepEqual(m.groups(), ['sg-nodes', 'sg-persons']);
    await m.remove(network());
    assert.deepEqual(m.rulesOfNodes(), []);
  });

  it('refuses source ranges without groups where members do not see clients', async () => {
    const annotations = { [keys.targetType]: 'ip' };
    const m = machine();
    const refused = await m.ensure(network({ annotations, sourceRanges: ['192.0.2.0/24'] }));
    assert.deepEqual([refused.sent, refused.refusals.length], [[], 1]);
    assert.match(refused.refusals[0]!.message, /loadBalancerSourceRanges.*NLBSecurityGroupMode/);
    assert.deepEqual((await m.ensure(network({ annotations }))).refusals, []);
    const withGroup = await managed().ensure(network({ annotations, sourceRanges: ['192.0.2.0/24'] }));
    assert.deepEqual(withGroup.refusals, []);
  });

  it('turns a listener to another target group when that has all its targets, and then the old one goes', async () => {
    const m = managed();
    await m.ensure(network());
    m.aws.setHook(({ operation }) => {
      if (operation === 'v2 ModifyListener')
        assert.deepEqual(m.targets(), [
          ['i-1', 'i-2'],
          ['i-1', 'i-2'],
        ]);
      return undefined;
    });
    const { sent } = await m.ensure(network({ ports: [port(80, 31_999)] }));
    assert.deepEqual(sent, ['v2 CreateTargetGroup', 'v2 RegisterTargets', 'v2 ModifyListener', 'v2 DeleteTargetGroup']);
  });

  it('changes attributes, health checks and target group attributes in place', async () => {
    const m = managed();
    await m.ensure(network());
    const annotations = { [keys.crossZone]: 'true', [keys.targetGroupAttributes]: 'proxy_protocol_v2.enabled=true' };
    const { sent } = await m.ensure(network({ healthCheck: { port: 32_000, path: '/healthz' }, annotations }));
    assert.deepEqual(sent.toSorted(), [
      'v2 ModifyLoadBalancerAttributes',
      'v2 ModifyTargetGroup',
      'v2 ModifyTargetGroupAttributes',
    ]);
    assert.deepEqual(
      (await m.ensure(network({ healthCheck: { port: 32_000, path: '/healthz' }, annotations }))).sent,
      [],
    );
  });

  const protocols: readonly (readonly [string, Partial<DesiredLoadBalancer>, readonly string[], RegExp | undefined])[] =
    [
      [
        'serves TCP and UDP of one port and one node port by one listener',
        { ports: [port(53), udp(53)] },
        ['TCP_UDP 53'],
        undefined,
      ],
      [
        'serves TCP alone where UDP has another node port',
        { ports: [port(53), udp(53, 31_053)] },
        ['TCP 53'],
        /30053 and 31053/,
      ],
      [
        'makes two listeners for TCP and UDP on ports of their own',
        { ports: [port(80), udp(53)] },
        ['TCP 80', 'UDP 53'],
        undefined,
      ],
      ['refuses SCTP', { ports: [port(80), { ...udp(90), protocol: 'SCTP' }] }, ['TCP 80'], /SCTP/],
      ['refuses a port without a node port', { ports: [port(80), port(81, 0)] }, ['TCP 80'], /no node port/],
      [
        'ends TLS on the ports that are named',
        {
          ports: [port(80), port(443)],
          annotations: {
            [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:123456789012:certificate/1',
            [keys.sslPorts]: '443',
            [keys.sslPolicy]: 'ELBSecurityPolicy-TLS13-1-2-2021-06',
          },
        },
        ['TCP 80', 'TLS 443'],
        undefined,
      ],
      ['refuses UDP beside IPv6', { families: ['IPv4', 'IPv6'], ports: [port(80), udp(53)] }, ['TCP 80'], /IPv6/],
    ];
  for (const [what, fields, listeners, refused] of protocols) {
    it(what, async () => {
      const m = managed();
      const { refusals } = await m.ensure(network(fields));
      assert.deepEqual(m.listeners(), listeners);
      assert.equal(refusals.length, refused ? 1 : 0);
      if (refused) assert.match(refusals[0]!.message, refused);
      if (refused) assert.equal(refusals[0]!.ports?.length, 1);
      assert.deepEqual((await m.ensure(network(fields))).sent, []);
    });
  }

  it('keeps UDP that stands when TCP joins it on another node port', async () => {
    const m = managed();
    await m.ensure(network({ ports: [udp(53)] }));
    const { sent, refusals } = await m.ensure(network({ ports: [port(53, 31_053), udp(53)] }));
    assert.deepEqual([sent, m.listeners()], [[], ['UDP 53']]);
    assert.deepEqual(refusals[0]?.ports, [{ port: 53, protocol: 'TCP' }]);
  });

  it('lets clients reach a port that stands and cannot be served as it is asked for now', async () => {
    for (const config of [managedConfig, plainConfig]) {
      for (const [before, after] of [
        [network({ ports: [port(80), port(81)] }), network({ ports: [port(80, 0), port(81)] })],
        [network({ ports: [port(80), udp(53)] }), network({ ports: [port(80), udp(53)], families: ['IPv4', 'IPv6'] })],
      ] as const) {
        const m = machine({ config });
        await m.ensure(before);
        const front = [...m.aws.groups.values()].find(({ name }) => name.startsWith('k8s-default-web-'));
        const open = () => [...m.keysOf('sg-nodes'), ...(front ? m.keysOf(front.id) : [])];
        const [first, listeners] = [open(), m.listeners()];
        const { refusals } = await m.ensure(after);
        assert.deepEqual([reasons(refusals), m.listeners()], [['Unsupported'], listeners]);
        for (const rule of first) assert.ok(open().includes(rule), rule);
        assert.deepEqual((await m.ensure(after)).sent, []);
        await m.remove(after);
        assert.deepEqual([m.groups(), m.rulesOfNodes()], [['sg-nodes', 'sg-persons'], []]);
      }
    }
  });

  it('gets back at the next audit the listener and the targets that a person took away', async () => {
    const m = managed();
    await m.ensure(network());
    await m.audit();
    const [listener] = m.aws.region.listeners.keys();
    m.aws.region.listeners.delete(listener!);
    const [targetGroup] = m.aws.region.targetGroups.values();
    targetGroup!.targets.delete('i-1');
    await m.clock.advance(300_000);
    await m.audit();
    const { sent } = await m.ensure(network());
    assert.deepEqual(sent.toSorted(), ['v2 CreateListener', 'v2 RegisterTargets']);
    assert.deepEqual([m.listeners(), m.targets()], [['TCP 80'], [['i-1', 'i-2']]]);
  });

  it('gets back its marks that a person has taken off, on itself and on its parts', async () => {
    const m = managed();
    await m.ensure(network());
    const { region } = m.aws;
    const [balancer, listener, targetGroup] = [region.balancers, region.listeners, region.targetGroups].map(
      (all) => [...all.values()][0]!,
    );
    const front = [...m.aws.groups.values()].find(({ name }) => name.startsWith('k8s-default-web-'))!;
    for (const strip of [
      () => balancer!.tags.clear(),
      () => listener!.tags.clear(),
      () => targetGroup!.tags.clear(),
      () => m.aws.groups.set(front.id, { ...m.aws.groups.get(front.id)!, tags: {} }),
    ]) {
      strip();
      await m.clock.advance(300_000);
      await m.audit();
      const { refusals } = await m.ensure(network());
      assert.deepEqual(refusals, []);
      for (const one of [balancer, listener, targetGroup]) assert.equal(one!.tags.get(ownerTags.service), 'uid-s');
      assert.equal(m.aws.groups.get(front.id)?.tags[ownerTags.service], 'uid-s');
    }
    await m.remove(network());
    assert.deepEqual([m.groups(), region.targetGroups.size], [['sg-nodes', 'sg-persons'], 0]);
  });

  it('gets back its marks where what the Service asks for cannot be served, too', async () => {
    for (const asked of [network(), classic()]) {
      const m = managed();
      await m.ensure(asked);
      if (m.balancer()) m.aws.balancers.set(m.balancer()!.description.LoadBalancerName, { ...m.balancer()!, tags: {} });
      m.networkBalancer()?.tags.clear();
      await m.clock.advance(300_000);
      await m.audit();
      const { refusals } = await m.ensure({ ...asked, annotations: { [keys.type]: 'external' } });
      assert.deepEqual(reasons(refusals), ['Unsupported']);
      const service = m.networkBalancer()?.tags.get(ownerTags.service) ?? m.balancer()?.tags[ownerTags.service];
      assert.equal(service, 'uid-s');
      assert.deepEqual((await m.ensure(asked)).refusals, []);
      await m.remove(asked);
      assert.deepEqual(m.groups(), ['sg-nodes', 'sg-persons']);
    }
  });

  it('sets the address type to dualstack in place where the Service has both families', async () => {
    const m = managed();
    const first = await m.ensure(network());
    const both = await m.ensure(network({ families: ['IPv4', 'IPv6'] }));
    assert.equal(inputOf(m, 'SetIpAddressType')?.['IpAddressType'], 'dualstack');
    assert.equal(both.observed?.id, first.observed?.id);
  });

  it('stands on Elastic IPs, one for each subnet', async () => {
    const m = managed();
    await m.ensure(network({ annotations: { [keys.eipAllocations]: 'eipalloc-1,eipalloc-2' } }));
    assert.deepEqual(inputOf(m, 'CreateLoadBalancer')?.['SubnetMappings'], [
      { SubnetId: 'subnet-a', AllocationId: 'eipalloc-1' },
      { SubnetId: 'subnet-b', AllocationId: 'eipalloc-2' },
    ]);
    const few = network({ annotations: { [keys.eipAllocations]: 'eipalloc-1' } });
    await assert.rejects(managed().ensure(few), /eip-allocations: 1 given, expected 2/);
  });

  const addresses: readonly (readonly [string, Record<string, string>])[] = [
    ['another scheme', { [keys.internal]: 'true' }],
    ['other addresses', { [keys.eipAllocations]: 'eipalloc-8,eipalloc-9' }],
    ['a subnet less', { [keys.subnets]: 'subnet-a' }],
  ];
  for (const [what, annotations] of addresses) {
    it(`refuses ${what} without consent while the rest is done, and makes it so with consent`, async () => {
      const m = managed();
      const first = await m.ensure(network());
      const refusal = await m.ensure(network({ annotations, ports: [port(81)] }));
      assert.deepEqual(reasons(refusal.refusals), ['AddressWouldChange']);
      assert.equal(refusal.observed?.id, first.observed?.id);
      assert.deepEqual(m.listeners(), ['TCP 81']);
      const given = await m.ensure(network({ annotations, mayChangeAddress: true }));
      assert.deepEqual(given.refusals, []);
      assert.ok(given.sent.length > 0);
      assert.deepEqual(m.listeners(), ['TCP 80']);
      assert.deepEqual((await m.ensure(network({ annotations, mayChangeAddress: true }))).sent, []);
    });
  }

  it('checks health as often as the annotation says, also below the default timeout of AWS', async () => {
    for (const protocol of ['HTTP', 'TCP']) {
      const m = managed();
      await m.ensure(network({ annotations: { [keys.healthInterval]: '5', [keys.healthProtocol]: protocol } }));
      const { HealthCheckIntervalSeconds, HealthCheckTimeoutSeconds } = inputOf(m, 'CreateTargetGroup') ?? {};
      assert.deepEqual([HealthCheckIntervalSeconds, HealthCheckTimeoutSeconds], [5, 5]);
    }
  });

  describe('that changes its subnets with consent', () => {
    const more = ['a', 'b'].map((letter) => ({
      ...subnets.find(({ id }) => id.endsWith(letter))!,
      id: `subnet-${letter}2`,
    }));
    const within = (letters: readonly string[], other: Record<string, string> = {}) =>
      network({
        annotations: { [keys.subnets]: letters.map((letter) => `subnet-${letter}`).join(), ...other },
        mayChangeAddress: true,
      });
    for (const [before, after, sets] of [
      [
        ['a', 'b'],
        ['a2', 'b'],
        [['b'], ['a2', 'b']],
      ],
      [
        ['a', 'b'],
        ['a2', 'b2'],
        [['b'], ['a2', 'b'], ['a2'], ['a2', 'b2']],
      ],
      [['a'], ['a2', 'b'], [['b', 'a'], ['b'], ['a2', 'b']]],
      [['a'], ['b'], [['b']]],
    ] as const)
      it(`sets no two subnets of one zone at any step: ${before} to ${after}`, async () => {
        const m = machine({ config: managedConfig, subnets: [...subnets, ...more] });
        await m.ensure(within(before));
        const arn = m.networkBalancer()!.arn;
        m.aws.sent.length = 0;
        await m.ensure(within(after));
        const asked = m.aws.sent
          .filter(({ operation }) => operation === 'v2 SetSubnets')
          .map(({ input }) =>
            (input['SubnetMappings'] as { SubnetId: string }[]).map(({ SubnetId }) => SubnetId.slice(7)),
          );
        assert.deepEqual([asked, m.networkBalancer()!.arn], [sets, arn]);
      });

    it('refuses other subnets where the only zone or a named address would have none meanwhile', async () => {
      for (const other of [{}, { [keys.eipAllocations]: 'eipalloc-1' }]) {
        const m = machine({ config: managedConfig, subnets: [...subnets, ...more] });
        await m.ensure(within(['a'], other));
        await assert.rejects(
          m.ensure(within(['a2'], other)),
          /subnet-a2 is in the zone of subnet-a, which has to go before/,
        );
        assert.deepEqual(
          m.networkBalancer()!.places.map(({ SubnetId }) => SubnetId),
          ['subnet-a'],
        );
      }
    });
  });

  it('keeps what serves where a value cannot be read, and makes nothing of it', async () => {
    const m = managed();
    await m.ensure(network({ annotations: { [keys.crossZone]: 'true' } }));
    const unclear = network({ annotations: { [keys.crossZone]: 'perhaps' } });
    const { sent, refusals } = await m.ensure(unclear);
    assert.deepEqual([sent, refusals.length], [[], 1]);
    assert.deepEqual((await managed().ensure(unclear)).sent, []);
  });

  it('gives up its own group when the Service brings another, and the group goes', async () => {
    const m = machine({ config: managedConfig, more: [group('sg-allowed')] });
    await m.ensure(network());
    await m.ensure(network({ annotations: { [keys.securityGroups]: 'sg-allowed' } }));
    assert.deepEqual(m.groups(), ['sg-allowed', 'sg-nodes', 'sg-persons']);
    assert.ok(
      m.rulesOfNodes().every((rule) => rule.endsWith('sg-allowed')),
      m.rulesOfNodes().join(),
    );
    await m.remove(network());
    assert.deepEqual(m.rulesOfNodes(), []);
  });

  it('loses our tags where it is retained, and keeps its groups and rules', async () => {
    const m = managed();
    await m.ensure(network({ retain: true }));
    const [groups, rules] = [m.groups(), m.rulesOfNodes()];
    await m.remove(network({ retain: true }));
    assert.equal(m.networkBalancer()?.tags.get(ownerTags.service), undefined);
    assert.equal(m.networkBalancer()?.tags.get(ownerTags.retained), 'default/web');
    assert.deepEqual([m.groups(), m.rulesOfNodes(), m.listeners()], [groups, rules, ['TCP 80']]);
    const { refusals, sent } = await m.ensure(network());
    assert.deepEqual([new Set(reasons(refusals)), sent], [new Set(['ForeignLoadBalancer']), []]);
  });

  it('says so where a listener of others keeps its target group, and asks less and less often', async () => {
    const m = managed();
    await m.ensure(network());
    let tries = 0;
    m.aws.setHook(({ operation }) => {
      if (operation !== 'v2 DeleteTargetGroup') return undefined;
      tries += 1;
      throw toCloudError(Object.assign(new Error('it is used by a listener'), { name: 'ResourceInUse' }), operation);
    });
    const errors: unknown[] = [];
    for (let minute = 0; minute < 10; minute += 1) {
      const plan = m.balancers.planRemoval(network().owner, { retain: false });
      if (plan.steps[0]) {
        const work = m.balancers.apply(plan, { permit: () => {} });
        await m.during(work.catch((error: unknown) => errors.push(error)));
      }
      await m.clock.advance(60_000);
    }
    assert.match(String(errors.at(-1)), /DeleteTargetGroup.*used by a listener/);
    assert.ok(tries < 20, `${tries}`);
  });

  it('sends nothing without a permit', async () => {
    const m = managed();
    await assert.rejects(
      m.ensure(network(), () => {
        throw toCloudError(new Error('no'), 'a call');
      }),
    );
    assert.deepEqual(m.aws.sent, []);
  });

  it('replaces a load balancer that AWS could not make, without consent', async () => {
    const m = managed();
    const { observed } = await m.ensure(network());
    const read = m.aws.network.read;
    Object.assign(m.aws.network, {
      async read(...given: Parameters<typeof read>) {
        const answer = (await read(...given)) as { LoadBalancers?: { LoadBalancerArn: string; State: unknown }[] };
        for (const one of answer.LoadBalancers ?? [])
          if (one.LoadBalancerArn === observed?.id) one.State = { Code: 'failed' };
        return answer;
      },
    });
    m.restart();
    const again = await m.ensure(network());
    assert.ok(again.sent.includes('v2 DeleteLoadBalancer'));
    assert.notEqual(again.observed?.id, observed?.id);
    assert.deepEqual(m.listeners(), ['TCP 80']);
  });
});
