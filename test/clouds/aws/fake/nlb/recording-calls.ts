import assert from 'node:assert/strict';
import { fakeClock } from '../../../../../common/testing/fake-clock.ts';
import { clusterTagsOf, tagMap } from '../../../../../controller/clouds/aws/cluster-tags.ts';
import type { Tags } from '../../../../../controller/clouds/aws/load-balancer-tags.ts';
import { createNlbApply } from '../../../../../controller/clouds/aws/nlb/apply.ts';
import { assemble, type NlbObserved } from '../../../../../controller/clouds/aws/nlb/observed.ts';
import type { NlbReads } from '../../../../../controller/clouds/aws/nlb/reads.ts';
import type { NlbStep } from '../../../../../controller/clouds/aws/nlb/step.ts';
import type { AwsParts } from '../../../../../controller/clouds/aws/parts.ts';
import { createGroupUsers } from '../../../../../controller/clouds/aws/security-groups/group-users.ts';
import {
  missingRules,
  permissionsOf,
  rulesOf,
} from '../../../../../controller/clouds/aws/security-groups/ingress-rule.ts';
import {
  type InstanceFacts,
  markedBy,
  type ObservedSecurityGroup,
} from '../../../../../controller/clouds/aws/security-groups/network-facts.ts';
import type { NetworkReads } from '../../../../../controller/clouds/aws/security-groups/network-reads.ts';
import { createSecurityGroupCalls } from '../../../../../controller/clouds/aws/security-groups/security-group-calls.ts';
import type { ServiceCalls } from '../../../../../controller/clouds/aws/service-calls.ts';

export const clusterId = 'cluster-a';
export const nodeGroup = 'sg-nodes';
const cluster = clusterTagsOf(clusterId, false);
const vpcId = 'vpc-1';

/** What was sent, with the SDK's own words. */
export interface SentCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: unknown;
}

/** Groups that the operator allows. */
export const permissions = { allowed: new Set(['sg-allowed']), groups: undefined };

export interface RecordingCalls {
  readonly sent: SentCall[];
  apply(step: NlbStep, observed: NlbObserved | undefined): Promise<NlbObserved | undefined>;
  /** As a read some time later shows it: AWS is done, and every target healthy. */
  later(observed: NlbObserved | undefined): NlbObserved | undefined;
}

