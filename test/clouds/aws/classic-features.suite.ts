import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  AuthorizeSecurityGroupIngressCommand,
  CreateSecurityGroupCommand,
  DeleteSecurityGroupCommand,
  DescribeSecurityGroupsCommand,
  ModifyInstanceAttributeCommand,
} from '@aws-sdk/client-ec2';
import {
  ConfigureHealthCheckCommand,
  CreateLoadBalancerCommand,
  DescribeLoadBalancerAttributesCommand,
  DescribeLoadBalancersCommand,
  RegisterInstancesWithLoadBalancerCommand,
} from '@aws-sdk/client-elastic-load-balancing';
import { keys } from '../../../controller/clouds/aws/load-balancer-annotations.ts';
import { type DesiredLoadBalancer, type LoadBalancers, ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, memberOf, newOwner, port } from '../suite/desired.ts';
import { type Driving, ensure, printStep, refOf, remove } from '../suite/drive.ts';
import { sorted } from '../suite/suite-context.ts';
import type { CloudVm } from '../suite/world.ts';
import { type AwsWorld, startAwsWorld } from './aws-world.ts';
import { busyGroups, classicRules } from './classic-rules.ts';

const moto = process.env['MOTO_URL'];
const certificate = 'arn:aws:iam::123456789012:server-certificate/web';

