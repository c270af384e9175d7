import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  AuthorizeSecurityGroupIngressCommand,
  CreateSecurityGroupCommand,
  DeleteSecurityGroupCommand,
  DescribeSecurityGroupsCommand,
  EC2Client,
  RevokeSecurityGroupIngressCommand,
} from '@aws-sdk/client-ec2';
import {
  ConfigureHealthCheckCommand,
  CreateLoadBalancerCommand as CreateClassicCommand,
  CreateLoadBalancerListenersCommand,
  DeleteLoadBalancerCommand as DeleteClassicCommand,
  DeleteLoadBalancerListenersCommand,
  DescribeLoadBalancersCommand as DescribeClassicCommand,
  DescribeTagsCommand as DescribeClassicTagsCommand,
  DescribeLoadBalancerAttributesCommand,
  ElasticLoadBalancingClient,
  RegisterInstancesWithLoadBalancerCommand,
} from '@aws-sdk/client-elastic-load-balancing';
import {
  CreateListenerCommand,
  CreateLoadBalancerCommand,
  CreateTargetGroupCommand,
  DeleteLoadBalancerCommand,
  DeleteTargetGroupCommand,
  DeregisterTargetsCommand,
  DescribeListenersCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  DescribeTargetGroupsCommand,
  DescribeTargetHealthCommand,
  ElasticLoadBalancingV2Client,
  ModifyTargetGroupCommand,
  RegisterTargetsCommand,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import type { AwsClients } from '../aws-inventory.ts';
import { type AwsWorld, awsKeys, region, startAwsWorld } from '../aws-world.ts';
import type { AwsServer } from '../suites.ts';

const code = (expected: string) => (error: Error & { Code?: string }) => {
  assert.equal(error.Code ?? error.name, expected);
  return true;
};

/** What the fake in this process and moto have to answer alike, so that a test on the fake says something. */
export function fakeFacts({ on, start }: AwsServer): void {
  describe(`load balancers and security groups of AWS as ${on} answers`, () => {
    let world: AwsWorld;
    let clients: AwsClients;
    let close: (() => Promise<void>) | undefined;
    before(async () => {
      const server = await start();
      close = server.close;
      world = await startAwsWorld({ ...server, kind: 'nlb' });
      // Through the proxy, whose rules add what moto lacks.
      const settings = { region, endpoint: world.proxy.url, credentials: awsKeys, maxAttempts: 1 };
      clients = {
        ec2: new EC2Client(settings),
        elb: new ElasticLoadBalancingClient(settings),
        elbv2: new ElasticLoadBalancingV2Client(settings),
      };
    });
    after(async () => {
      for (const client of Object.values(clients ?? {})) client.destroy();
      await world?.close();
      await close?.();
    });

    it('keeps each rule of a security group once, and names the error of a request', async () => {
      const { ec2 } = clients;
      const group = { GroupName: 'facts', Description: 'facts', VpcId: world.network.vpcId };
      const { GroupId } = await ec2.send(new CreateSecurityGroupCommand(group));
      await assert.rejects(ec2.send(new CreateSecurityGroupCommand(group)), code('InvalidGroup.Duplicate'));
      const IpPermissions = [
        { IpProtocol: 'tcp', FromPort: 80, ToPort: 80, IpRanges: [{ CidrIp: '192.0.2.0/24', Description: 'web' }] },
        { IpProtocol: 'tcp', FromPort: 80, ToPort: 80, UserIdGroupPairs: [{ GroupId: world.network.nodeGroupId }] },
      ];
      const request = { GroupId, IpPermissions };
      await ec2.send(new AuthorizeSecurityGroupIngressCommand(request));
      const again = ec2.send(new AuthorizeSecurityGroupIngressCommand(request));
      await assert.rejects(again, code('InvalidPermission.Duplicate'));
      const Filters = [{ Name: 'group-name', Values: ['facts'] }];
      const { SecurityGroups } = await ec2.send(new DescribeSecurityGroupsCommand({ Filters }));
      const permissions = SecurityGroups?.flatMap((one) => one.IpPermissions ?? []) ?? [];
      const ranges = permissions.flatMap(({ IpRanges = [] }) => IpRanges.map((range) => range.CidrIp));
      const pairs = permissions.flatMap(({ UserIdGroupPairs = [] }) => UserIdGroupPairs.map((pair) => pair.GroupId));
      assert.deepEqual([ranges, pairs], [['192.0.2.0/24'], [world.network.nodeGroupId]]);
      const inUse = ec2.send(new DeleteSecurityGroupCommand({ GroupId: world.network.nodeGroupId }));
      await assert.rejects(inUse, code('DependencyViolation'));
      await ec2.send(new RevokeSecurityGroupIngressCommand(request));
      const absent = ec2.send(new RevokeSecurityGroupIngressCommand(request));
      await assert.rejects(absent, code('InvalidPermission.NotFound'));
      await ec2.send(new DeleteSecurityGroupCommand({ GroupId }));
      await assert.rejects(ec2.send(new DeleteSecurityGroupCommand({ GroupId })), code('InvalidGroup.NotFound'));
    });

    it('shows a classic load balancer as it was requested, and refuses a second one of its name', async () => {
      const { elb } = clients;
      const name = { LoadBalancerName: 'facts' };
      const listener = { Protocol: 'TCP', LoadBalancerPort: 80, InstancePort: 30080, InstanceProtocol: 'TCP' };
      const create = { ...name, Listeners: [listener], Subnets: [world.network.subnets[0]!.id] };
      const groups = { SecurityGroups: [world.network.nodeGroupId], Tags: [{ Key: 'team', Value: 'web' }] };
      await elb.send(new CreateClassicCommand({ ...create, ...groups }));
      const twice = elb.send(new CreateClassicCommand({ ...create, ...groups }));
      await assert.rejects(twice, code('DuplicateLoadBalancerName'));
      const HealthCheck = { Target: 'TCP:1', Interval: 10, Timeout: 5, HealthyThreshold: 2, UnhealthyThreshold: 6 };
      await elb.send(new ConfigureHealthCheckCommand({ ...name, HealthCheck }));
      const Listeners = [{ ...listener, LoadBalancerPort: 81 }];
      await elb.send(new CreateLoadBalancerListenersCommand({ ...name, Listeners }));
      // The same again is no fault; another one on its port is.
      await elb.send(new CreateLoadBalancerListenersCommand({ ...name, Listeners }));
      const other = [{ ...listener, LoadBalancerPort: 81, InstancePort: 30081 }];
      const taken = elb.send(new CreateLoadBalancerListenersCommand({ ...name, Listeners: other }));
      await assert.rejects(taken, code('DuplicateListener'));
      await elb.send(new DeleteLoadBalancerListenersCommand({ ...name, LoadBalancerPorts: [80] }));
      const vm = (await world.createVm()).providerID.split('/').at(-1)!;
      const Instances = [{ InstanceId: vm }];
      await elb.send(new RegisterInstancesWithLoadBalancerCommand({ ...name, Instances }));
      await elb.send(new RegisterInstancesWithLoadBalancerCommand({ ...name, Instances }));
      const ghost = { ...name, Instances: [{ InstanceId: 'i-0123456789abcdef0' }] };
      await assert.rejects(elb.send(new RegisterInstancesWithLoadBalancerCommand(ghost)), code('InvalidInstance'));

      const [shown] = (await elb.send(new DescribeClassicCommand({ LoadBalancerNames: ['facts'] })))
        .LoadBalancerDescriptions!;
      assert.deepEqual(shown?.HealthCheck, HealthCheck);
      assert.deepEqual(shown.Instances, Instances);
      assert.deepEqual([shown.Scheme, shown.VPCId], ['internet-facing', world.network.vpcId]);
      assert.deepEqual(shown.SecurityGroups, groups.SecurityGroups);
      assert.deepEqual(
        shown.ListenerDescriptions?.map(({ Listener }) => [Listener?.LoadBalancerPort, Listener?.InstancePort]),
        [[81, 30080]],
      );
      const tags = await elb.send(new DescribeClassicTagsCommand({ LoadBalancerNames: ['facts'] }));
      assert.deepEqual(tags.TagDescriptions?.[0]?.Tags, groups.Tags);
      const { LoadBalancerAttributes } = await elb.send(new DescribeLoadBalancerAttributesCommand(name));
      assert.equal(LoadBalancerAttributes?.CrossZoneLoadBalancing?.Enabled, false);
      assert.equal(LoadBalancerAttributes?.ConnectionSettings?.IdleTimeout, 60);
      await elb.send(new DeleteClassicCommand(name));
      // One that is not there is deleted without a fault, and missed with one.
      await elb.send(new DeleteClassicCommand(name));
      const missed = elb.send(new DescribeClassicCommand({ LoadBalancerNames: ['facts'] }));
      await assert.rejects(missed, code('LoadBalancerNotFound'));
    });

    it('shows a network load balancer with listener, target group, targets and their references', async () => {
      const { elbv2 } = clients;
      const create = new CreateLoadBalancerCommand({
        Name: 'facts',
        Type: 'network',
        Scheme: 'internal',
        Subnets: [world.network.subnets[0]!.id],
        SecurityGroups: [world.network.nodeGroupId],
        Tags: [{ Key: 'team', Value: 'web' }],
      });
      const LoadBalancerArn = (await elbv2.send(create)).LoadBalancers![0]!.LoadBalancerArn!;
      await assert.rejects(elbv2.send(create), code('DuplicateLoadBalancerName'));
      const group = { Name: 'facts', Protocol: 'TCP', Port: 30080, VpcId: world.network.vpcId } as const;
      const made = await elbv2.send(new CreateTargetGroupCommand({ ...group, TargetType: 'instance' }));
      const TargetGroupArn = made.TargetGroups![0]!.TargetGroupArn!;
      const differs = elbv2.send(new CreateTargetGroupCommand({ ...group, Port: 30081, TargetType: 'instance' }));
      await assert.rejects(differs, code('DuplicateTargetGroupName'));
      const DefaultActions = [{ Type: 'forward' as const, TargetGroupArn }];
      const listener = { LoadBalancerArn, Protocol: 'TCP', Port: 80, DefaultActions } as const;
      await elbv2.send(new CreateListenerCommand(listener));
      await assert.rejects(elbv2.send(new CreateListenerCommand(listener)), code('DuplicateListener'));
      const inUse = elbv2.send(new DeleteTargetGroupCommand({ TargetGroupArn }));
      await assert.rejects(inUse, code('ResourceInUse'));
      const health = { HealthCheckProtocol: 'HTTP', HealthCheckPort: '10256', HealthCheckPath: '/healthz' } as const;
      await elbv2.send(new ModifyTargetGroupCommand({ TargetGroupArn, ...health }));
      const Id = (await world.createVm()).providerID.split('/').at(-1)!;
      await elbv2.send(new RegisterTargetsCommand({ TargetGroupArn, Targets: [{ Id }] }));
      const ghost = { TargetGroupArn, Targets: [{ Id: 'i-0123456789abcdef0' }] };
      await assert.rejects(elbv2.send(new RegisterTargetsCommand(ghost)), code('InvalidTarget'));

      const [balancer] = (await elbv2.send(new DescribeLoadBalancersCommand({ Names: ['facts'] }))).LoadBalancers!;
      assert.deepEqual([balancer?.Type, balancer?.Scheme], ['network', 'internal']);
      assert.deepEqual([balancer?.State?.Code, balancer?.VpcId], ['active', world.network.vpcId]);
      assert.deepEqual(balancer?.SecurityGroups, [world.network.nodeGroupId]);
      assert.equal(balancer.AvailabilityZones?.[0]?.ZoneName, world.network.subnets[0]!.zone);
      const { Listeners } = await elbv2.send(new DescribeListenersCommand({ LoadBalancerArn }));
      assert.deepEqual(
        Listeners?.map(({ Port, Protocol, DefaultActions: its }) => [Port, Protocol, its?.[0]?.TargetGroupArn]),
        [[80, 'TCP', TargetGroupArn]],
      );
      const [shown] = (await elbv2.send(new DescribeTargetGroupsCommand({ LoadBalancerArn }))).TargetGroups!;
      assert.deepEqual([shown?.Port, shown?.HealthCheckPath], [30080, '/healthz']);
      assert.deepEqual(shown?.LoadBalancerArns, [LoadBalancerArn]);
      const tags = await elbv2.send(new DescribeTagsCommand({ ResourceArns: [LoadBalancerArn] }));
      assert.deepEqual(tags.TagDescriptions?.[0]?.Tags, [{ Key: 'team', Value: 'web' }]);
      const states = async () => {
        const { TargetHealthDescriptions } = await elbv2.send(new DescribeTargetHealthCommand({ TargetGroupArn }));
        return TargetHealthDescriptions?.map(({ Target, TargetHealth }) => [Target?.Id, TargetHealth?.State]);
      };
      assert.deepEqual(await states(), [[Id, 'healthy']]);
      await elbv2.send(new DeregisterTargetsCommand({ TargetGroupArn, Targets: [{ Id }] }));
      assert.deepEqual(await states(), [[Id, 'draining']]);
      await elbv2.send(new DeleteLoadBalancerCommand({ LoadBalancerArn }));
      await elbv2.send(new DeleteTargetGroupCommand({ TargetGroupArn }));
      const missed = elbv2.send(new DescribeTargetGroupsCommand({ TargetGroupArns: [TargetGroupArn] }));
      await assert.rejects(missed, code('TargetGroupNotFound'));
    });
  });
}
