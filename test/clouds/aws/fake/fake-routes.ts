import { AwsFault, type Wire } from './query.ts';
import type { FakeRegion, FakeRouteTable } from './region.ts';

/** The parameters that the actions below read. */
interface Request {
  readonly RouteTableId?: string | readonly string[];
  readonly DestinationCidrBlock?: string;
  readonly DestinationIpv6CidrBlock?: string;
  readonly InstanceId?: string;
  readonly NetworkInterfaceId?: string;
  readonly GatewayId?: string;
  readonly SourceDestCheck?: { readonly Value: string };
  readonly GroupId?: readonly string[];
  readonly Filter?: readonly { readonly Name: string; readonly Value: readonly string[] }[];
  readonly NextToken?: string;
}

type Action = (region: FakeRegion, request: Request) => Wire;

const done: Wire = { return: true };

/** EC2's actions about routes, and about what an instance needs to be the target of one. */
export const routeActions: Readonly<Record<string, Action>> = {
  CreateRoute(region, { InstanceId: instanceId, NetworkInterfaceId: interfaceId, GatewayId: gateway, ...request }) {
    const { routes } = tableOf(region, request);
    const destination = destinationIn(request);
    if (routes.has(destination)) {
      throw new AwsFault('RouteAlreadyExists', `The route identified by ${destination} already exists.`);
    }
    if (routes.size >= region.routeLimit) {
      throw new AwsFault('RouteLimitExceeded', 'The maximum number of routes has been reached.');
    }
    if (instanceId === undefined) {
      routes.set(destination, { ...(interfaceId && { interfaceId }), ...(gateway && { gateway }) });
      return done;
    }
    const instance = region.instances.get(instanceId);
    if (instance === undefined) {
      throw new AwsFault('InvalidInstanceID.NotFound', `The instance ID '${instanceId}' does not exist`);
    }
    if ((instance.interfaces?.length ?? 0) > 1) {
      const which = `There are multiple interfaces attached to instance '${instanceId}'.`;
      throw new AwsFault('InvalidInstanceID', `${which} Please specify an interface ID for the operation instead.`);
    }
    routes.set(destination, { instance: instanceId });
    return done;
  },
  DeleteRoute(region, request) {
    const table = tableOf(region, request);
    const destination = destinationIn(request);
    if (table.routes.delete(destination)) return done;
    const message = `no route with destination-cidr-block ${destination} in route table ${table.id}`;
    throw new AwsFault('InvalidRoute.NotFound', message);
  },
  ModifyInstanceAttribute({ instances }, { InstanceId = '', SourceDestCheck, GroupId }) {
    const instance = instances.get(InstanceId);
    if (instance === undefined) {
      throw new AwsFault('InvalidInstanceID.NotFound', `The instance ID '${InstanceId}' does not exist`);
    }
    const check = SourceDestCheck && { sourceDestCheck: SourceDestCheck.Value === 'true' };
    instances.set(InstanceId, { ...instance, ...check, ...(GroupId && { groups: GroupId }) });
    return done;
  },
  ModifyNetworkInterfaceAttribute({ instances }, { NetworkInterfaceId, SourceDestCheck }) {
    const sourceDestCheck = SourceDestCheck?.Value === 'true';
    for (const instance of instances.values()) {
      if (!instance.interfaces?.some(({ id }) => id === NetworkInterfaceId)) continue;
      const interfaces = instance.interfaces.map((one) =>
        one.id === NetworkInterfaceId ? { ...one, sourceDestCheck } : one,
      );
      instances.set(instance.id, { ...instance, interfaces });
    }
    return done;
  },
  DescribeRouteTables(region, { RouteTableId: ids, Filter = [], NextToken }) {
    const named = Array.isArray(ids) ? [tableOf(region, { RouteTableId: String(ids[0]) })] : region.tables.values();
    const tables = [...named].filter(({ id, tags, vpcId = defaultVpc }) =>
      Filter.every(({ Name, Value }) => {
        if (Name === 'vpc-id') return Value.includes(vpcId);
        if (Name === 'route-table-id') return Value.includes(id);
        return Name === 'tag-key' && Value.some((key) => key in tags);
      }),
    );
    // One table a page, so that paging is always needed where there are several.
    const from = Number(NextToken ?? 0);
    const next = from + 1 < tables.length ? String(from + 1) : undefined;
    return { routeTableSet: tables.slice(from, from + 1).map((table) => tableItem(region, table)), nextToken: next };
  },
};

const defaultVpc = 'vpc-1';

function destinationIn({ DestinationCidrBlock, DestinationIpv6CidrBlock }: Request): string {
  return DestinationCidrBlock ?? DestinationIpv6CidrBlock ?? '';
}

function tableOf({ tables }: FakeRegion, { RouteTableId }: Request): FakeRouteTable {
  const id = String(RouteTableId);
  const table = tables.get(id);
  if (table !== undefined) return table;
  throw new AwsFault('InvalidRouteTableID.NotFound', `The routeTable ID '${id}' does not exist`);
}

function tableItem({ instances }: FakeRegion, { id, vpcId = defaultVpc, tags, subnets, routes }: FakeRouteTable): Wire {
  const items = [...routes].map(([destination, { instance, interfaceId, gateway }]): Wire => {
    const state = instance === undefined ? undefined : instances.get(instance)?.state;
    const gone = instance !== undefined && (state === undefined || state === 'terminated');
    const owner = [...instances.values()].find(
      ({ interfaces }) => interfaceId !== undefined && interfaces?.some((one) => one.id === interfaceId),
    );
    // A stopped instance keeps its interface and its route, which leads nowhere; of a terminated one EC2 shows the
    // interface that was.
    const target = gone ? { networkInterfaceId: 'eni-gone' } : { instanceId: instance ?? owner?.id };
    const dead = instance !== undefined && state !== 'running' && state !== 'pending';
    const family = destination.includes(':') ? 'destinationIpv6CidrBlock' : 'destinationCidrBlock';
    return {
      [family]: destination,
      ...target,
      ...(interfaceId && { networkInterfaceId: interfaceId }),
      gatewayId: gateway,
      origin: 'CreateRoute',
      state: dead ? 'blackhole' : 'active',
    };
  });
  return {
    routeTableId: id,
    vpcId,
    routeSet: items,
    associationSet: [...(subnets ?? [])].map((subnetId) => ({ routeTableId: id, subnetId, main: false })),
    tagSet: Object.entries(tags).map(([key, value]) => ({ key, value })),
  };
}
