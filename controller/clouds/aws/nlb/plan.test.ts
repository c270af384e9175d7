import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { drive, ensure, managed, plain, summaries } from '../../../../test/clouds/aws/fake/nlb/driven.ts';
import { desired, member, port } from '../../../../test/clouds/aws/fake/nlb/example.ts';
import { createRecordingCalls } from '../../../../test/clouds/aws/fake/nlb/recording-calls.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';
import { planNlb } from './plan.ts';
import { planNlbRemoval } from './removal.ts';

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

  it('a load balancer without a subject of ours has nothing to remove', async () => {
    const calls = createRecordingCalls();
    const { observed } = await ensure(calls, desired());
    const given = { ...observed!, pieces: { ...observed!.pieces, subject: undefined } };
    assert.deepEqual(planNlbRemoval(given, false).steps, []);
  });
});
