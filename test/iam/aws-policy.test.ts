import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { ModifyInstanceAttributeCommand, ModifyNetworkInterfaceAttributeCommand } from '@aws-sdk/client-ec2';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { iamActions } from '../../controller/clouds/aws/iam-actions.ts';
import { iamProof } from '../../controller/clouds/aws/iam-proofs.ts';
import { cloudModule } from '../../controller/clouds/aws/index.ts';
import { keys } from '../../controller/clouds/aws/load-balancer-annotations.ts';
import type { OpenedCloud } from '../../controller/clouds/cloud.ts';
import { answerError, running, startFakeEc2 } from '../clouds/aws/fake/fake-ec2.ts';
import * as classic from '../clouds/aws/fake/machine.ts';
import { group } from '../clouds/aws/fake/network-facts.ts';
import { type AwsCall, noteTags, requestsOf, type TagLedger } from './aws-requests.ts';
import { type AccessRequest, allows, type Policy } from './policy.ts';

const shipped = await readFile(new URL('../../deploy/examples/aws/iam-policy.json', import.meta.url), 'utf8');
const policyOf = (cluster: string): Policy => JSON.parse(shipped.replaceAll('my-cluster', cluster)) as Policy;
const policy = policyOf('my-cluster');
const tag = (cluster: string, value = 'owned') => ({ [`kubernetes.io/cluster/${cluster}`]: value });

const serviceOf = (operation: string): AwsCall['service'] =>
  /^(Create|Delete)SecurityGroup$|SecurityGroupIngress$|^(Create|Delete)Tags$/.test(operation)
    ? 'ec2'
    : 'elasticloadbalancing';

/** Every action that some call of the suite needs. */
const needed = new Set<string>();

function holdCalls(calls: readonly AwsCall[], outputs: readonly unknown[], cluster: string, ledger: TagLedger): void {
  assert.ok(calls.length > 0);
  for (const [at, call] of calls.entries()) {
    for (const request of requestsOf(call, ledger)) {
      assert.ok(allows(policyOf(cluster), request), `denied: ${call.operation} ${JSON.stringify(request)}`);
      needed.add(request.action);
    }
    noteTags(call, outputs[at], ledger);
  }
}

async function open(url: string): Promise<OpenedCloud> {
  const cloud = await cloudModule.open(
    { path: 'aws.conf', text: '[Global]\nRegion = eu-west-1\nKubernetesClusterID = one' },
    {
      clock: systemClock(),
      random: () => 0.5,
      log: silentLog,
      onCall: () => {},
      env: {
        AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_ENDPOINT_URL: url,
        AWS_EC2_METADATA_DISABLED: 'true',
      },
    },
  );
  assert.ok('instances' in cloud);
  return cloud;
}

/** A network load balancer through its life: the calls that were sent. */
async function networkLife(config: typeof classic.plainConfig) {
  const { network, port, member } = classic;
  const m = classic.machine({ config, more: [group('sg-allowed')] });
  const certificate = 'arn:aws:acm:eu-west-1:123456789012:certificate/1';
  for (const asked of [
    network({ ports: [port(80), port(81)], annotations: { [keys.subnets]: 'subnet-a' } }),
    network({ annotations: { [keys.subnets]: 'subnet-a,subnet-b' } }),
    network({
      members: [member(2), member(3)],
      annotations: {
        [keys.crossZone]: 'true',
        [keys.targetGroupAttributes]: 'proxy_protocol_v2.enabled=true',
        [keys.sslCertificate]: certificate,
        [keys.healthyThreshold]: '4',
        [keys.additionalTags]: 'a=b',
      },
    }),
    network({ families: ['IPv4', 'IPv6'], annotations: { [keys.subnets]: 'subnet-a' } }),
    network({ annotations: config === classic.managedConfig ? { [keys.securityGroups]: 'sg-allowed' } : {} }),
    network({ ports: [port(443, 31_443)] }),
  ])
    await m.ensure(asked);
  // Another Service uses it, too, and goes.
  const id = m.networkBalancer()!.arn;
  m.networkBalancer()!.tags.set('mooring.dev/attachable-by', 'uid-c/default');
  const attach = { id, allowed: false };
  const guest = classic.desiredOf('u2', { attach, ports: [port(8443)], annotations: { [keys.type]: 'nlb' } });
  await m.ensure(guest);
  await m.remove(guest);
  await m.remove(network());
  await m.ensure(network());
  await m.remove(network({ retain: true }));
  return m.aws.sent;
}

