import assert from 'node:assert/strict';
import { toCloudError } from '../../../../controller/clouds/aws/errors.ts';
import { permissionsOf, ruleKey, rulesOf } from '../../../../controller/clouds/aws/security-groups/ingress-rule.ts';
import type {
  InstanceFacts,
  ObservedSecurityGroup,
} from '../../../../controller/clouds/aws/security-groups/network-facts.ts';
import { operationOf, type SdkCommand, type ServiceCalls } from '../../../../controller/clouds/aws/service-calls.ts';
import type { Permit } from '../../../../controller/clouds/permit.ts';
import { attachedTo, detachedFrom } from './fake-classic.ts';
import { elbV2Actions } from './fake-elbv2.ts';
import { AwsFault } from './query.ts';
import { demandRoom, fewGroups } from './quotas.ts';
import { type FakeRegion, newRegion } from './region.ts';

type Input = Readonly<Record<string, unknown>>;
type Tags = Readonly<Record<string, string>>;

/** One classic load balancer, in the words of DescribeLoadBalancers. */
export interface FakeBalancer {
  readonly description: Input & { readonly LoadBalancerName: string; readonly DNSName: string };
  readonly tags: Tags;
  readonly attributes: Input;
}

export interface FakeAwsOptions {
  readonly groups: readonly ObservedSecurityGroup[];
  readonly instance: (id: string) => InstanceFacts | undefined;
  readonly subnets: readonly {
    readonly id: string;
    readonly zone: string;
    readonly tags: Tags;
    /** Whether it has an IPv6 range. Default: yes. */
    readonly ipv6?: boolean;
  }[];
}

/** A call, with the SDK's own words; those about network load balancers begin with `v2`. */
export interface SentCall {
  readonly operation: string;
  readonly input: Input;
  output?: unknown;
}