/** Steps are applied by the code that ships; AWS takes every call, and answers as it does when all goes well. */
export function createRecordingCalls(
  groupsOf: (instance: string) => readonly string[] = () => [nodeGroup],
  tagsOf: (instance: string) => Tags = () => cluster.owned,
  more: readonly ObservedSecurityGroup[] = [],
): RecordingCalls {
  const sent: SentCall[] = [];
  let made = 0;
  const arn = (kind: string, name: string) => {
    made += 1;
    return `arn:aws:elasticloadbalancing:eu-west-1:123456789012:${kind}/${name}/${made.toString(16).padStart(16, '0')}`;
  };
  const answer = (operation: string, input: Readonly<Record<string, unknown>>): unknown => {
    switch (operation) {
      case 'CreateSecurityGroup':
        made += 1;
        return { GroupId: `sg-${made}` };
      case 'CreateLoadBalancer': {
        const name = String(input['Name']);
        const AvailabilityZones = zonesOf(input);
        const fields = { LoadBalancerArn: arn('loadbalancer/net', name), LoadBalancerName: name, VpcId: vpcId };
        const more = { State: { Code: 'provisioning' }, DNSName: `${name}.elb.eu-west-1.amazonaws.com` };
        return { LoadBalancers: [{ ...input, ...fields, ...more, AvailabilityZones }] };
      }
      case 'SetSubnets':
        return { AvailabilityZones: zonesOf(input) };
      case 'CreateTargetGroup': {
        const name = String(input['Name']);
        return { TargetGroups: [{ ...input, TargetGroupName: name, TargetGroupArn: arn('targetgroup', name) }] };
      }
      case 'CreateListener':
        return { Listeners: [{ ...input, ListenerArn: arn('listener/net', String(input['Port'])) }] };
      default:
        return {};
    }
  };
  const carriers = new Map<string, { readonly LoadBalancerName: string; readonly SecurityGroups: readonly string[] }>();
  const groups = new Map<string, ObservedSecurityGroup>([
    [nodeGroup, { id: nodeGroup, name: 'nodes', tags: cluster.owned, ingress: [] }],
    ...more.map((one) => [one.id, one] as const),
  ]);
  const keep = (operation: string, input: Readonly<Record<string, unknown>>, made: unknown) => {
    const id = String(input['GroupId']);
    const group = groups.get(id);
    const rules = rulesOf(input['IpPermissions'] as Parameters<typeof rulesOf>[0]);
    if (operation === 'CreateSecurityGroup') {
      const { GroupId } = made as { readonly GroupId: string };
      const [specification] = input['TagSpecifications'] as { Tags: { Key: string; Value: string }[] }[];
      const tags = tagMap(specification?.Tags);
      groups.set(GroupId, { id: GroupId, name: String(input['GroupName']), tags, ingress: [] });
    }
    if (operation === 'DeleteSecurityGroup') groups.delete(id);
    if (operation === 'AuthorizeSecurityGroupIngress' && group)
      groups.set(id, { ...group, ingress: [...group.ingress, ...rules] });
    if (operation === 'RevokeSecurityGroupIngress' && group)
      groups.set(id, { ...group, ingress: missingRules(group.ingress, rules) });
    if (operation === 'CreateLoadBalancer') {
      const [balancer] = (made as { LoadBalancers: { LoadBalancerArn: string }[] }).LoadBalancers;
      const SecurityGroups = (input['SecurityGroups'] as string[] | undefined) ?? [];
      carriers.set(balancer!.LoadBalancerArn, { LoadBalancerName: String(input['Name']), SecurityGroups });
    }
    if (operation === 'DeleteLoadBalancer') carriers.delete(String(input['LoadBalancerArn']));
  };
  const calls: ServiceCalls = {
    async read(operation) {
      assert.equal(operation, 'DescribeLoadBalancers');
      return { LoadBalancers: [...carriers.values()] } as never;
    },
    async change(operation, command, { permit }) {
      permit(1000);
      const { input } = command as unknown as { readonly input: Readonly<Record<string, unknown>> };
      const made = answer(operation, input);
      sent.push({ operation, input, output: made });
      keep(operation, input, made);
      return made as never;
    },
    credential: async () => {},
    close: () => {},
  };
  const instances = async (ids: readonly string[]) =>
    new Map(
      ids.map((id): [string, InstanceFacts] => [id, { zone: 'eu-west-1a', groups: groupsOf(id), tags: tagsOf(id) }]),
    );
  const subnets = ['a', 'b'].map((letter, at) => ({
    ...{ id: `subnet-${letter}`, zone: `eu-west-1${letter}`, cidrs: [`10.0.${at}.0/24`] },
    ...{ ipv6Cidrs: [`2001:db8:${at}::/64`], public: true, tags: cluster.owned },
  }));
  const network: NetworkReads = {
    async facts(ids) {
      const known = { vpcId, groups: new Map(groups), instances: await instances(ids), ...markedBy(cluster) };
      return { ...known, users: undefined, busy: new Set() };
    },
    instances,
    lastGroups: () => new Map(groups),
    subnets: async () => subnets,
    vpc: async () => vpcId,
    ...{ noteGroup: () => {}, noteInstance: () => {}, lastSubnets: () => subnets },
    ...{ knownInstances: () => new Map(), groupsOfInstances: () => new Set() },
  };
  const ec2 = {
    ...calls,
    async read(operation: string, { input }: { readonly input: { readonly GroupIds: readonly string[] } }) {
      assert.equal(operation, 'DescribeSecurityGroups');
      const found = input.GroupIds.flatMap((id) => groups.get(id) ?? []);
      return {
        SecurityGroups: found.map(({ id, name, tags, ingress }) => ({
          ...{ GroupId: id, GroupName: name, IpPermissions: permissionsOf(ingress) },
          Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
        })),
      };
    },
  } as unknown as AwsParts['ec2'];
  const config = { subnetId: undefined };
  const { allowed: allowedGroups } = permissions;
  const context = { clock: fakeClock() };
  const parts = {
    allowedGroups,
    ec2,
    config,
    context,
    elb: () => calls,
    elbv2: () => calls,
    cluster: async () => cluster,
  } as unknown as AwsParts;
  const users = createGroupUsers(parts);
  const securityGroups = createSecurityGroupCalls(parts, network, users);
  const kept = { keepBalancer: () => {}, keepGroup: () => {}, forget: () => {} };
  const reads = {
    ...{ awaitCluster: async () => cluster, cluster: () => cluster, listeners: async () => [], kept },
  } as unknown as NlbReads;
  const apply = createNlbApply({ parts, reads, network, securityGroups });
  return {
    sent,
    apply: (step, observed) => apply(step, observed, { permit: () => {} }),
    later(observed) {
      if (!observed) return undefined;
      const { own, groups: held, network: before } = observed.pieces;
      return assemble({
        ...observed.pieces,
        own: own && { ...own, state: 'active' },
        groups: held.map((group) => ({ ...group, targets: group.targets.map((one) => ({ ...one, healthy: true })) })),
        network: { ...before, groups: new Map(groups) },
      });
    },
  };
}

function zonesOf(input: Readonly<Record<string, unknown>>) {
  const mappings = input['SubnetMappings'] as { SubnetId: string; AllocationId?: string }[];
  return mappings.map(({ SubnetId, ...address }) => ({
    ...{ ZoneName: `eu-west-1${SubnetId.at(-1)}`, SubnetId, LoadBalancerAddresses: [address] },
  }));
}