describe('the IAM policy that is shipped', () => {
  for (const [what, config] of [
    ['with security groups', classic.managedConfig],
    ['without security groups', classic.plainConfig],
  ] as const) {
    it(`allows every call of a network load balancer ${what}, through its life`, async () => {
      const sent = await networkLife(config);
      const calls = sent.map((call) => {
        const operation = call.operation.replace('v2 ', '');
        return { ...call, operation, service: serviceOf(operation) };
      });
      const ledger: TagLedger = new Map([['security-group/sg-nodes', tag('c1')]]);
      const outputs = sent.map(({ output }) => output);
      holdCalls(calls, outputs, 'c1', ledger);
    });
  }

  it('allows every call in the life of a classic load balancer', async () => {
    const { ensure: make, remove, aws: cloud } = classic.machine();
    const arn = 'arn:aws:acm:eu-west-1:1:certificate/';
    const tls = { [keys.sslCertificate]: `${arn}a`, [keys.sslPolicy]: 'P1', [keys.proxyProtocol]: '*' };
    const desired = (annotations: Record<string, string>, more = {}) => classic.desired({ annotations, ...more });
    for (const next of [
      desired({}),
      desired({ ...tls, [keys.subnets]: 'subnet-a', [keys.idleTimeout]: '300', [keys.additionalTags]: 'a=b' }),
      desired({ ...tls, [keys.sslCertificate]: `${arn}b`, [keys.subnets]: 'subnet-b' }),
      desired({ [keys.securityGroups]: 'sg-persons' }, { members: [classic.member(3)], ports: [classic.port(8080)] }),
    ])
      await make(next);
    await remove(desired({}));
    await make(desired({}));
    await remove(desired({}, { retain: true }));
    const isOfGroups = /SecurityGroup(Ingress)?$|^(Create|Delete)Tags$/;
    const calls = cloud.sent
      .filter(({ operation }) => !isOfGroups.test(operation))
      .map((call) => ({ ...call, service: 'elasticloadbalancing' as const }));
    holdCalls(calls, [], 'c1', new Map());
  });

  it('allows every call about routes', async () => {
    const ec2 = await startFakeEc2();
    const [plainId, cardId] = ['i-00000000000000001', 'i-00000000000000002'];
    ec2.instances.set(plainId, running(plainId, { tags: tag('one') }));
    const card = { deviceIndex: 0, privateIps: ['10.0.0.9'], id: 'eni-1' };
    ec2.instances.set(cardId, running(cardId, { interfaces: [card, { ...card, deviceIndex: 1, id: 'eni-2' }] }));
    ec2.tables.set('rtb-1', { id: 'rtb-1', tags: tag('one', 'shared'), routes: new Map() });
    const cloud = await open(ec2.url);
    assert.ok(cloud.routes);
    const always = { permit: () => {} };
    for (const [n, id] of [plainId, cardId].entries()) {
      const destination = `10.244.${n}.0/24`;
      const route = { cluster: 'uid', node: `n${n}`, nodeUid: `u${n}`, destination, addresses: [] };
      const made = await cloud.routes.create({ ...route, providerID: `aws:///eu-west-1a/${id}` }, always);
      await cloud.routes.remove(made, always);
    }
    cloud.close();
    await ec2.close();
    const calls = ec2.calls.map(({ action, form }): AwsCall => {
      const flat = Object.fromEntries([...form].filter(([key]) => /^[A-Za-z]+Id$/.test(key)));
      const check = form.get('SourceDestCheck.Value');
      const input = { ...flat, ...(check !== null && { SourceDestCheck: { Value: check } }) };
      return { service: 'ec2', operation: action, input };
    });
    const ledger: TagLedger = new Map([
      ['route-table/rtb-1', tag('one', 'shared')],
      [`instance/${plainId}`, tag('one')],
    ]);
    holdCalls(calls, [], 'one', ledger);
  });

  it('allows every call that tags the instances of nodes', async () => {
    const ec2 = await startFakeEc2();
    const instanceId = 'i-00000000000000001';
    ec2.instances.set(instanceId, running(instanceId, { tags: tag('one', 'shared') }));
    const cloud = await open(ec2.url);
    const always = { permit: () => {} };
    await cloud.nodeTags?.set([`aws:///eu-west-1a/${instanceId}`], { team: 'a' }, always);
    await cloud.nodeTags?.remove([`aws:///eu-west-1a/${instanceId}`], { team: 'a' }, always);
    cloud.close();
    await ec2.close();
    const calls = ec2.calls.map(
      ({ action, form }): AwsCall => ({
        service: 'ec2',
        operation: action,
        input: {
          Resources: [form.get('ResourceId.1')],
          Tags: [{ Key: form.get('Tag.1.Key'), Value: form.get('Tag.1.Value') }],
        },
      }),
    );
    assert.equal(calls.length, 2);
    holdCalls(calls, [], 'one', new Map([[`instance/${instanceId}`, tag('one', 'shared')]]));
  });

  it('lets `check` pass', async () => {
    const ec2 = await startFakeEc2();
    ec2.tables.set('rtb-1', { id: 'rtb-1', tags: tag('one', 'shared'), routes: new Map() });
    const ledger: TagLedger = new Map([['route-table/rtb-1', tag('one', 'shared')]]);
    const held = policyOf('one');
    ec2.fault = ({ action, form }, response) => {
      if (form.get('Version') !== '2016-11-15') return undefined;
      const flat = Object.fromEntries([...form].filter(([key]) => /^[A-Za-z]+Id$/.test(key)));
      const check = form.get('SourceDestCheck.Value');
      const prefix = action === 'CreateSecurityGroup' ? 'TagSpecification.1.Tag' : 'Tag';
      const Tags = [1, 2].flatMap((n) => {
        const [Key, Value] = [form.get(`${prefix}.${n}.Key`), form.get(`${prefix}.${n}.Value`)];
        return Key === null ? [] : [{ Key, ...(Value !== null && { Value }) }];
      });
      const input = {
        ...flat,
        Tags,
        TagSpecifications: [{ Tags }],
        Resources: [form.get('ResourceId.1') ?? ''],
        ...(check !== null && { SourceDestCheck: { Value: check } }),
      };
      const attribute = ['InstanceId', 'NetworkInterfaceId', 'SourceDestCheck'];
      const only = action.startsWith('Modify')
        ? Object.fromEntries(Object.entries(input).filter(([key]) => attribute.includes(key)))
        : input;
      const requests = requestsOf({ service: 'ec2', operation: action, input: only }, ledger);
      if (requests.every((request) => allows(held, request))) return undefined;
      return answerError(response, 403, 'UnauthorizedOperation', 'no');
    };
    const cloud = await open(ec2.url);
    const results = await cloud.check();
    cloud.close();
    await ec2.close();
    assert.deepEqual(
      results.filter(({ ok }) => ok === false),
      [],
    );
    const proved = results.filter(({ message }) => message === 'allowed').map(({ name }) => name);
    for (const action of ['CreateRoute', 'DeleteRoute', 'CreateSecurityGroup', 'ModifyNetworkInterfaceAttribute'])
      assert.ok(proved.includes(`ec2:${action}`), action);
  });

  after(() => needed.clear());

  it('allows no change that none of these calls needs, and no right by which AWS acts for it', () => {
    const some = iamActions.filter(({ action, isForAws }) => isForAws || !action.includes(':Describe'));
    assert.deepEqual(
      some.map(({ action }) => action).filter((action) => !needed.has(action)),
      [],
    );
  });

  it('puts a condition on every statement but reads and the VPC of new groups', () => {
    const bare = policy.Statement.filter(({ Condition, Action }) => {
      const reads = [Action].flat().every((action) => action.includes(':Describe'));
      return !reads && Condition === undefined;
    });
    // A new group is made in a VPC, which carries no tag of the cluster as a rule; the group itself needs the tag.
    assert.deepEqual(
      bare.map(({ Sid }) => Sid),
      ['MooringLoadBalancersNewGroupsVpc'],
    );
  });

  it('proves the policy by `check` with the very values that the controller sends', () => {
    const parts = { ec2: {}, elbv2: () => ({}), region: 'eu-west-1' } as never;
    const none = { owned: {}, routeTable: undefined, group: undefined };
    for (const action of ['ec2:ModifyInstanceAttribute', 'ec2:ModifyNetworkInterfaceAttribute']) {
      const { command } = iamProof({ action }, parts, 'arn:aws:iam::1:role/x', none)!;
      assert.ok(
        command instanceof ModifyInstanceAttributeCommand || command instanceof ModifyNetworkInterfaceAttributeCommand,
      );
      assert.deepEqual(command.input.SourceDestCheck, { Value: false });
    }
  });
});

