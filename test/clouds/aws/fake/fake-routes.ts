import type { FakeCall, FakeInstance } from './fake-ec2.ts';
import { leaf, tagSet } from './xml.ts';

export interface FakeRoute {
  readonly instance?: string;
  readonly interfaceId?: string;
  readonly gateway?: string;
}

export interface FakeRouteTable {
  readonly id: string;
  readonly tags: Readonly<Record<string, string>>;
  /** By destination. */
  readonly routes: Map<string, FakeRoute>;
}

interface Region {
  readonly instances: Map<string, FakeInstance>;
  readonly tables: Map<string, FakeRouteTable>;
  readonly routeLimit: number;
}

type Answer = { readonly xml: string } | { readonly code: string; readonly message: string };

const done: Answer = { xml: '<return>true</return>' };

/** EC2's calls about routes, as far as pod routes need them; undefined for any other action. */
export function routeAnswer(region: Region, { action, form, filters }: FakeCall): Answer | undefined {
  if (action === 'DescribeRouteTables') return describe(region, form, filters);
  if (action === 'ModifyInstanceAttribute' || action === 'ModifyNetworkInterfaceAttribute') {
    return stopChecking(region, form);
  }
  if (action !== 'CreateRoute' && action !== 'DeleteRoute') return undefined;
  const id = form.get('RouteTableId') ?? '';
  const table = region.tables.get(id);
  if (table === undefined)
    return { code: 'InvalidRouteTableID.NotFound', message: `The routeTable ID '${id}' does not exist` };
  const destination = form.get('DestinationCidrBlock') ?? form.get('DestinationIpv6CidrBlock') ?? '';
  if (action === 'DeleteRoute') {
    if (table.routes.delete(destination)) return done;
    return {
      code: 'InvalidRoute.NotFound',
      message: `no route with destination-cidr-block ${destination} in route table ${id}`,
    };
  }
  return create(region, table, destination, form);
}

function create(region: Region, table: FakeRouteTable, destination: string, form: URLSearchParams): Answer {
  const instanceId = form.get('InstanceId');
  const interfaceId = form.get('NetworkInterfaceId');
  if (table.routes.has(destination)) {
    return { code: 'RouteAlreadyExists', message: `The route identified by ${destination} already exists.` };
  }
  if (table.routes.size >= region.routeLimit) {
    return { code: 'RouteLimitExceeded', message: 'The maximum number of routes has been reached.' };
  }
  if (instanceId === null) {
    table.routes.set(destination, { ...(interfaceId !== null && { interfaceId }) });
    return done;
  }
  const instance = region.instances.get(instanceId);
  if (instance === undefined) {
    return { code: 'InvalidInstanceID.NotFound', message: `The instance ID '${instanceId}' does not exist` };
  }
  if ((instance.interfaces?.length ?? 0) > 1) {
    const message = `There are multiple interfaces attached to instance '${instanceId}'. Please specify an interface ID for the operation instead.`;
    return { code: 'InvalidInstanceID', message };
  }
  table.routes.set(destination, { instance: instanceId });
  return done;
}

function stopChecking({ instances }: Region, form: URLSearchParams): Answer {
  const check = form.get('SourceDestCheck.Value') === 'true';
  const interfaceId = form.get('NetworkInterfaceId');
  for (const instance of instances.values()) {
    if (instance.id === form.get('InstanceId')) instances.set(instance.id, { ...instance, sourceDestCheck: check });
    const interfaces = instance.interfaces?.map((one) =>
      interfaceId !== null && one.id === interfaceId ? { ...one, sourceDestCheck: check } : one,
    );
    if (interfaceId !== null && interfaces) instances.set(instance.id, { ...instance, interfaces });
  }
  return done;
}

function describe(region: Region, form: URLSearchParams, filters: FakeCall['filters']): Answer {
  const wanted = form.get('RouteTableId.1');
  if (wanted !== null && !region.tables.has(wanted)) {
    return { code: 'InvalidRouteTableID.NotFound', message: `The routeTable ID '${wanted}' does not exist` };
  }
  const keys = filters.get('tag-key');
  const tables = [...region.tables.values()].filter(
    ({ id, tags }) => (wanted === null || id === wanted) && (keys === undefined || keys.some((key) => key in tags)),
  );
  // One table a page, so that paging is always needed where there are several.
  const from = Number(form.get('NextToken') ?? 0);
  const next = from + 1 < tables.length ? leaf('nextToken', String(from + 1)) : '';
  const items = tables.slice(from, from + 1).map((table) => tableXml(region, table));
  return { xml: `<routeTableSet>${items.join('')}</routeTableSet>${next}` };
}

function tableXml({ instances }: Region, { id, tags, routes }: FakeRouteTable): string {
  const items = [...routes].map(([destination, { instance, interfaceId, gateway }]) => {
    const state = instance === undefined ? undefined : instances.get(instance)?.state;
    const gone = instance !== undefined && (state === undefined || state === 'terminated');
    // A stopped instance keeps its interface and its route, which leads nowhere; of a terminated one EC2 shows the interface that was.
    const owner = [...instances.values()].find(
      ({ interfaces }) => interfaceId !== undefined && interfaces?.some(({ id }) => id === interfaceId),
    );
    const target = gone ? leaf('networkInterfaceId', 'eni-gone') : leaf('instanceId', instance ?? owner?.id);
    const dead = instance !== undefined && state !== 'running' && state !== 'pending';
    const name = destination.includes(':') ? 'destinationIpv6CidrBlock' : 'destinationCidrBlock';
    return [
      `<item>${leaf(name, destination)}${target}${leaf('networkInterfaceId', interfaceId)}${leaf('gatewayId', gateway)}`,
      `${leaf('origin', 'CreateRoute')}${leaf('state', dead ? 'blackhole' : 'active')}</item>`,
    ].join('');
  });
  return `<item>${leaf('routeTableId', id)}${leaf('vpcId', 'vpc-1')}<routeSet>${items.join('')}</routeSet>${tagSet(tags)}</item>`;
}