describe('features of classic load balancers on moto', () => {
  const busy = busyGroups();
  let world: AwsWorld;
  let vms: readonly CloudVm[];
  before(async () => {
    assert.ok(moto, 'MOTO_URL');
    world = await startAwsWorld({ server: moto, kind: 'classic', rules: [busy.rule, ...classicRules()] });
    vms = [await world.createVm(), await world.createVm()];
  });
  after(() => world.close());

  async function fresh(): Promise<LoadBalancers> {
    const { loadBalancers } = await world.open();
    assert.ok(loadBalancers);
    return loadBalancers;
  }

  async function driving(desired: DesiredLoadBalancer, fields: Partial<Driving> = {}): Promise<Driving> {
    return { world, balancers: await fresh(), desired, record: { id: undefined }, ...fields };
  }

  /** Runs a body with a Service of these annotations; afterwards everything is as it was. */
  async function withService(
    fields: Partial<DesiredLoadBalancer>,
    body: (desired: DesiredLoadBalancer) => Promise<void>,
  ): Promise<void> {
    const things = sorted(await world.inventory());
    const desired = desiredFor(newOwner(world.cluster), vms, fields);
    try {
      await body(desired);
    } finally {
      await remove(await driving(desired));
    }
    assert.deepEqual(sorted(await world.inventory()), things);
  }

  /** Ensures, and that a fresh process then finds nothing to do. */
  async function ensured(desired: DesiredLoadBalancer) {
    const driven = await ensure(await driving(desired));
    assert.deepEqual((await ensure(await driving(desired))).steps.map(printStep), []);
    return driven;
  }

  async function described(name: string) {
    const answer = await world.clients.elb.send(new DescribeLoadBalancersCommand({ LoadBalancerNames: [name] }));
    return answer.LoadBalancerDescriptions![0]!;
  }

  async function rulesOfNodes(): Promise<string[]> {
    const things = await world.inventory();
    return things
      .flatMap(({ kind, name }) => (kind === 'ingress rule' && name.startsWith('nodes-') ? [name] : []))
      .sort();
  }

  it('sets attributes that the Service names, and resets them afterwards', () =>
    withService({}, async (desired) => {
      const annotations = {
        [keys.crossZone]: 'true',
        [keys.drainingEnabled]: 'true',
        [keys.drainingTimeout]: '120',
        [keys.idleTimeout]: '300',
        [keys.accessLogEnabled]: 'true',
        [keys.accessLogBucket]: 'logs',
      };
      const attributes = async () => {
        const command = new DescribeLoadBalancerAttributesCommand({ LoadBalancerName: desired.name });
        return (await world.clients.elb.send(command)).LoadBalancerAttributes;
      };
      await ensured({ ...desired, annotations });
      const set = await attributes();
      assert.equal(set?.CrossZoneLoadBalancing?.Enabled, true);
      assert.deepEqual([set?.ConnectionDraining?.Enabled, set?.ConnectionDraining?.Timeout], [true, 120]);
      assert.equal(set?.ConnectionSettings?.IdleTimeout, 300);
      assert.deepEqual([set?.AccessLog?.Enabled, set?.AccessLog?.S3BucketName], [true, 'logs']);
      const { steps } = await ensured(desired);
      assert.equal(steps.length, 1);
      assert.equal((await attributes())?.ConnectionDraining?.Enabled, false);
    }));

  it('switches the PROXY protocol on and off, with the policy and the ports of the members', () =>
    withService({ annotations: { [keys.proxyProtocol]: '*' } }, async (desired) => {
      await ensured(desired);
      const { BackendServerDescriptions } = await described(desired.name);
      assert.deepEqual(
        BackendServerDescriptions?.map(({ InstancePort, PolicyNames }) => [InstancePort, PolicyNames]),
        [[30080, ['k8s-proxyprotocol-enabled']]],
      );
      await ensured({ ...desired, annotations: {} });
      assert.deepEqual((await described(desired.name)).BackendServerDescriptions ?? [], []);
    }));

  it('replaces the certificate of a TLS listener without a gap', () =>
    withService(
      {
        annotations: {
          [keys.sslCertificate]: certificate,
          [keys.backendProtocol]: 'ssl',
          [keys.sslPolicy]: 'ELBSecurityPolicy-TLS-1-2-2017-01',
        },
      },
      async (desired) => {
        await ensured(desired);
        const [listener] = (await described(desired.name)).ListenerDescriptions!;
        assert.equal(listener?.Listener?.SSLCertificateId, certificate);
        assert.deepEqual(listener.PolicyNames, ['k8s-SSLNegotiationPolicy-ELBSecurityPolicy-TLS-1-2-2017-01']);
        const other = { ...desired.annotations, [keys.sslCertificate]: `${certificate}-2` };
        const { steps } = await ensured({ ...desired, annotations: other });
        assert.equal(steps.length, 1);
        assert.match(steps[0]?.summary ?? '', /^certificate of listener 80 /);
      },
    ));

  it("replaces its own security group with a person's one, and back", () =>
    withService({}, async (desired) => {
      await ensured(desired);
      const { clients, network } = world;
      const command = new CreateSecurityGroupCommand({
        GroupName: `persons-${desired.name}`,
        Description: 'x',
        VpcId: network.vpcId,
        TagSpecifications: [
          {
            ResourceType: 'security-group',
            Tags: [{ Key: ownerTags.consent, Value: `${world.cluster}/${desired.service}` }],
          },
        ],
      });
      const { GroupId = '' } = await clients.ec2.send(command);
      const theirs = { ...desired, annotations: { [keys.securityGroups]: GroupId } };
      await ensured(theirs);
      assert.deepEqual((await described(desired.name)).SecurityGroups, [GroupId]);
      const names = (await world.inventory()).filter(({ kind }) => kind === 'security group').map(({ name }) => name);
      assert.ok(!names.some((name) => name === `k8s-elb-${desired.name}`), 'its own group is gone');
      const letIn = (await rulesOfNodes()).filter((rule) => rule.endsWith(`from persons-${desired.name}`));
      assert.ok(letIn.length > 0 && letIn.every((rule) => !rule.includes(' -1 ')), letIn.join());
      const balancers = await fresh();
      // Who carries which group is known by what shows everything.
      await balancers.observeAll(world.cluster);
      await ensure(await driving(desired, { balancers }));
      assert.equal((await described(desired.name)).SecurityGroups?.length, 2);
      assert.ok(
        !(await rulesOfNodes()).some((rule) => rule.endsWith(`from persons-${desired.name}`)),
        'no rule is left for it',
      );
      await clients.ec2.send(new DeleteSecurityGroupCommand({ GroupId }));
    }));

  it('refuses another scheme without consent, and replaces the load balancer with it', () =>
    withService({}, async (desired) => {
      const { observed } = await ensured(desired);
      const internal = { ...desired, annotations: { [keys.internal]: 'true' } };
      const { refusals, calls } = await ensure(await driving(internal));
      assert.deepEqual([refusals.map(({ reason }) => reason), calls], [['AddressWouldChange'], 0]);
      const replaced = await ensured({ ...internal, mayChangeAddress: true });
      assert.notDeepEqual(replaced.observed?.ingress, observed?.ingress);
      assert.equal((await described(desired.name)).Scheme, 'internal');
    }));

  it("deletes a rule on the nodes' group that two Services share with the last of them", async () => {
    const things = sorted(await world.inventory());
    const [one, two] = [80, 81].map((number) =>
      desiredFor(newOwner(world.cluster), vms, { ports: [port(number, 30000 + number)] }),
    );
    assert.ok(one && two);
    const before = await rulesOfNodes();
    await ensured(one);
    await ensured(two);
    assert.equal((await rulesOfNodes()).length, before.length + 1);
    await remove(await driving(one));
    assert.equal((await rulesOfNodes()).length, before.length + 1);
    await remove(await driving(two));
    assert.deepEqual(await rulesOfNodes(), before);
    assert.deepEqual(sorted(await world.inventory()), things);
  });

  it('keeps a shared rule for a Service that comes while another goes, and none for two that go at once', async () => {
    const things = sorted(await world.inventory());
    const before = await rulesOfNodes();
    for (let round = 0; round < 4; round += 1) {
      const balancers = await fresh();
      const [old, next] = [0, 1].map((at) =>
        desiredFor(newOwner(world.cluster), vms, { ports: [port(80 + at, 30080 + at)] }),
      );
      assert.ok(old && next);
      await ensure(await driving(old, { balancers }));
      await Promise.all([remove(await driving(old, { balancers })), ensure(await driving(next, { balancers }))]);
      assert.equal((await rulesOfNodes()).length, before.length + 1, `round ${round}`);
      assert.equal((await ensure(await driving(next))).calls, 0, `round ${round}`);
      await ensure(await driving(old, { balancers }));
      await Promise.all([old, next].map(async (desired) => remove(await driving(desired, { balancers }))));
      assert.deepEqual(sorted(await world.inventory()), things, `round ${round}`);
    }
  });

  it('waits for a group that is in use after its load balancer, in seconds (by the proxy: moto frees at once)', () =>
    withService({}, async (desired) => {
      await ensured(desired);
      busy.refuse(desired.name, 3);
      const balancers = await fresh();
      const waits: number[] = [];
      const watched: LoadBalancers = {
        ...balancers,
        planRemoval(owner, options) {
          const plan = balancers.planRemoval(owner, options);
          // What has passed since the refusal is not waited for once more.
          if (plan.steps.length === 0) waits.push(Math.round((plan.waitMs ?? 0) / 1000));
          return plan;
        },
      };
      await remove(await driving(desired, { balancers: watched }));
      assert.deepEqual(waits, [5, 10, 20]);
    }));

  it('adopts a load balancer of the classic controller without a call, tags and deletes it as ours', async () => {
    const things = sorted(await world.inventory());
    const desired = desiredFor(newOwner(world.cluster), vms);
    await asClassicControllerMakes(desired);
    const made = await described(desired.name);
    const balancers = await fresh();
    const adopt = { clusterName: 'kubernetes', addresses: [`${desired.name}-0.eu-west-1.elb.amazonaws.com`] };
    const ref = { ...refOf(desired, { id: undefined }), adopt };
    const [observed, stranger] = [
      await balancers.observe(ref),
      await balancers.observe({ ...ref, adopt: { ...adopt, addresses: ['elsewhere.example'] } }),
    ];
    assert.equal(stranger?.owner, undefined);
    assert.deepEqual(observed?.owner, desired.owner);
    assert.equal(observed.adopted, true);
    assert.deepEqual(balancers.plan(desired).steps.map(printStep), []);
    await balancers.observeAll(world.cluster, undefined, [ref]);
    assert.deepEqual(balancers.plan(desired).steps, []);

    const changed = { ...desired, ports: [port(80, 30080), port(443, 30443)] };
    const steps = balancers.plan(changed).steps.map(printStep);
    for (const what of ['security group', 'internet-facing classic load balancer'])
      assert.ok(
        steps.some((step) => step.includes(`take over ${what}`)),
        steps.join(),
      );
    for (let plan = balancers.plan(changed); plan.steps.length > 0; plan = balancers.plan(changed))
      await balancers.apply(plan, { permit: () => {} });
    assert.equal((await ensure(await driving(changed))).calls, 0);
    assert.deepEqual((await described(desired.name)).SecurityGroups, made.SecurityGroups);
    await remove(await driving(changed));
    assert.deepEqual(sorted(await world.inventory()), things);
  });

  it('deletes an adopted load balancer whole that was never changed', async () => {
    const things = sorted(await world.inventory());
    const desired = desiredFor(newOwner(world.cluster), vms);
    await asClassicControllerMakes(desired);
    const balancers = await fresh();
    const adopt = { clusterName: 'kubernetes', addresses: [`${desired.name}-0.eu-west-1.elb.amazonaws.com`] };
    const adopting: LoadBalancers = {
      ...balancers,
      observe: (ref, signal) => balancers.observe({ ...ref, adopt }, signal),
    };
    await remove(await driving(desired, { balancers: adopting }));
    assert.deepEqual(sorted(await world.inventory()), things);
  });

  it('replaces an adopted load balancer for another scheme, with consent', async () => {
    const things = sorted(await world.inventory());
    const desired = desiredFor(newOwner(world.cluster), vms, {
      annotations: { [keys.internal]: 'true' },
      mayChangeAddress: true,
    });
    await asClassicControllerMakes(desired);
    const balancers = await fresh();
    const adopt = { clusterName: 'kubernetes', addresses: [`${desired.name}-0.eu-west-1.elb.amazonaws.com`] };
    const adopting: LoadBalancers = {
      ...balancers,
      observe: (ref, signal) => balancers.observe({ ...ref, adopt }, signal),
    };
    const { refusals } = await ensure(await driving(desired, { balancers: adopting }));
    assert.deepEqual(refusals, []);
    assert.equal((await described(desired.name)).Scheme, 'internal');
    await remove(await driving(desired));
    assert.deepEqual(sorted(await world.inventory()), things);
  });

  async function asClassicControllerMakes(desired: DesiredLoadBalancer): Promise<void> {
    const { ec2, elb } = world.clients;
    const { network } = world;
    const tags = [
      { Key: `kubernetes.io/cluster/${network.clusterId}`, Value: 'owned' },
      { Key: 'kubernetes.io/service-name', Value: desired.service },
    ];
    const { GroupId = '' } = await ec2.send(
      new CreateSecurityGroupCommand({
        GroupName: `k8s-elb-${desired.name}`,
        Description: `Security group for Kubernetes ELB ${desired.name} (${desired.service})`,
        VpcId: network.vpcId,
        TagSpecifications: [{ ResourceType: 'security-group', Tags: tags.slice(0, 1) }],
      }),
    );
    const IpRanges = [{ CidrIp: '0.0.0.0/0' }];
    await ec2.send(
      new AuthorizeSecurityGroupIngressCommand({
        GroupId,
        IpPermissions: [
          { IpProtocol: 'tcp', FromPort: 80, ToPort: 80, IpRanges },
          { IpProtocol: 'icmp', FromPort: 3, ToPort: 4, IpRanges },
        ],
      }),
    );
    const name = { LoadBalancerName: desired.name };
    const listener = { Protocol: 'TCP', LoadBalancerPort: 80, InstanceProtocol: 'TCP', InstancePort: 30080 };
    await elb.send(
      new CreateLoadBalancerCommand({
        ...name,
        Listeners: [listener],
        Subnets: network.subnets.map(({ id }) => id),
        SecurityGroups: [GroupId],
        Tags: tags,
      }),
    );
    const HealthCheck = { Target: 'TCP:30080', Interval: 10, Timeout: 5, HealthyThreshold: 2, UnhealthyThreshold: 6 };
    await elb.send(new ConfigureHealthCheckCommand({ ...name, HealthCheck }));
    const all = { IpProtocol: '-1', UserIdGroupPairs: [{ GroupId }] };
    await ec2.send(new AuthorizeSecurityGroupIngressCommand({ GroupId: network.nodeGroupId, IpPermissions: [all] }));
    const Instances = vms.map(({ providerID }) => ({ InstanceId: providerID.slice(providerID.lastIndexOf('/') + 1) }));
    await elb.send(new RegisterInstancesWithLoadBalancerCommand({ ...name, Instances }));
  }

  it('adds the rule for a member in another group of nodes when it registers the member', () =>
    withService({}, async (desired) => {
      await ensured(desired);
      const { ec2 } = world.clients;
      const { network } = world;
      const tags = [{ Key: `kubernetes.io/cluster/${network.clusterId}`, Value: 'owned' }];
      const { GroupId = '' } = await ec2.send(
        new CreateSecurityGroupCommand({
          GroupName: `nodes-more-${desired.name}`,
          Description: 'x',
          VpcId: network.vpcId,
          TagSpecifications: [{ ResourceType: 'security-group', Tags: tags }],
        }),
      );
      const vm = await world.createVm();
      const InstanceId = vm.providerID.slice(vm.providerID.lastIndexOf('/') + 1);
      await ec2.send(new ModifyInstanceAttributeCommand({ InstanceId, Groups: [GroupId] }));
      await ensured({ ...desired, members: [...vms, vm].map((one) => memberOf(one)) });
      const { SecurityGroups } = await ec2.send(new DescribeSecurityGroupsCommand({ GroupIds: [GroupId] }));
      assert.equal(SecurityGroups?.[0]?.IpPermissions?.length, 1);
      await remove(await driving(desired));
      await world.deleteVm(vm.providerID);
      await ec2.send(new DeleteSecurityGroupCommand({ GroupId }));
    }));
});