describe('a denial of the shipped IAM policy', () => {
  const ledger: TagLedger = new Map([
    ['instance/i-node', tag('my-cluster')],
    ['security-group/sg-cluster', tag('my-cluster')],
    ['security-group/sg-nodes', tag('my-cluster', 'shared')],
    ['security-group/sg-other', tag('another-cluster')],
    ['loadbalancer/net/ours/1', tag('my-cluster')],
    ['loadbalancer/net/theirs/1', tag('another-cluster')],
    ['loadbalancer/theirs', tag('another-cluster')],
    ['route-table/rtb-other', tag('another-cluster')],
  ]);
  const elb = 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:';
  const clusterTag = [{ Key: 'kubernetes.io/cluster/my-cluster', Value: 'owned' }];
  const denied: readonly (readonly [string, AwsCall['service'], string, AwsCall['input']])[] = [
    ['the user data of a node', 'ec2', 'ModifyInstanceAttribute', { InstanceId: 'i-node', UserData: { Value: 'x' } }],
    ['the groups of a node', 'ec2', 'ModifyInstanceAttribute', { InstanceId: 'i-node', Groups: ['sg-other'] }],
    [
      'to turn the check of source and destination on',
      'ec2',
      'ModifyInstanceAttribute',
      { InstanceId: 'i-node', SourceDestCheck: { Value: true } },
    ],
    [
      'the check of an instance that is no node',
      'ec2',
      'ModifyInstanceAttribute',
      { InstanceId: 'i-database', SourceDestCheck: { Value: false } },
    ],
    [
      'the groups of an interface',
      'ec2',
      'ModifyNetworkInterfaceAttribute',
      { NetworkInterfaceId: 'eni-1', Groups: ['sg-other'] },
    ],
    ['to delete a group without a tag', 'ec2', 'DeleteSecurityGroup', { GroupId: 'sg-database' }],
    ['to delete the group of the nodes', 'ec2', 'DeleteSecurityGroup', { GroupId: 'sg-nodes' }],
    ['to delete a group of another cluster', 'ec2', 'DeleteSecurityGroup', { GroupId: 'sg-other' }],
    ['to open a group without a tag', 'ec2', 'AuthorizeSecurityGroupIngress', { GroupId: 'sg-database' }],
    ['to close a group of another cluster', 'ec2', 'RevokeSecurityGroupIngress', { GroupId: 'sg-other' }],
    [
      'a new group without the tag of the cluster',
      'ec2',
      'CreateSecurityGroup',
      { VpcId: 'vpc-1', TagSpecifications: [{ Tags: [{ Key: 'a', Value: 'b' }] }] },
    ],
    [
      'to tag an instance that is no node',
      'ec2',
      'CreateTags',
      { Resources: ['i-database'], Tags: [{ Key: 'a', Value: 'b' }] },
    ],
    ['to tag an instance as its own', 'ec2', 'CreateTags', { Resources: ['i-node'], Tags: clusterTag }],
    [
      "to take the cluster's tag off a node",
      'ec2',
      'DeleteTags',
      { Resources: ['i-node'], Tags: [{ Key: 'a' }, { Key: 'kubernetes.io/cluster/my-cluster' }] },
    ],
    ['to take all tags off a node', 'ec2', 'DeleteTags', { Resources: ['i-node'] }],
    ['to tag a group as its own', 'ec2', 'CreateTags', { Resources: ['sg-database'], Tags: clusterTag }],
    [
      'to tag a group of another cluster',
      'ec2',
      'CreateTags',
      { Resources: ['sg-other'], Tags: [{ Key: 'a', Value: 'b' }] },
    ],
    ["to take off a person's tag", 'ec2', 'DeleteTags', { Resources: ['sg-cluster'], Tags: [{ Key: 'team' }] }],
    ['to take off all tags', 'ec2', 'DeleteTags', { Resources: ['sg-cluster'] }],
    ['a route in a table of another cluster', 'ec2', 'CreateRoute', { RouteTableId: 'rtb-other' }],
    ['to delete a route of the main table', 'ec2', 'DeleteRoute', { RouteTableId: 'rtb-main' }],
    [
      'to delete a load balancer of another cluster',
      'elasticloadbalancing',
      'DeleteLoadBalancer',
      { LoadBalancerArn: `${elb}loadbalancer/net/theirs/1` },
    ],
    [
      'to delete a classic load balancer of another cluster',
      'elasticloadbalancing',
      'DeleteLoadBalancer',
      { LoadBalancerName: 'theirs' },
    ],
    [
      'to delete a load balancer without a tag',
      'elasticloadbalancing',
      'DeleteLoadBalancer',
      { LoadBalancerArn: `${elb}loadbalancer/app/shop/1` },
    ],
    ['foreign targets', 'elasticloadbalancing', 'RegisterTargets', { TargetGroupArn: `${elb}targetgroup/shop/1` }],
    [
      'to tag a load balancer as its own',
      'elasticloadbalancing',
      'AddTags',
      { ResourceArns: [`${elb}loadbalancer/app/shop/1`], Tags: clusterTag },
    ],
    [
      "to take the cluster's tag off a load balancer",
      'elasticloadbalancing',
      'RemoveTags',
      { ResourceArns: [`${elb}loadbalancer/net/ours/1`], TagKeys: ['kubernetes.io/cluster/my-cluster'] },
    ],
    [
      'a new load balancer without the tag of the cluster',
      'elasticloadbalancing',
      'CreateLoadBalancer',
      { Name: 'new', Tags: [{ Key: 'a', Value: 'b' }] },
    ],
  ];
  for (const [what, service, operation, input] of denied) {
    it(`denies ${operation}: ${what}`, () => {
      const requests = requestsOf({ service, operation, input }, ledger);
      assert.ok(requests.some((request) => !allows(policy, request)));
    });
  }

  const others: readonly AccessRequest[] = [
    { action: 'ec2:RunInstances', resource: '*', context: {} },
    {
      action: 'ec2:TerminateInstances',
      resource: 'arn:aws:ec2:eu-west-1:1:instance/i-node',
      context: tag('my-cluster'),
    },
    { action: 'iam:PassRole', resource: '*', context: {} },
    {
      action: 'iam:CreateServiceLinkedRole',
      resource: 'arn:aws:iam::1:role/aws-service-role/spot.amazonaws.com/AWSServiceRoleForEC2Spot',
      context: { 'iam:AWSServiceName': 'spot.amazonaws.com' },
    },
    {
      action: 'ec2:CreateTags',
      resource: 'arn:aws:ec2:eu-west-1:1:instance/i-database',
      context: { 'aws:RequestTag/kubernetes.io/cluster/my-cluster': 'owned', 'aws:TagKeys': ['x'] },
    },
  ];
  for (const request of others) it(request.action, () => assert.ok(!allows(policy, request)));
});

