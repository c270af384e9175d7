import { AwsFault, pageOf, type SdkTag, setTags, type Wire } from './query.ts';
import { demandRoom } from './quotas.ts';
import { type FakeRegion, type FakeRule, type FakeSecurityGroup, newId, tagsIn } from './region.ts';

interface Permission {
  readonly IpProtocol: string;
  readonly FromPort?: string;
  readonly ToPort?: string;
  readonly IpRanges?: readonly { readonly CidrIp: string; readonly Description?: string }[];
  readonly Ipv6Ranges?: readonly { readonly CidrIpv6: string; readonly Description?: string }[];
  readonly Groups?: readonly { readonly GroupId: string; readonly Description?: string }[];
  readonly PrefixListIds?: readonly { readonly PrefixListId: string; readonly Description?: string }[];
}

/** The parameters that the actions below read. */
interface Request {
  readonly VpcId?: string;
  readonly CidrBlock?: string;
  readonly AvailabilityZone?: string;
  readonly RouteTableId?: string;
  readonly SubnetId?: string | readonly string[];
  readonly GroupId?: string | readonly string[];
  readonly GroupName?: string;
  readonly GroupDescription?: string;
  readonly IpPermissions?: readonly Permission[];
  readonly ResourceId?: readonly string[];
  readonly Tag?: readonly SdkTag[];
  readonly TagSpecification?: readonly { readonly Tag?: readonly SdkTag[] }[];
  readonly Filter?: readonly { readonly Name: string; readonly Value: readonly string[] }[];
  readonly MaxResults?: string;
  readonly NextToken?: string;
}

type Action = (region: FakeRegion, request: Request) => Wire;

const done: Wire = { return: true };

