import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desired, machine, member, plainConfig, port, subnets } from '../../../../test/clouds/aws/fake/machine.ts';
import { clusterTag, group } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { ownerTags } from '../../load-balancers.ts';
import { WithheldError } from '../../permit.ts';
import { toCloudError } from '../errors.ts';
import { keys } from '../load-balancer-annotations.ts';

const instancesOf = (found: ReturnType<ReturnType<typeof machine>['balancer']>) =>
  ((found?.description['Instances'] ?? []) as { InstanceId: string }[]).map(({ InstanceId }) => InstanceId).sort();
const inGroup = (id: string) => ({ zone: 'eu-west-1a', groups: [id], tags: clusterTag });
const fault = (Code: string) =>
  toCloudError(Object.assign(new Error(Code), { Code, $metadata: { httpStatusCode: 403 } }), 'a call');
const withhold = () => {
  throw new WithheldError('Fenced', 'this replica does not lead');
};

describe('a classic load balancer', () => {
  it('creates the groups before the load balancer, and lets it in to the nodes last', async () => {
    const { ensure } = machine();
    const { sent } = await ensure(desired());
    assert.deepEqual(sent.toSorted(), [
      'AuthorizeSecurityGroupIngress',
      'AuthorizeSecurityGroupIngress',
      'ConfigureHealthCheck',
      'CreateLoadBalancer',
      'CreateSecurityGroup',
      'CreateSecurityGroup',
      'RegisterInstancesWithLoadBalancer',
    ]);
    assert.deepEqual(sent.slice(-4), [
      'CreateLoadBalancer',
      'ConfigureHealthCheck',
      'RegisterInstancesWithLoadBalancer',
      'AuthorizeSecurityGroupIngress',
    ]);
  });

  it('plans every step before anything exists', async () => {
    const steps = await machine().plan(desired());
    assert.deepEqual(steps.map(({ action, resource }) => `${action} ${resource}`).toSorted(), [
      'create load balancer',
      'create security group',
      'create traffic group',
      'update load balancer',
      'update load balancer',
      'update security group',
    ]);
  });

  it('costs no mutating call when nothing has changed, after a restart too', async () => {
    const { ensure, restart, audit } = machine();
    await ensure(desired());
    restart();
    await audit();
    assert.deepEqual((await ensure(desired())).sent, []);
  });

  it('adds a member before it removes one', async () => {
    const { ensure } = machine();
    await ensure(desired());
    const { sent } = await ensure(desired({ members: [member(2), member(3)] }));
    assert.deepEqual(sent, ['RegisterInstancesWithLoadBalancer', 'DeregisterInstancesFromLoadBalancer']);
  });

  it('neither adds nor removes a member that is known by its id alone', async () => {
    const { ensure } = machine();
    await ensure(desired({ members: [member(1)] }));
    const members = [member(1, { addresses: [], node: '' }), member(9, { addresses: [], node: '' })];
    assert.deepEqual((await ensure(desired({ members }))).sent, []);
  });

  it('names a member of another place, and goes on without it', async () => {
    const { ensure, balancer } = machine();
    const members = [member(1), member(2, { providerID: 'gce://p/z/n' })];
    const { refusals } = await ensure(desired({ members }));
    assert.match(refusals[0]?.message ?? '', /member n2: providerID "gce:\/\/p\/z\/n" is of another place/);
    assert.deepEqual(instancesOf(balancer()), ['i-1']);
  });

  it('ignores a member that left by itself while it was deregistered', async () => {
    const { ensure, aws } = machine();
    await ensure(desired());
    aws.setHook(({ operation }) => {
      if (operation !== 'DeregisterInstancesFromLoadBalancer') return undefined;
      const one = aws.balancers.get(desired().name)!;
      aws.balancers.set(desired().name, {
        ...one,
        description: { ...one.description, Instances: [{ InstanceId: 'i-1' }] },
      });
      throw Object.assign(new Error('Could not find EC2 instance i-2.'), {
        Code: 'InvalidInstance',
        $metadata: { httpStatusCode: 400 },
      });
    });
    const { observed } = await ensure(desired({ members: [member(1)] }));
    assert.deepEqual(
      observed?.members.map(({ providerID }) => providerID),
      [member(1).providerID],
    );
  });

  it('gets a new port before others change and go', async () => {
    const { ensure } = machine();
    await ensure(desired({ ports: [port(80), port(81), port(82)] }));
    const { sent } = await ensure(desired({ ports: [port(80), port(81, 30_999), port(443)] }));
    assert.deepEqual(
      sent.filter((operation) => operation.includes('Listener')),
      [
        'CreateLoadBalancerListeners',
        'DeleteLoadBalancerListeners',
        'CreateLoadBalancerListeners',
        'DeleteLoadBalancerListeners',
      ],
    );
  });

  it('gets back at the next audit the port, the member and the rule that a person removed', async () => {
    const { ensure, aws, audit, balancer, ingressOf, balancers, during, clock } = machine();
    const wanted = desired({ ports: [port(80), port(443)] });
    await ensure(wanted);
    await clock.advance(300_000);
    const one = balancer()!;
    const [first] = one.description['ListenerDescriptions'] as unknown[];
    const description = { ...one.description, ListenerDescriptions: [first], Instances: [] };
    aws.balancers.set(wanted.name, { ...one, description });
    const front = [...aws.groups.values()].find(({ name }) => name === `k8s-elb-${wanted.name}`)!;
    aws.groups.set(front.id, { ...front, ingress: [] });
    await audit();
    const plan = balancers.plan(wanted);
    assert.ok(plan.steps.length > 0);
    await during(balancers.apply(plan, { permit: () => {} }));
    assert.equal((balancer()!.description['ListenerDescriptions'] as unknown[]).length, 2);
    assert.deepEqual(instancesOf(balancer()), ['i-1', 'i-2']);
    assert.equal(ingressOf(front.id).length, front.ingress.length);
    assert.deepEqual((await ensure(wanted)).sent, []);
  });

  it('sends nothing when a UDP port joins, which a classic load balancer cannot serve', async () => {
    const { ensure } = machine();
    await ensure(desired({ ports: [port(53)] }));
    const udp = { ...port(53, 30_153), name: 'udp', protocol: 'UDP' as const };
    const { sent, refusals } = await ensure(desired({ ports: [port(53), udp] }));
    assert.deepEqual([sent, refusals.map(({ ports }) => ports)], [[], [[{ port: 53, protocol: 'UDP' }]]]);
  });

  it("keeps a person's settings where the Service says nothing", async () => {
    const { ensure, aws, balancer, restart } = machine();
    await ensure(desired());
    const attributes = {
      ConnectionDraining: { Enabled: false, Timeout: 300 },
      AccessLog: { Enabled: false, EmitInterval: 60 },
      ConnectionSettings: { IdleTimeout: 60 },
      CrossZoneLoadBalancing: { Enabled: false },
    };
    aws.balancers.set(desired().name, { ...balancer()!, attributes });
    restart();
    assert.deepEqual((await ensure(desired())).sent, []);
  });

  it("gets its attributes back after a person's change", async () => {
    const { ensure, aws, balancer, restart } = machine();
    await ensure(desired());
    const attributes = { ConnectionSettings: { IdleTimeout: 5 } };
    aws.balancers.set(desired().name, { ...balancer()!, attributes });
    restart();
    assert.deepEqual((await ensure(desired())).sent, ['ModifyLoadBalancerAttributes']);
  });

  it('refuses a foreign load balancer of its name, and creates no group', async () => {
    const { ensure, aws, balancer, remove } = machine();
    await ensure(desired());
    const made = balancer()!;
    await remove(desired());
    aws.balancers.set(desired().name, { ...made, tags: {} });
    const { sent, refusals } = await ensure(desired());
    assert.deepEqual([sent, refusals.map(({ reason }) => reason)], [[], ['ForeignLoadBalancer']]);
  });

  it('admits a shared group of the cloud config to the ports of the Service alone', async () => {
    const config = { ...plainConfig, elbSecurityGroup: 'sg-persons' };
    const { ensure, groups, rulesOfNodes, remove } = machine({ persons: ['tcp 22 192.0.2.0/24'], config });
    await ensure(desired());
    assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
    assert.deepEqual(rulesOfNodes().toSorted(), [
      'icmp 3 sg-persons',
      'tcp 10256 sg-persons',
      'tcp 22 192.0.2.0/24',
      'tcp 30080 sg-persons',
    ]);
    assert.equal((await remove(desired())).observed, undefined);
    assert.deepEqual(rulesOfNodes(), ['tcp 22 192.0.2.0/24']);
  });

  it('leaves the groups of the nodes to persons with DisableSecurityGroupIngress', async () => {
    const { ensure, rulesOfNodes, groups } = machine({ config: { ...plainConfig, disableSecurityGroupIngress: true } });
    await ensure(desired());
    assert.deepEqual(rulesOfNodes(), []);
    assert.equal(groups().length, 3);
  });

  it('loses our tags where it is retained, and keeps its groups and rules', async () => {
    const { ensure, remove, groups, balancer, rulesOfNodes, aws } = machine();
    await ensure(desired());
    const [before, rules] = [groups(), rulesOfNodes()];
    const { sent } = await remove(desired({ retain: true }));
    assert.deepEqual(sent.toSorted(), ['AddTags', 'CreateTags', 'DeleteTags', 'RemoveTags']);
    assert.deepEqual([groups(), rulesOfNodes()], [before, rules]);
    const tags = [balancer()!.tags, [...aws.groups.values()].find(({ name }) => name.startsWith('k8s-elb-'))!.tags];
    for (const left of tags)
      assert.deepEqual([left[ownerTags.service], left[ownerTags.retained]], [undefined, 'default/web']);
    assert.deepEqual((await remove(desired({ retain: true }))).sent, []);
  });

  it('refuses an invalid subnet, and keeps the subnets that the load balancer has', async () => {
    const nowhere = desired({ annotations: { [keys.subnets]: 'subnet-nowhere' } });
    const problem = { kind: 'Invalid', message: /"subnet-nowhere" is no subnet of the VPC/ };
    await assert.rejects(machine().ensure(nowhere), problem);
    const other = machine();
    await other.ensure(desired());
    const { sent, refusals } = await other.ensure(nowhere);
    assert.deepEqual(sent, []);
    assert.match(refusals[0]?.message ?? '', /subnets: "subnet-nowhere"/);
  });

  describe('that changes its subnets', () => {
    const inA2 = { ...subnets[0]!, id: 'subnet-a2' };
    const inB2 = { ...subnets[1]!, id: 'subnet-b2' };
    const within = (...ids: string[]) => desired({ annotations: { [keys.subnets]: ids.join(', ') } });
    for (const [before, after, operations] of [
      [
        ['a', 'b'],
        ['a2', 'b'],
        ['Detach', 'Attach'],
      ],
      [
        ['a', 'b'],
        ['a2', 'b2'],
        ['Detach', 'Attach', 'Detach', 'Attach'],
      ],
      [['a'], ['a2', 'b'], ['Attach', 'Detach', 'Attach']],
      [['a', 'b'], ['a2'], ['Detach', 'Attach', 'Detach']],
      [['a'], ['b'], ['Attach', 'Detach']],
    ] as const) {
      it(`keeps at least one subnet and no two of one zone at each step: ${before} to ${after}`, async () => {
        const { ensure, balancer } = machine({ subnets: [...subnets, inA2, inB2] });
        const ids = (letters: readonly string[]) => letters.map((letter) => `subnet-${letter}`);
        await ensure(within(...ids(before)));
        const { sent } = await ensure(within(...ids(after)));
        assert.deepEqual(
          sent.map((operation) => operation.replace(/LoadBalancer(To|From)Subnets/, '')),
          operations,
        );
        assert.deepEqual([...(balancer()!.description['Subnets'] as string[])].sort(), ids(after));
      });
    }

    it('gets them with another scheme when it is made, and is not moved afterwards', async () => {
      const { ensure, balancer } = machine({ subnets: [...subnets, inA2] });
      await ensure(within('subnet-a'));
      const asked = desired({
        annotations: { [keys.subnets]: 'subnet-a2', [keys.internal]: 'true' },
        mayChangeAddress: true,
      });
      const { sent, refusals } = await ensure(asked);
      assert.deepEqual(
        [sent.filter((operation) => /Subnets$/.test(operation)), refusals, balancer()!.description['Subnets']],
        [[], [], ['subnet-a2']],
      );
    });

    it('keeps the only subnet where the other one is in the same zone', async () => {
      const { ensure } = machine({ subnets: [...subnets, inA2] });
      await ensure(within('subnet-a'));
      const { sent, refusals } = await ensure(within('subnet-a2'));
      assert.deepEqual(sent, []);
      assert.deepEqual(
        refusals.map(({ message }) => message),
        [
          'subnets: subnet-a2 is in eu-west-1a as subnet-a is, the only subnet of the load balancer, and AWS neither ' +
            'attaches a second one of a zone nor detaches the last: add one of another zone first',
        ],
      );
    });
  });

  it('loses members and ports while a policy of it is refused', async () => {
    const { ensure, balancer, aws } = machine();
    const tls = { [keys.sslCertificate]: 'arn:aws:acm:eu-west-1:1:certificate/a', [keys.sslPorts]: '443' };
    await ensure(desired({ annotations: tls, ports: [port(80), port(443)] }));
    aws.setHook(({ operation }) => {
      if (operation === 'CreateLoadBalancerPolicy') throw fault('PolicyTypeNotFound');
      return undefined;
    });
    const annotations = { ...tls, [keys.sslPolicy]: 'no-such-policy' };
    await ensure(desired({ annotations, ports: [port(443)], members: [member(1)] })).catch(() => {});
    assert.deepEqual(instancesOf(balancer()), ['i-1']);
    const left = balancer()!.description['ListenerDescriptions'] as readonly {
      Listener: { LoadBalancerPort: number };
    }[];
    assert.deepEqual(
      left.map(({ Listener }) => Listener.LoadBalancerPort),
      [443],
    );
  });

  it('makes a group of its own, and deletes one that a load balancer of the other type has left', async () => {
    const { service, cluster } = desired().owner;
    const tags = { [ownerTags.cluster]: cluster, [ownerTags.service]: service };
    const left = group('sg-left', { name: 'k8s-default-web-0123456789', tags });
    const { ensure, remove, groups } = machine({ more: [left] });
    await ensure(desired());
    assert.equal(groups().length, 4);
    assert.ok(!groups().includes(left.id));
    await remove(desired());
    assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
  });

  it('tags the load balancer with its owner, the cluster and the additional tags of the Service', async () => {
    const { ensure, balancer } = machine();
    await ensure(desired({ annotations: { [keys.additionalTags]: 'team=x' } }));
    const { tags } = balancer()!;
    assert.equal(tags[ownerTags.service], 'uid-s');
    assert.equal(tags['kubernetes.io/service-name'], 'default/web');
    assert.deepEqual([tags['kubernetes.io/cluster/c1'], tags['team']], ['owned', 'x']);
  });

  it("gets back the cluster's tags that a person removed, and its group those of its owner", async () => {
    const { ensure, aws, balancer, restart } = machine();
    await ensure(desired());
    const { 'kubernetes.io/cluster/c1': _, ...tags } = balancer()!.tags;
    aws.balancers.set(desired().name, { ...balancer()!, tags });
    const front = [...aws.groups.values()].find(({ name }) => name.startsWith('k8s-elb-'))!;
    aws.groups.set(front.id, { ...front, tags: {} });
    restart();
    const { sent, refusals } = await ensure(desired({ members: [member(1), member(2), member(3)] }));
    assert.deepEqual(sent.toSorted(), ['AddTags', 'CreateTags', 'RegisterInstancesWithLoadBalancer']);
    assert.deepEqual(refusals, []);
    assert.equal(balancer()!.tags['kubernetes.io/cluster/c1'], 'owned');
  });

  it('drops its own group when the Service names another, and the group is deleted', async () => {
    const { ensure, groups, rulesOfNodes } = machine();
    await ensure(desired());
    await ensure(desired({ annotations: { [keys.securityGroups]: 'sg-persons' } }));
    assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
    assert.ok(
      rulesOfNodes().every((rule) => rule.endsWith('sg-persons')),
      rulesOfNodes().join(),
    );
  });

  it('keeps the rules of its current groups when the change to others fails', async () => {
    const naming = (id: string) => desired({ annotations: { [keys.securityGroups]: id } });
    const { ensure, aws, rulesOfNodes } = machine({ more: [group('sg-allowed')] });
    await ensure(naming('sg-persons'));
    aws.setHook(({ operation }) => {
      if (operation === 'ApplySecurityGroupsToLoadBalancer') throw fault('AccessDenied');
      return undefined;
    });
    await assert.rejects(ensure(naming('sg-allowed')));
    assert.ok(rulesOfNodes().includes('tcp 30080 sg-persons'), rulesOfNodes().join());
  });

  it("keeps its rules on groups of nodes while a member's group is unknown", async () => {
    const gone = new Set<string>();
    const instance = (id: string) => (gone.has(id) ? undefined : inGroup('sg-nodes'));
    const wanted = desired({ annotations: { [keys.securityGroups]: 'sg-persons' } });
    const { ensure, rulesOfNodes, restart } = machine({ instance });
    await ensure(wanted);
    const rules = rulesOfNodes();
    for (const id of ['i-1', 'i-2']) gone.add(id);
    restart();
    const kept = desired({ ...wanted, members: wanted.members.map((one) => ({ ...one, addresses: [] })) });
    assert.deepEqual((await ensure(kept)).sent, []);
    assert.deepEqual(rulesOfNodes(), rules);
  });

  for (const [title, joining, left] of [
    ['keeps no removed member because a new one cannot join', [2, 3], ['i-2']],
    ['keeps all members while those that replace them cannot join', [3, 4], ['i-1', 'i-2']],
  ] as const)
    it(title, async () => {
      const { ensure, aws, balancer } = machine();
      await ensure(desired());
      aws.setHook(({ operation }) => {
        if (operation === 'RegisterInstancesWithLoadBalancer') throw fault('AccessDenied');
        return undefined;
      });
      await assert.rejects(ensure(desired({ members: joining.map((number) => member(number)) })));
      assert.deepEqual(instancesOf(balancer()), left);
    });

  it('waits for a group that AWS still holds in use, and then deletes it', async () => {
    const { ensure, remove, groups, aws } = machine();
    await ensure(desired());
    aws.busy.set(`k8s-elb-${desired().name}`, 4);
    const { sent } = await remove(desired());
    assert.equal(sent.filter((one) => one === 'DeleteSecurityGroup').length, 6);
    assert.deepEqual(groups(), ['sg-nodes', 'sg-persons']);
  });

  it('sends nothing without a permit', async () => {
    const { ensure, aws } = machine();
    await assert.rejects(ensure(desired(), withhold), { name: 'WithheldError' });
    assert.deepEqual(aws.sent, []);
  });

  it('replaces the load balancer for another scheme with consent alone', async () => {
    const { ensure, balancer } = machine();
    await ensure(desired());
    const internal = desired({ annotations: { [keys.internal]: 'true' }, members: [member(3)] });
    const kept = await ensure(internal);
    assert.deepEqual(
      kept.refusals.map(({ reason }) => reason),
      ['AddressWouldChange'],
    );
    assert.deepEqual(instancesOf(balancer()), ['i-3']);
    await ensure({ ...internal, mayChangeAddress: true });
    assert.equal(balancer()?.description['Scheme'], 'internal');
  });
});
