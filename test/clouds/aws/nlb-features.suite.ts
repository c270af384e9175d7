import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  AddTagsCommand,
  CreateListenerCommand,
  CreateLoadBalancerCommand,
  CreateTargetGroupCommand,
  DescribeListenersCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  DescribeTargetGroupsCommand,
  DescribeTargetHealthCommand,
  RegisterTargetsCommand,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { tagMap } from '../../../controller/clouds/aws/cluster-tags.ts';
import { keys } from '../../../controller/clouds/aws/load-balancer-annotations.ts';
import { targetGroupName } from '../../../controller/clouds/aws/nlb/names.ts';
import { type LoadBalancerRef, ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { port } from '../suite/desired.ts';
import { ensure, printStep, refOf, remove } from '../suite/drive.ts';
import { type Example, sorted, withExample } from '../suite/suite-context.ts';
import { type AwsWorld, startAwsWorld } from './aws-world.ts';
import { lateBalancers, loadBalancerRules } from './load-balancer-rules.ts';

const moto = process.env['MOTO_URL'];
const certificate = 'arn:aws:iam::123456789012:server-certificate/web';

/** What is a network load balancer's alone, on moto; the conformance suite has the rest. */
describe('network load balancers on moto', () => {
  let world: AwsWorld;
  before(async () => {
    assert.ok(moto, 'MOTO_URL');
    // Without security groups, as the classic controller makes them by default.
    world = await startAwsWorld({ server: moto, kind: 'nlb', rules: loadBalancerRules() });
  });
  after(() => world?.close());

  const listenersOf = async (arn: string | undefined) => {
    const { Listeners = [] } = await world.clients.elbv2.send(new DescribeListenersCommand({ LoadBalancerArn: arn }));
    return Listeners.map(({ Protocol, Port }) => `${Protocol} ${Port}`).sort();
  };
  /** Ensured, as asked, with nothing to do afterwards. */
  const settled = async (example: Example) => {
    const { observed, refusals } = await ensure(await example.driving());
    assert.deepEqual(refusals, []);
    const again = await ensure(await example.driving());
    assert.deepEqual(again.steps.map(printStep), []);
    return observed!;
  };

  it('serves UDP, TCP and both on one port', () =>
    withExample(world, async (example) => {
      const udp = { name: 'u', protocol: 'UDP' as const };
      const ports = [port(53, 30053), port(53, 30053, udp), port(80, 30080), port(514, 30514, { ...udp, name: 'v' })];
      example.desired = { ...example.desired, ports };
      const { id } = await settled(example);
      assert.deepEqual(await listenersOf(id), ['TCP 80', 'TCP_UDP 53', 'UDP 514']);
      const { TargetGroups = [] } = await world.clients.elbv2.send(
        new DescribeTargetGroupsCommand({ LoadBalancerArn: id }),
      );
      assert.deepEqual(TargetGroups.map(({ Protocol, Port }) => `${Protocol} ${Port}`).sort(), [
        'TCP 30080',
        'TCP_UDP 30053',
        'UDP 30514',
      ]);
    }));

  it('ends TLS on the ports that the Service names', () =>
    withExample(world, async (example) => {
      const annotations = { [keys.sslCertificate]: certificate, [keys.sslPorts]: '443' };
      example.desired = { ...example.desired, ports: [port(80, 30080), port(443, 30443)], annotations };
      const { id } = await settled(example);
      assert.deepEqual(await listenersOf(id), ['TCP 80', 'TLS 443']);
    }));

  it('creates an internal load balancer with the subnets, tags and settings of its annotations', () =>
    withExample(world, async (example) => {
      const annotations = {
        [keys.internal]: 'true',
        [keys.crossZone]: 'true',
        [keys.additionalTags]: 'team=web',
        [keys.accessLogEnabled]: 'true',
        [keys.accessLogBucket]: 'logs',
        [keys.accessLogPrefix]: 'web',
        [keys.subnets]: world.network.subnets[0]!.id,
        [keys.healthyThreshold]: '2',
        [keys.healthTimeout]: '5',
      };
      example.desired = { ...example.desired, annotations };
      const { id } = await settled(example);
      const { LoadBalancers } = await world.clients.elbv2.send(
        new DescribeLoadBalancersCommand({ LoadBalancerArns: [id!] }),
      );
      const [balancer] = LoadBalancers!;
      assert.equal(balancer!.Scheme, 'internal');
      assert.deepEqual(
        balancer!.AvailabilityZones?.map(({ SubnetId }) => SubnetId),
        [world.network.subnets[0]!.id],
      );
      const tags = await world.clients.elbv2.send(new DescribeTagsCommand({ ResourceArns: [id!] }));
      assert.equal(tagMap(tags.TagDescriptions?.[0]?.Tags)['team'], 'web');
      example.desired = { ...example.desired, annotations: { ...annotations, [keys.additionalTags]: 'team=api' } };
      await settled(example);
    }));

  it('registers nodes as targets by address, too', () =>
    withExample(world, async (example) => {
      example.desired = { ...example.desired, annotations: { [keys.targetType]: 'ip' } };
      const { members } = await settled(example);
      assert.deepEqual(
        members.map(({ providerID }) => providerID).sort(),
        example.vms.map(({ providerID }) => providerID).sort(),
      );
    }));

  it('writes source ranges to the nodes without security groups, and keeps foreign rules', () =>
    withExample(world, async (example) => {
      const rules = async () =>
        sorted(await world.inventory()).filter(
          (item) => item.startsWith('ingress rule nodes-') && item.includes(' tcp '),
        );
      const before = await rules();
      example.desired = { ...example.desired, sourceRanges: ['192.0.2.0/24'] };
      await settled(example);
      assert.ok((await rules()).some((rule) => rule.endsWith('tcp 30080-30080 from 192.0.2.0/24')));
      example.desired = { ...example.desired, sourceRanges: ['198.51.100.0/24'] };
      await settled(example);
      assert.ok(!(await rules()).some((rule) => rule.endsWith('30080-30080 from 192.0.2.0/24')));
      await remove(await example.driving());
      assert.deepEqual(await rules(), before);
    }));

  it('replaces another kind of load balancer only with consent', () =>
    withExample(world, async (example) => {
      const first = await settled(example);
      const balancers = await example.fresh();
      const classic = { ...example.desired, annotations: { [keys.type]: 'clb' } };
      await balancers.observe(refOf(example.desired, example.record));
      const plan = balancers.plan(classic);
      assert.deepEqual(
        plan.refusals.map(({ reason }) => reason),
        ['AddressWouldChange'],
      );
      assert.deepEqual(plan.steps, []);
      example.desired = { ...classic, mayChangeAddress: true };
      const second = await settled(example);
      assert.notEqual(second.id, first.id);
      example.desired = { ...example.desired, annotations: { [keys.type]: 'external' } };
      const refused = await ensure(await example.driving());
      assert.match(refused.refusals[0]?.message ?? '', /external/);
      assert.equal(refused.calls, 0);
    }));

  it('keeps a load balancer that serves another Service, too, when its own goes or needs a replacement', () =>
    withExample(world, async (example) => {
      const { id } = await settled(example);
      const Tags = [{ Key: ownerTags.consent, Value: `${world.cluster}/default` }];
      await world.clients.elbv2.send(new AddTagsCommand({ ResourceArns: [id!], Tags }));
      // Planned before the other one came, as a controller does that looks at everything now and then.
      const balancers = await example.fresh();
      const early = await balancers.observe(refOf(example.desired, example.record));
      await withExample(world, async (other) => {
        other.desired = { ...other.desired, attach: { id: id!, allowed: false }, ports: [port(8443, 30443)] };
        await settled(other);
        example.desired = { ...example.desired, annotations: { [keys.internal]: 'true' }, mayChangeAddress: true };
        const changed = await ensure(await example.driving());
        assert.deepEqual(
          changed.refusals.map(({ reason }) => reason),
          ['Conflict'],
        );
        assert.equal(changed.observed?.id, id);
        assert.deepEqual(await listenersOf(id), ['TCP 80', 'TCP 8443']);
        const plan = balancers.planRemoval(early!.owner!, { retain: false });
        const after = await balancers.apply(plan, { permit: () => {} });
        assert.equal(after?.id, id);
        const removed = await remove(await example.driving());
        assert.deepEqual(
          removed.refusals.map(({ reason }) => reason),
          ['Conflict'],
        );
        assert.deepEqual(await listenersOf(id), ['TCP 8443']);
        assert.deepEqual((await ensure(await other.driving())).calls, 0);
      });
      await world.deleteLoadBalancer(id!);
    }));

  it('creates nothing and adds no members while the annotation with labels of Nodes does not parse', () =>
    withExample(world, async (example) => {
      const annotations = { [keys.targetNodeLabels]: 'a=b=c' };
      const { members } = example.desired;
      example.desired = { ...example.desired, annotations };
      const refused = await ensure(await example.driving());
      assert.deepEqual([refused.calls, refused.refusals.length], [0, 1]);
      assert.match(refused.refusals[0]!.message, /target-node-labels: "a=b=c"/);
      example.desired = { ...example.desired, annotations: {}, members: members.slice(0, 1) };
      await settled(example);
      example.desired = { ...example.desired, annotations, members };
      const kept = await ensure(await example.driving());
      assert.deepEqual([kept.calls, kept.observed?.members.length], [0, 1]);
    }));

  describe('a network load balancer of the classic controller', () => {
    const upstreamTags = (service: string) => [
      { Key: 'kubernetes.io/service-name', Value: service },
      { Key: `kubernetes.io/cluster/${world.network.clusterId}`, Value: 'owned' },
    ];

    /** As that controller does it for a plain Service with one port. */
    async function makeAsClassic({ desired, vms }: Example): Promise<{ arn: string; hostname: string }> {
      const { elbv2 } = world.clients;
      const Tags = upstreamTags(desired.service);
      const SubnetMappings = world.network.subnets.map(({ id }) => ({ SubnetId: id }));
      const { LoadBalancers } = await elbv2.send(
        new CreateLoadBalancerCommand({ Name: desired.name, Type: 'network', SubnetMappings, Tags }),
      );
      const { LoadBalancerArn: arn, DNSName: hostname, VpcId } = LoadBalancers![0]!;
      const key = { port: 80, nodePort: 30080, protocol: 'TCP', health: { protocol: 'TCP', interval: 30 } };
      const { TargetGroups } = await elbv2.send(
        new CreateTargetGroupCommand({
          Name: targetGroupName(world.network.clusterId, desired.service, { ...key, targetType: 'instance' }),
          Protocol: 'TCP',
          Port: 30080,
          VpcId,
          TargetType: 'instance',
          Tags,
          HealthCheckProtocol: 'TCP',
          HealthCheckPort: 'traffic-port',
          HealthCheckIntervalSeconds: 30,
          HealthyThresholdCount: 3,
          UnhealthyThresholdCount: 3,
        }),
      );
      const TargetGroupArn = TargetGroups![0]!.TargetGroupArn!;
      const Targets = vms.map(({ providerID }) => ({ Id: providerID.slice(providerID.lastIndexOf('/') + 1) }));
      await elbv2.send(new RegisterTargetsCommand({ TargetGroupArn, Targets }));
      await elbv2.send(
        new CreateListenerCommand({
          LoadBalancerArn: arn,
          Protocol: 'TCP',
          Port: 80,
          Tags,
          DefaultActions: [{ Type: 'forward', TargetGroupArn }],
        }),
      );
      return { arn: arn!, hostname: hostname! };
    }

    const adopting = ({ desired }: Example, addresses: readonly string[]): LoadBalancerRef => ({
      ...refOf(desired, { id: undefined }),
      adopt: { clusterName: desired.clusterName, addresses },
    });

    it('adopts a load balancer by name and by list without a change, and tags it at the first change', () =>
      withExample(world, async (example) => {
        const { arn, hostname } = await makeAsClassic(example);
        const balancers = await example.fresh();
        const ref = adopting(example, [hostname]);
        const alone = await balancers.observe(ref);
        const all = await balancers.observeAll(world.cluster, undefined, [ref]);
        for (const observed of [alone, all.find(({ owner }) => owner?.service === example.desired.owner.service)]) {
          assert.equal(observed?.id, arn);
          assert.equal(observed.adopted, true);
          assert.deepEqual(observed.owner, example.desired.owner);
          const { steps } = balancers.plan(example.desired);
          // The nodes of this network have no rules for clients yet; nothing else is to be done.
          const kinds = ['listener', 'load balancer', 'node rule', 'target group'];
          assert.deepEqual([...new Set(steps.map(({ resource }) => resource))].sort(), kinds);
        }
        example.desired = { ...example.desired, ports: [port(80, 30080), port(443, 30443)] };
        let observed = alone;
        for (let rounds = 0; rounds < 30; rounds += 1) {
          const plan = balancers.plan(example.desired);
          if (plan.steps.length === 0) break;
          observed = await balancers.apply(plan, { permit: () => {} });
        }
        assert.equal(observed?.id, arn);
        const { TagDescriptions } = await world.clients.elbv2.send(new DescribeTagsCommand({ ResourceArns: [arn] }));
        assert.equal(tagMap(TagDescriptions?.[0]?.Tags)[ownerTags.service], example.desired.owner.service);
        await settled(example);
      }));

    for (const retain of [false, true]) {
      it(`${retain ? 'releases' : 'deletes'} an adopted load balancer whole, also after a crash at any call`, () =>
        withExample(world, async (example) => {
          const before = sorted(await world.inventory());
          for (let crashAfter = 1; ; crashAfter += 1) {
            const { arn, hostname } = await makeAsClassic(example);
            const ref = { ...adopting(example, [hostname]), id: arn };
            const made = sorted(await world.inventory());
            let calls = 0;
            const pass = async (most: number) => {
              const balancers = await example.fresh();
              let observed = await balancers.observe(ref);
              while (observed?.owner && calls < most) {
                const plan = balancers.planRemoval(observed.owner, { retain });
                const isDue = plan.steps.length > 0;
                if (!isDue && plan.waitMs === undefined) break;
                if (isDue) calls += 1;
                observed = isDue ? await balancers.apply(plan, { permit: () => {} }) : await balancers.observe(ref);
              }
            };
            await pass(crashAfter);
            const crashed = calls === crashAfter;
            await pass(Number.POSITIVE_INFINITY);
            assert.deepEqual(sorted(await world.inventory()), retain ? made : before, `after call ${crashAfter}`);
            if (retain) await world.deleteLoadBalancer(arn);
            if (!crashed || calls === crashAfter) break;
          }
        }));
    }

    for (const [what, addresses, clusterId] of [
      ['with another address', ['other.example.com'], undefined],
      ['without an address', [], undefined],
      ['of another cluster', undefined, 'another'],
    ] as const) {
      it(`leaves a load balancer of the classic controller ${what} alone`, () =>
        withExample(world, async (example) => {
          const { arn, hostname } = await makeAsClassic(example);
          if (clusterId !== undefined)
            await world.clients.elbv2.send(
              new AddTagsCommand({
                ResourceArns: [arn],
                Tags: [{ Key: `kubernetes.io/cluster/${world.network.clusterId}`, Value: 'not-ours' }],
              }),
            );
          const balancers = await example.fresh();
          const ref = adopting(example, addresses ?? [hostname]);
          const observed = await balancers.observe(ref);
          assert.equal(observed?.owner, undefined);
          assert.deepEqual(await balancers.observeAll(world.cluster, undefined, [ref]), []);
          await world.deleteLoadBalancer(arn);
        }));
    }
  });

  it('creates a load balancer once though a search misses what a lost answer created', async () => {
    const late = await startAwsWorld({
      server: moto!,
      kind: 'nlb',
      rules: [...loadBalancerRules().slice(0, 1), lateBalancers(2)],
    });
    try {
      for (const lost of [0, 1, 2, 3])
        await withExample(late, async (example) => {
          late.loseAnswer?.(lost);
          const { observed } = await ensure(await example.driving());
          const { LoadBalancers = [] } = await late.clients.elbv2.send(new DescribeLoadBalancersCommand({}));
          const ours = LoadBalancers.filter(({ LoadBalancerName }) => LoadBalancerName === example.desired.name);
          assert.deepEqual(
            ours.map(({ LoadBalancerArn }) => LoadBalancerArn),
            [observed?.id],
          );
        });
    } finally {
      await late.close();
    }
  });

  it('finds the load balancer by its recorded id, and drops a target that AWS deregistered', () =>
    withExample(world, async (example) => {
      const { id, members } = await settled(example);
      assert.equal(members.length, 2);
      const [gone, stays] = example.vms;
      await world.deleteVm(gone!.providerID);
      example.desired = { ...example.desired, members: example.desired.members.slice(1) };
      const after = await settled(example);
      assert.equal(after.id, id);
      assert.deepEqual(
        after.members.map(({ providerID }) => providerID),
        [stays!.providerID],
      );
      const { TargetGroups } = await world.clients.elbv2.send(new DescribeTargetGroupsCommand({ LoadBalancerArn: id }));
      const { TargetHealthDescriptions = [] } = await world.clients.elbv2.send(
        new DescribeTargetHealthCommand({ TargetGroupArn: TargetGroups![0]!.TargetGroupArn }),
      );
      const registered = TargetHealthDescriptions.filter(({ TargetHealth }) => TargetHealth?.State !== 'draining');
      assert.equal(registered.length, 1);
    }));
});