describe('the evaluation of a policy', () => {
  const request = { action: 'ec2:X', resource: 'arn:aws:ec2:r:a:thing/1', context: { 'aws:RequestTag/Team': 'a' } };
  const statement = { Effect: 'Allow', Action: 'ec2:X', Resource: '*' } as const;
  let unknown: Policy;
  before(() => {
    unknown = { Statement: [{ ...statement, Condition: { StringLike: { 'aws:x': 'y' } } }] };
  });

  it('rejects an operator or element that it does not know', () => {
    assert.throws(() => allows(unknown, request), /operator StringLike is not known/);
    const without = { Statement: [{ ...statement, NotAction: 'x' }] };
    assert.throws(() => allows(without as Policy, request), /NotAction is not known/);
  });

  it('denies what a statement denies, whatever others allow', () => {
    assert.ok(allows({ Statement: [statement] }, request));
    assert.ok(!allows({ Statement: [statement, { ...statement, Effect: 'Deny' }] }, request));
  });

  it('compares keys of conditions without regard to case, and keys of tags with it', () => {
    const asked = (key: string) => ({ Statement: [{ ...statement, Condition: { StringEquals: { [key]: 'a' } } }] });
    assert.ok(allows(asked('AWS:requesttag/Team'), request));
    assert.ok(!allows(asked('aws:RequestTag/team'), request));
  });
});