/** EC2's actions about VPCs, subnets, security groups and tags. */
export const networkActions: Readonly<Record<string, Action>> = {
  CreateVpc: (region, { CidrBlock }) => ({
    vpc: { vpcId: newId(region, 'vpc'), state: 'available', cidrBlock: CidrBlock },
  }),
  CreateInternetGateway: (region) => ({ internetGateway: { internetGatewayId: newId(region, 'igw') } }),
  AttachInternetGateway: () => done,
  DescribeVpcs: () => ({ vpcSet: [] }),
  CreateSubnet(region, { VpcId: vpcId = '', AvailabilityZone: zone = '', CidrBlock: cidr = '', ...request }) {
    const subnet = { id: newId(region, 'subnet'), vpcId, zone, cidr, tags: newTags(request) };
    region.subnets.set(subnet.id, subnet);
    return { subnet: subnetItem(subnet) };
  },
  DescribeSubnets(region, { Filter = [] }) {
    const hits = [...region.subnets.values()].filter((subnet) =>
      Filter.every(({ Name, Value }) => {
        if (Name === 'vpc-id') return Value.includes(subnet.vpcId);
        if (Name === 'tag-key') return Value.some((key) => subnet.tags.has(key));
        throw unknownFilter(Name);
      }),
    );
    return { subnetSet: hits.map(subnetItem) };
  },
  CreateRouteTable(region, { VpcId: vpcId = '', ...request }) {
    const id = newId(region, 'rtb');
    const tags = Object.fromEntries(newTags(request));
    region.tables.set(id, { id, vpcId, tags, subnets: new Set(), routes: new Map() });
    return { routeTable: { routeTableId: id, vpcId } };
  },
  AssociateRouteTable(region, { RouteTableId = '', SubnetId }) {
    region.tables.get(RouteTableId)?.subnets?.add(String(SubnetId));
    return { associationId: newId(region, 'rtbassoc') };
  },
  CreateSecurityGroup(region, { GroupName: name = '', VpcId: vpcId = '', GroupDescription = '', ...request }) {
    if ([...region.groups.values()].some((one) => one.name === name && one.vpcId === vpcId)) {
      throw new AwsFault('InvalidGroup.Duplicate', `The security group '${name}' already exists for VPC '${vpcId}'`);
    }
    const id = newId(region, 'sg');
    region.groups.set(id, { id, name, vpcId, description: GroupDescription, tags: newTags(request), ingress: [] });
    return { return: true, groupId: id };
  },
  DescribeSecurityGroups(region, { GroupId: ids, Filter = [], MaxResults = '1000', NextToken }) {
    const named = Array.isArray(ids) ? ids.map((id: string) => groupOf(region, id)) : [...region.groups.values()];
    const hits = named.filter((group) => Filter.every(({ Name, Value }) => groupMatches(group, Name, Value)));
    const { page, next } = pageOf(hits, NextToken, Math.min(Number(MaxResults), region.pageSize));
    return { securityGroupInfo: page.map(groupItem), nextToken: next };
  },
  DeleteSecurityGroup(region, { GroupId }) {
    const { id } = groupOf(region, String(GroupId));
    const held = region.held.get(id) ?? 0;
    region.held.set(id, held - 1);
    if (held > 0 || isUsed(region, id)) {
      throw new AwsFault('DependencyViolation', `resource ${id} has a dependent object`);
    }
    region.groups.delete(id);
    return done;
  },
  AuthorizeSecurityGroupIngress(region, { GroupId, IpPermissions }) {
    const group = groupOf(region, String(GroupId));
    const there = new Set(group.ingress.map(ruleKey));
    const rules = rulesIn(region, IpPermissions);
    const duplicate = rules.find((rule) => there.has(ruleKey(rule)));
    if (duplicate !== undefined) {
      const message = `the specified rule "peer: ${duplicate.source}" already exists`;
      throw new AwsFault('InvalidPermission.Duplicate', message);
    }
    demandRoom([...group.ingress, ...rules]);
    group.ingress = [...group.ingress, ...rules];
    return done;
  },
  RevokeSecurityGroupIngress(region, { GroupId, IpPermissions }) {
    const group = groupOf(region, String(GroupId));
    const there = new Set(group.ingress.map(ruleKey));
    const keys = new Set(rulesIn(region, IpPermissions).map(ruleKey));
    if (![...keys].every((key) => there.has(key))) {
      const message = 'The specified rule does not exist in this security group.';
      throw new AwsFault('InvalidPermission.NotFound', message);
    }
    group.ingress = group.ingress.filter((rule) => !keys.has(ruleKey(rule)));
    return done;
  },
  CreateTags(region, { ResourceId = [], Tag }) {
    assertThere(region, ResourceId);
    for (const id of ResourceId) retag(region, id, (tags) => setTags(tags, Tag));
    return done;
  },
  DeleteTags(region, { ResourceId = [], Tag = [] }) {
    assertThere(region, ResourceId);
    for (const id of ResourceId) {
      retag(region, id, (tags) => {
        // Without a value EC2 deletes the tag whatever its value is.
        for (const { Key, Value } of Tag) if (Value === undefined || tags.get(Key) === Value) tags.delete(Key);
      });
    }
    return done;
  },
};

function newTags({ TagSpecification = [] }: Request): Map<string, string> {
  return tagsIn(TagSpecification.flatMap(({ Tag = [] }) => Tag));
}

/** A call is for all or none. EC2 names the instances that it does not have. */
function assertThere({ instances }: FakeRegion, ids: readonly string[]): void {
  const missing = ids.filter((id) => id.startsWith('i-') && !instances.has(id));
  if (missing.length === 0) return;
  const named = missing.length === 1 ? `ID '${missing[0]}' does` : `IDs '${missing.join(', ')}' do`;
  throw new AwsFault('InvalidInstanceID.NotFound', `The instance ${named} not exist`);
}

function retag(region: FakeRegion, id: string, change: (tags: Map<string, string>) => void): void {
  const own = region.groups.get(id)?.tags ?? region.subnets.get(id)?.tags;
  if (own !== undefined) {
    change(own);
    return;
  }
  const instance = region.instances.get(id);
  if (instance === undefined) throw new AwsFault('InvalidID', `The ID '${id}' is not valid`);
  const tags = new Map(Object.entries(instance.tags ?? {}));
  change(tags);
  region.instances.set(id, { ...instance, tags: Object.fromEntries(tags) });
}

function groupOf(region: FakeRegion, id: string): FakeSecurityGroup {
  const group = region.groups.get(id);
  if (group === undefined) {
    throw new AwsFault('InvalidGroup.NotFound', `The security group '${id}' does not exist`);
  }
  return group;
}