/** Security groups and load balancers of one VPC: what clients of the SDK would answer. Each call is one turn. */
export function createFakeAws({ groups: first, instance, subnets }: FakeAwsOptions) {
  const groups = new Map(first.map((group) => [group.id, group]));
  const balancers = new Map<string, FakeBalancer>();
  /** What the API of network load balancers shows and changes. */
  const region: FakeRegion = {
    ...newRegion(),
    subnets: new Map(subnets.map(({ id, zone }) => [id, { id, zone, vpcId: 'vpc-1', cidr: '', tags: new Map() }])),
    groups: groups as never,
    instances: { get: (id: string) => instance(id) && { id, state: 'running' } } as never,
  };
  const reads: SentCall[] = [];
  const sent: SentCall[] = [];
  let made = 0;
  /** Asked before each mutating call is done; after it where it answers `lose`. */
  let hook: (call: SentCall) => 'lose' | undefined = () => undefined;
  /** Load balancers whose tags an answer leaves out, or says to be of nothing. */
  let [leftOut, unknown] = ['', ''];
  /** Groups that AWS keeps in use for so many more tries, by name. */
  const busy = new Map<string, number>();

  const name = (input: Input) => String(input['LoadBalancerName']);
  function balancer(input: Input): FakeBalancer {
    const found = balancers.get(name(input));
    if (found === undefined) throw failure('LoadBalancerNotFound', name(input));
    return found;
  }
  function describe(input: Input, change: (old: Input) => Input): void {
    const { description, ...rest } = balancer(input);
    balancers.set(name(input), { ...rest, description: { ...description, ...change(description) } });
  }
  const list = <T>(value: unknown) => (value ?? []) as readonly T[];
  const pairs = (tags: unknown) =>
    Object.fromEntries(list<{ Key: string; Value: string }>(tags).map(({ Key, Value }) => [Key, Value]));
  const toPairs = (tags: Tags) => Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
  function group(id: unknown): ObservedSecurityGroup {
    const found = groups.get(String(id));
    if (found === undefined) throw failure('InvalidGroup.NotFound', String(id));
    return found;
  }
  const listeners = (old: Input) =>
    list<{ Listener: { LoadBalancerPort: number }; PolicyNames: string[] }>(old['ListenerDescriptions']);
  const asListener = (Listener: unknown) => ({ Listener, PolicyNames: [] });
  const ids = (of: unknown) => list<{ InstanceId: string }>(of).map(({ InstanceId }) => InstanceId);

  function isUsed(id: string): boolean {
    const carriers = [...balancers.values()].map(({ description }) => list<string>(description['SecurityGroups']));
    const all = [...carriers, ...[...region.balancers.values()].map((one) => one.groups)];
    const named = [...groups.values()].some((one) => one.id !== id && one.ingress.some(({ source }) => source === id));
    return named || all.some((carried) => carried.includes(id));
  }

  /** The instance i-7 has the address 10.0.0.7. */
  function byAddress(addresses: readonly string[]) {
    return addresses.map((PrivateIpAddress) => ({
      InstanceId: `i-${PrivateIpAddress.split('.')[3]}`,
      Placement: { AvailabilityZone: 'eu-west-1a' },
      NetworkInterfaces: [{ PrivateIpAddresses: [{ PrivateIpAddress }] }],
    }));
  }

  const answers: Readonly<Record<string, (input: Input) => unknown>> = {
    DescribeSecurityGroups(input) {
      const asked = input['GroupIds'] === undefined ? [...groups.values()] : list(input['GroupIds']).map(group);
      return {
        SecurityGroups: asked.map(({ id, name: GroupName, tags, ingress }) => {
          return { GroupId: id, GroupName, Tags: toPairs(tags), IpPermissions: permissionsOf(ingress) };
        }),
      };
    },
    CreateSecurityGroup(input) {
      const taken = [...groups.values()].some((one) => one.name === input['GroupName']);
      if (taken) throw failure('InvalidGroup.Duplicate', String(input['GroupName']));
      made += 1;
      const id = `sg-${made}`;
      const [{ Tags } = { Tags: [] }] = list<{ Tags: unknown }>(input['TagSpecifications']);
      groups.set(id, { id, name: String(input['GroupName']), tags: pairs(Tags), ingress: [] });
      return { GroupId: id };
    },
    AuthorizeSecurityGroupIngress(input) {
      const one = group(input['GroupId']);
      const rules = rulesOf(list(input['IpPermissions']));
      const there = new Set(one.ingress.map(ruleKey));
      if (rules.some((rule) => there.has(ruleKey(rule)))) throw failure('InvalidPermission.Duplicate', one.id);
      demandRoom([...one.ingress, ...rules]);
      groups.set(one.id, { ...one, ingress: [...one.ingress, ...rules] });
      return {};
    },
    RevokeSecurityGroupIngress(input) {
      const one = group(input['GroupId']);
      const gone = new Set(rulesOf(list(input['IpPermissions'])).map(ruleKey));
      const left = one.ingress.filter((rule) => !gone.has(ruleKey(rule)));
      if (left.length + gone.size !== one.ingress.length) throw failure('InvalidPermission.NotFound', one.id);
      groups.set(one.id, { ...one, ingress: left });
      return {};
    },
    DeleteSecurityGroup(input) {
      const { id, name: its } = group(input['GroupId']);
      const left = busy.get(its) ?? 0;
      if (left > 0) busy.set(its, left - 1);
      if (left > 0 || isUsed(id)) throw failure('DependencyViolation', `resource ${id} has a dependent object`);
      groups.delete(id);
      return {};
    },
    CreateTags(input) {
      for (const id of list(input['Resources'])) {
        const one = group(id);
        groups.set(one.id, { ...one, tags: { ...one.tags, ...pairs(input['Tags']) } });
      }
      return {};
    },
    DeleteTags(input) {
      const keys = list<{ Key: string }>(input['Tags']).map(({ Key }) => Key);
      for (const id of list(input['Resources'])) {
        const one = group(id);
        groups.set(one.id, { ...one, tags: without(one.tags, keys) });
      }
      return {};
    },
    DescribeInstances(input) {
      const [filter] = list<{ Name: string; Values: string[] }>(input['Filters']).filter(
        ({ Name }) => Name !== 'vpc-id',
      );
      if (filter?.Name !== 'instance-id') return { Reservations: [{ Instances: byAddress(filter?.Values ?? []) }] };
      const Instances = (filter?.Values ?? []).flatMap((InstanceId) => {
        const known = instance(InstanceId);
        if (known === undefined) return [];
        const SecurityGroups = known.groups.map((GroupId) => ({ GroupId }));
        return [{ InstanceId, Placement: { AvailabilityZone: known.zone }, SecurityGroups, Tags: toPairs(known.tags) }];
      });
      return { Reservations: [{ Instances }] };
    },
    DescribeSubnets: () => ({
      Subnets: subnets.map(({ id, zone, tags, ipv6 = true }, at) => {
        const range = { Ipv6CidrBlock: `2001:db8:${at}::/64`, Ipv6CidrBlockState: { State: 'associated' } };
        const Ipv6CidrBlockAssociationSet = ipv6 ? [range] : [];
        const CidrBlock = `10.0.${at}.0/24`;
        return { SubnetId: id, AvailabilityZone: zone, CidrBlock, Ipv6CidrBlockAssociationSet, Tags: toPairs(tags) };
      }),
    }),
    DescribeRouteTables: () => ({
      RouteTables: [{ Associations: [{ Main: true }], Routes: [{ GatewayId: 'igw-1' }] }],
    }),
    DescribeLoadBalancers(input) {
      const asked = input['LoadBalancerNames'];
      const all =
        asked === undefined
          ? [...balancers.values()]
          : list<string>(asked).map((LoadBalancerName) => balancer({ LoadBalancerName }));
      return { LoadBalancerDescriptions: all.map(({ description }) => structuredClone(description)) };
    },
    DescribeTags(input) {
      const names = list<string>(input['LoadBalancerNames']);
      assert.ok(names.length <= 20, 'DescribeTags takes 20 names');
      if (names.includes(unknown)) throw failure('LoadBalancerNotFound', unknown);
      return {
        TagDescriptions: names
          .filter((one) => one !== leftOut)
          .map((LoadBalancerName) => {
            return { LoadBalancerName, Tags: toPairs(balancer({ LoadBalancerName }).tags) };
          }),
      };
    },
    DescribeLoadBalancerAttributes: (input) => ({ LoadBalancerAttributes: balancer(input).attributes }),
    CreateLoadBalancer(input) {
      if (balancers.has(name(input))) throw failure('DuplicateLoadBalancerName', name(input));
      made += 1;
      const DNSName = `${name(input)}-${made}.eu-west-1.elb.amazonaws.com`;
      const description = {
        LoadBalancerName: name(input),
        DNSName,
        Scheme: input['Scheme'] ?? 'internet-facing',
        Subnets: input['Subnets'],
        SecurityGroups: fewGroups(list(input['SecurityGroups'])),
        Instances: [],
        ListenerDescriptions: list(input['Listeners']).map(asListener),
        Policies: { OtherPolicies: [] },
        HealthCheck: { Target: 'TCP:80', Interval: 30, Timeout: 5, HealthyThreshold: 10, UnhealthyThreshold: 2 },
      };
      balancers.set(name(input), { description, tags: pairs(input['Tags']), attributes: {} });
      return { DNSName };
    },
    DeleteLoadBalancer(input) {
      balancers.delete(name(input));
      return {};
    },
    AttachLoadBalancerToSubnets(input) {
      describe(input, (old) => ({ Subnets: attachedTo(region, list(old['Subnets']), list(input['Subnets'])) }));
      return { Subnets: balancer(input).description['Subnets'] };
    },
    DetachLoadBalancerFromSubnets(input) {
      describe(input, (old) => ({ Subnets: detachedFrom(list(old['Subnets']), list(input['Subnets'])) }));
      return {};
    },
    ApplySecurityGroupsToLoadBalancer(input) {
      describe(input, () => ({
        SecurityGroups: fewGroups(list<string>(input['SecurityGroups'])).map((id) => group(id).id),
      }));
      return {};
    },
    CreateLoadBalancerListeners(input) {
      describe(input, (old) => ({
        ListenerDescriptions: [...listeners(old), ...list(input['Listeners']).map(asListener)],
      }));
      const ports = listeners(balancer(input).description).map(({ Listener }) => Listener.LoadBalancerPort);
      assert.equal(new Set(ports).size, ports.length, 'DuplicateListener');
      return {};
    },
    DeleteLoadBalancerListeners(input) {
      const gone = list(input['LoadBalancerPorts']);
      describe(input, (old) => ({
        ListenerDescriptions: listeners(old).filter(({ Listener }) => !gone.includes(Listener.LoadBalancerPort)),
      }));
      return {};
    },
    SetLoadBalancerListenerSSLCertificate(input) {
      changeListener(input, ({ Listener, ...rest }) => ({
        ...rest,
        Listener: { ...Listener, SSLCertificateId: input['SSLCertificateId'] },
      }));
      return {};
    },
    SetLoadBalancerPoliciesOfListener(input) {
      changeListener(input, (one) => ({ ...one, PolicyNames: [...list<string>(input['PolicyNames'])] }));
      return {};
    },
    CreateLoadBalancerPolicy(input) {
      describe(input, (old) => {
        const { OtherPolicies } = old['Policies'] as { OtherPolicies: string[] };
        if (OtherPolicies.includes(String(input['PolicyName']))) throw failure('DuplicatePolicyName', 'there');
        return { Policies: { OtherPolicies: [...OtherPolicies, input['PolicyName']] } };
      });
      return {};
    },
    SetLoadBalancerPoliciesForBackendServer(input) {
      const { InstancePort, PolicyNames } = input;
      describe(input, (old) => ({
        BackendServerDescriptions: [
          ...list<Input>(old['BackendServerDescriptions']).filter((one) => one['InstancePort'] !== InstancePort),
          ...(list(PolicyNames).length > 0 ? [{ InstancePort, PolicyNames }] : []),
        ],
      }));
      return {};
    },
    ModifyLoadBalancerAttributes(input) {
      const { attributes, ...rest } = balancer(input);
      const changed = input['LoadBalancerAttributes'] as Input;
      balancers.set(name(input), { ...rest, attributes: { ...attributes, ...changed } });
      return {};
    },
    ConfigureHealthCheck(input) {
      describe(input, () => ({ HealthCheck: input['HealthCheck'] }));
      return {};
    },
    RegisterInstancesWithLoadBalancer(input) {
      const missing = ids(input['Instances']).find((id) => instance(id) === undefined);
      if (missing !== undefined) throw failure('InvalidInstance', `Could not find EC2 instance ${missing}.`);
      describe(input, (old) => {
        const all = new Set([...ids(old['Instances']), ...ids(input['Instances'])]);
        return { Instances: [...all].map((InstanceId) => ({ InstanceId })) };
      });
      return {};
    },
    DeregisterInstancesFromLoadBalancer(input) {
      const gone = ids(input['Instances']);
      describe(input, (old) => ({
        Instances: list<{ InstanceId: string }>(old['Instances']).filter(
          ({ InstanceId }) => !gone.includes(InstanceId),
        ),
      }));
      return {};
    },
    AddTags(input) {
      for (const LoadBalancerName of list<string>(input['LoadBalancerNames'])) {
        const one = balancer({ LoadBalancerName });
        balancers.set(LoadBalancerName, { ...one, tags: { ...one.tags, ...pairs(input['Tags']) } });
      }
      return {};
    },
    RemoveTags(input) {
      const keys = list<{ Key: string }>(input['Tags']).map(({ Key }) => Key);
      for (const LoadBalancerName of list<string>(input['LoadBalancerNames'])) {
        const one = balancer({ LoadBalancerName });
        balancers.set(LoadBalancerName, { ...one, tags: without(one.tags, keys) });
      }
      return {};
    },
  };

  function changeListener(input: Input, change: (one: { Listener: { LoadBalancerPort: number } }) => Input): void {
    describe(input, (old) => ({
      ListenerDescriptions: listeners(old).map((one) =>
        one.Listener.LoadBalancerPort === input['LoadBalancerPort'] ? change(one) : one,
      ),
    }));
  }

  function answer(operation: string, input: Input): unknown {
    const work = answers[operation];
    assert.ok(work, `${operation} is not known here`);
    try {
      return work(input);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      throw toCloudError(error instanceof AwsFault ? failure(error.code, error.message) : error, operation);
    }
  }

  /** Answers of the other API, which has dates and numbers where the wire has texts. */
  function answerNetwork(operation: string, input: Input): unknown {
    const work = elbV2Actions[operation];
    assert.ok(work, `${operation} is not known here`);
    try {
      const shown = structuredClone(work(region, structuredClone(input) as never)) as {
        LoadBalancers?: { CreatedTime: unknown }[];
      };
      for (const one of shown.LoadBalancers ?? []) one.CreatedTime = new Date(String(one.CreatedTime));
      return shown;
    } catch (error) {
      if (!(error instanceof AwsFault)) throw error;
      throw toCloudError(failure(error.code, error.message), operation);
    }
  }

  function callsTo(service: 'classic' | 'network', answerTo: typeof answer): ServiceCalls {
    const named = (operation: string) => (service === 'network' ? `v2 ${operation}` : operation);
    return {
      async read(command: SdkCommand<unknown> & { readonly input: Input }) {
        const operation = operationOf(command);
        const { input } = command;
        reads.push({ operation: named(operation), input });
        return answerTo(operation, input);
      },
      async change(command: SdkCommand<unknown> & { readonly input: Input }, { permit }: { readonly permit: Permit }) {
        const operation = operationOf(command);
        const { input } = command;
        permit(1000);
        const call: SentCall = { operation: named(operation), input };
        const isLost = hook(call) === 'lose';
        sent.push(call);
        const output = answerTo(operation, input);
        call.output = output;
        if (isLost) throw toCloudError(Object.assign(new Error('lost'), { name: 'TimeoutError' }), operation);
        return output;
      },
    } as unknown as ServiceCalls;
  }
  const calls = callsTo('classic', answer);
  const network = callsTo('network', answerNetwork);

  return {
    groups,
    balancers,
    region,
    reads,
    sent,
    busy,
    calls,
    network,
    setTagsLeftOut: (name: string) => {
      leftOut = name;
    },
    setTagsUnknown: (name: string) => {
      unknown = name;
    },
    setHook: (next: typeof hook) => {
      hook = next;
    },
  };
}

function without(tags: Tags, keys: readonly string[]): Tags {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !keys.includes(key)));
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { Code: code, $metadata: { httpStatusCode: 400 } });
}
