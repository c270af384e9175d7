import { AwsFault, pageOf, type Wire } from './query.ts';
import { type FakeInstance, type FakeRegion, newId, tagsIn } from './region.ts';

/** The parameters that the actions below read. */
interface Request {
  readonly ImageId?: string;
  readonly InstanceType?: string;
  readonly MinCount?: string;
  readonly SubnetId?: string;
  readonly SecurityGroupId?: readonly string[];
  readonly InstanceId?: readonly string[];
  readonly TagSpecification?: readonly { readonly Tag?: readonly { readonly Key: string; readonly Value: string }[] }[];
  readonly Filter?: readonly { readonly Name: string; readonly Value: readonly string[] }[];
  readonly NextToken?: string;
}

type Action = (region: FakeRegion, request: Request) => Wire;

/** EC2's actions about instances. */
export const instanceActions: Readonly<Record<string, Action>> = {
  DescribeImages: () => ({ imagesSet: [{ imageId: 'ami-1', architecture: 'x86_64' }] }),
  RunInstances(region, { InstanceType: type = '', MinCount = '1', SubnetId = '', SecurityGroupId = [], ...request }) {
    const tags = Object.fromEntries(tagsIn(request.TagSpecification?.flatMap(({ Tag = [] }) => Tag)));
    const { vpcId = '', zone = 'eu-west-1a' } = region.subnets.get(SubnetId) ?? {};
    const made = Array.from({ length: Number(MinCount) }, (): FakeInstance => {
      const number = region.next();
      const ip = `10.0.${number >> 8}.${number & 255}`;
      const privateDnsName = `ip-${ip.replaceAll('.', '-')}.eu-west-1.compute.internal`;
      const network = { vpcId, groups: SecurityGroupId, interfaces: [{ deviceIndex: 0, privateIps: [ip] }] };
      return { id: newId(region, 'i'), state: 'running', zone, type, privateDnsName, tags, ...network };
    });
    for (const instance of made) region.instances.set(instance.id, instance);
    return { instancesSet: made.map(instanceItem) };
  },
  StartInstances: (region, { InstanceId }) => setState(region, InstanceId, 'running'),
  StopInstances: (region, { InstanceId }) => setState(region, InstanceId, 'stopped'),
  TerminateInstances: (region, { InstanceId }) => setState(region, InstanceId, 'terminated'),
  DescribeInstances(region, { InstanceId: ids, Filter = [], NextToken }) {
    if (ids !== undefined) {
      demandIds(region, ids);
      return { reservationSet: ids.map((id) => reservationItem(region.instances.get(id)!)) };
    }
    const hits = [...region.instances.values()].filter((instance) =>
      Filter.every(({ Name, Value }) => filterValues(instance, Name).some((one) => Value.includes(one))),
    );
    const { page, next } = pageOf(hits, NextToken, region.pageSize);
    return { reservationSet: page.map(reservationItem), nextToken: next };
  },
};

function setState(region: FakeRegion, ids: readonly string[] = [], state: string): Wire {
  for (const id of ids) {
    const instance = region.instances.get(id);
    if (instance !== undefined) region.instances.set(id, { ...instance, state });
  }
  return { instancesSet: [] };
}

function demandIds({ instances }: FakeRegion, ids: readonly string[]): void {
  const malformed = ids.find((id) => !/^i-([0-9a-f]{8}|[0-9a-f]{17})$/.test(id));
  if (malformed !== undefined) throw new AwsFault('InvalidInstanceID.Malformed', `Invalid id: "${malformed}"`);
  const missing = ids.filter((id) => !instances.has(id));
  if (missing.length === 0) return;
  const [noun, verb] = missing.length === 1 ? ['ID', 'does'] : ['IDs', 'do'];
  const message = `The instance ${noun} '${missing.join(', ')}' ${verb} not exist`;
  throw new AwsFault('InvalidInstanceID.NotFound', message);
}

function filterValues(instance: FakeInstance, name: string): readonly string[] {
  const { id, privateDnsName = '', state = '', vpcId = '', interfaces = [] } = instance;
  if (name === 'instance-id') return [id];
  if (name === 'private-dns-name') return [privateDnsName];
  if (name === 'instance-state-name') return [state];
  if (name === 'vpc-id') return [vpcId];
  if (name === 'private-ip-address') return interfaces.flatMap(({ privateIps }) => privateIps);
  if (name === 'network-interface.ipv6-addresses.ipv6-address') return interfaces.flatMap(({ ipv6 = [] }) => ipv6);
  throw new AwsFault('InvalidParameterValue', `The filter '${name}' is invalid`);
}

function reservationItem(instance: FakeInstance): Wire {
  return { reservationId: 'r-1', ownerId: '123456789012', groupSet: [], instancesSet: [instanceItem(instance)] };
}

function instanceItem(instance: FakeInstance): Wire {
  const { state, interfaces = [], groups = [], tags = {} } = instance;
  return {
    instanceId: instance.id,
    instanceState: state === undefined ? undefined : { code: 16, name: state },
    privateDnsName: instance.privateDnsName,
    dnsName: instance.publicDnsName,
    instanceType: instance.type,
    placement: { availabilityZone: instance.zone, tenancy: 'default' },
    ipAddress: instance.publicIp,
    vpcId: instance.vpcId,
    sourceDestCheck: instance.sourceDestCheck ?? true,
    privateIpAddress: interfaces[0]?.privateIps[0],
    groupSet: groups.map((groupId) => ({ groupId })),
    tagSet: Object.entries(tags).map(([key, value]) => ({ key, value })),
    networkInterfaceSet: interfaces.map((one) => ({
      networkInterfaceId: one.id,
      status: one.status ?? 'in-use',
      sourceDestCheck: one.sourceDestCheck ?? true,
      privateIpAddressesSet: one.privateIps.map((privateIpAddress) => ({ privateIpAddress })),
      ipv6AddressesSet: (one.ipv6 ?? []).map((ipv6Address) => ({ ipv6Address })),
      attachment:
        one.deviceIndex === undefined
          ? undefined
          : { deviceIndex: one.deviceIndex, networkCardIndex: one.cardIndex ?? 0 },
    })),
  };
}