/** By an instance, a load balancer, or a rule of another group. */
function isUsed({ instances, groups, classic, balancers }: FakeRegion, id: string): boolean {
  const users = [...instances.values()].filter(({ state }) => state !== 'terminated');
  const carriers = [...users, ...classic.values(), ...balancers.values()];
  if (carriers.some(({ groups: its }) => its?.includes(id))) return true;
  return [...groups.values()].some((group) => group.id !== id && group.ingress.some(({ source }) => source === id));
}

function groupMatches(group: FakeSecurityGroup, name: string, values: readonly string[]): boolean {
  if (name === 'vpc-id') return values.includes(group.vpcId);
  if (name === 'group-name') return values.includes(group.name);
  if (name === 'group-id') return values.includes(group.id);
  if (name === 'ip-permission.group-id') return group.ingress.some(({ source }) => values.includes(source));
  if (name === 'tag-key') return values.some((key) => group.tags.has(key));
  if (name.startsWith('tag:')) return values.includes(group.tags.get(name.slice('tag:'.length)) ?? '');
  throw unknownFilter(name);
}

function rulesIn(region: FakeRegion, permissions: readonly Permission[] = []): FakeRule[] {
  return permissions.flatMap(({ IpProtocol, FromPort, ToPort, ...sources }) => {
    const { IpRanges = [], Ipv6Ranges = [], Groups = [], PrefixListIds = [] } = sources;
    for (const { GroupId } of Groups) groupOf(region, GroupId);
    return [
      ...IpRanges.map(({ CidrIp, Description }) => [CidrIp, Description] as const),
      ...Ipv6Ranges.map(({ CidrIpv6, Description }) => [CidrIpv6, Description] as const),
      ...Groups.map(({ GroupId, Description }) => [GroupId, Description] as const),
      ...PrefixListIds.map(({ PrefixListId, Description }) => [PrefixListId, Description] as const),
    ].map(([source, description]) => ({
      protocol: IpProtocol,
      fromPort: FromPort,
      toPort: ToPort,
      source,
      description,
    }));
  });
}

/** EC2 takes rules that differ in their description alone for the same one. */
function ruleKey({ protocol, fromPort, toPort, source }: FakeRule): string {
  return `${protocol} ${fromPort}-${toPort} ${source}`;
}

function unknownFilter(name: string): AwsFault {
  return new AwsFault('InvalidParameterValue', `The filter '${name}' is invalid`);
}

function subnetItem(subnet: {
  id: string;
  vpcId: string;
  zone: string;
  cidr: string;
  tags: Map<string, string>;
}): Wire {
  const { id, vpcId, zone, cidr, tags } = subnet;
  return { subnetId: id, vpcId, availabilityZone: zone, cidrBlock: cidr, tagSet: tagItems(tags) };
}

function groupItem({ id, name, description, vpcId, tags, ingress }: FakeSecurityGroup): Wire {
  const byPorts = Map.groupBy(ingress, ({ protocol, fromPort, toPort }) => `${protocol} ${fromPort} ${toPort}`);
  const permissions = [...byPorts.values()].map((rules): Wire => {
    const [{ protocol, fromPort, toPort }] = rules as [FakeRule];
    const of = (is: (source: string) => boolean, field: string) =>
      rules
        .filter(({ source }) => is(source))
        .map(({ source, description }): Wire => ({ [field]: source, description }));
    const isRange = (source: string) => !/^(sg|pl)-/.test(source);
    return {
      ipProtocol: protocol,
      fromPort,
      toPort,
      groups: of((source) => source.startsWith('sg-'), 'groupId'),
      prefixListIds: of((source) => source.startsWith('pl-'), 'prefixListId'),
      ipRanges: of((source) => isRange(source) && !source.includes(':'), 'cidrIp'),
      ipv6Ranges: of((source) => isRange(source) && source.includes(':'), 'cidrIpv6'),
    };
  });
  return {
    groupId: id,
    groupName: name,
    groupDescription: description,
    vpcId,
    ipPermissions: permissions,
    tagSet: tagItems(tags),
  };
}

function tagItems(tags: ReadonlyMap<string, string>): Wire[] {
  return [...tags].map(([key, value]) => ({ key, value }));
}
