import type { ServerResponse } from 'node:http';
import ipaddr from 'ipaddr.js';
import { answerJson, answerNeutronError, answerPage } from './answers.ts';
import type { FakePort, FakeRoute, FakeSubnet } from './network-state.ts';
import type { FakeCall, FakeOpenStack } from './openstack-state.ts';

type Json = Readonly<Record<string, unknown>>;

export function neutron(fake: FakeOpenStack, call: FakeCall, response: ServerResponse, url: URL): void {
  const { path, method } = call;
  const [, collection = '', id = '', action = ''] = path.split('/');
  const page = (items: readonly Json[]) => {
    const fields = call.query.getAll('fields');
    const trimmed = (item: Json) =>
      Object.fromEntries(Object.entries(item).filter(([key]) => fields.length === 0 || fields.includes(key)));
    answerPage(fake.pageSize, response, url, collection, items.filter(matching(call.query)).map(trimmed));
  };
  const listed = id === '' && method === 'GET' ? collectionOf(fake, collection) : undefined;
  const subnet = collection === 'subnets' ? fake.subnets.find((one) => one.id === id) : undefined;
  if (listed !== undefined) page(listed);
  else if (collection === 'ports') onePort(fake, call, response, id);
  else if (collection === 'routers') oneRouter(fake, call, response, id, action);
  else if (collection === 'networks' && fake.networks.has(id))
    answerJson(response, 200, { network: networkJson(fake, id) });
  else if (subnet !== undefined) answerJson(response, 200, { subnet: subnetJson(subnet) });
  else answerNeutronError(response, 404, 'HTTPNotFound', 'The resource could not be found.');
}

function collectionOf(fake: FakeOpenStack, collection: string): readonly Json[] | undefined {
  if (collection === 'ports') return fake.ports.map(portJson);
  if (collection === 'subnets') return fake.subnets.map(subnetJson);
  if (collection === 'networks') return [...fake.networks.keys()].map((id) => networkJson(fake, id));
  return collection === 'extensions' ? fake.extensions.map((alias) => ({ alias, name: alias })) : undefined;
}

/** The filters Neutron has: any of a name's values; those of `fixed_ips` are `ip_address=…` and `subnet_id=…`. */
function matching(query: URLSearchParams): (item: Json) => boolean {
  const names = [...new Set(query.keys())].filter((name) => !['fields', 'limit', 'marker'].includes(name));
  return (item) =>
    names.every((name) => {
      const values = query.getAll(name);
      const held = item[name];
      if (name === 'fixed_ips') {
        const ips = held as readonly Record<string, string>[];
        return values.some((value) => ips.some((ip) => ip[value.split('=')[0]!] === value.split('=')[1]));
      }
      if (name === 'tags')
        return values.every((value) => value.split(',').every((tag) => (held as string[]).includes(tag)));
      return Array.isArray(held) ? values.some((value) => held.includes(value)) : values.includes(String(held));
    });
}

function portJson(port: FakePort): Json {
  const mac = port.mac ?? 'fa:16:3e:00:00:01';
  return {
    id: port.id,
    name: port.name ?? '',
    device_id: port.deviceId,
    device_owner: port.deviceOwner ?? 'compute:nova',
    network_id: port.networkId,
    mac_address: mac,
    status: port.status ?? 'ACTIVE',
    fixed_ips: port.ips.map((ip) => ({ subnet_id: port.subnetId ?? 's1', ip_address: ip })),
    port_security_enabled: port.portSecurity ?? true,
    allowed_address_pairs: (port.pairs ?? []).map((pair) => ({ mac_address: mac, ...pair })),
    security_groups: port.securityGroups ?? [],
    tags: port.tags ?? [],
    revision_number: port.revision ?? 1,
    ...(port.subports === undefined
      ? {}
      : {
          trunk_details: {
            trunk_id: 't1',
            sub_ports: port.subports.map((id) => ({ port_id: id, segmentation_id: 7 })),
          },
        }),
  };
}

function subnetJson({ id, networkId, cidr, name = '', tags = [] }: FakeSubnet): Json {
  const version = cidr.includes(':') ? 6 : 4;
  return { id, name, network_id: networkId, cidr, ip_version: version, tags, enable_dhcp: true };
}

function networkJson(fake: FakeOpenStack, id: string): Json {
  const subnets = fake.subnets.filter(({ networkId }) => networkId === id).map((subnet) => subnet.id);
  const external = fake.externalNetworks.has(id);
  return { id, name: fake.networks.get(id) ?? '', mtu: 1450, subnets, 'router:external': external };
}

/** As Neutron does: a write that changes nothing is not held against `If-Match`. */
function outdated({ headers }: FakeCall, response: ServerResponse, revision: number): boolean {
  const asked = /^revision_number=(\d+)$/.exec(String(headers['if-match'] ?? ''))?.[1];
  if (asked === undefined || Number(asked) === revision) return false;
  const message = `Constrained to ${asked}, but current revision is ${revision}`;
  answerNeutronError(response, 412, 'RevisionNumberConstraintFailed', message);
  return true;
}

function onePort(fake: FakeOpenStack, call: FakeCall, response: ServerResponse, id: string): void {
  const port = fake.ports.find((one) => one.id === id);
  if (port === undefined) {
    answerNeutronError(response, 404, 'PortNotFound', `Port ${id} could not be found.`);
    return;
  }
  if (call.method === 'PUT') {
    const wanted = (JSON.parse(call.body) as { port: Json }).port;
    const pairs = wanted['allowed_address_pairs'] as FakePort['pairs'];
    const groups = wanted['security_groups'] as readonly string[] | undefined;
    if ((pairs ?? []).length > fake.maxAddressPairs) {
      const message = `The number of allowed address pair exceeds the maximum ${fake.maxAddressPairs}.`;
      answerNeutronError(response, 400, 'AllowedAddressPairExhausted', message);
      return;
    }
    const changed = { ...port, ...(pairs && { pairs }), ...(groups && { securityGroups: groups }) };
    if (JSON.stringify(portJson(changed)) !== JSON.stringify(portJson(port))) {
      if (outdated(call, response, port.revision ?? 1)) return;
      Object.assign(port, changed, { revision: (port.revision ?? 1) + 1 });
    }
  }
  answerJson(response, 200, { port: portJson(port) });
}

function oneRouter(fake: FakeOpenStack, call: FakeCall, response: ServerResponse, id: string, action: string): void {
  const router = fake.routers.get(id);
  if (action !== '' && !fake.extensions.includes('extraroute-atomic')) {
    answerNeutronError(response, 404, 'HTTPNotFound', 'The resource could not be found.');
    return;
  }
  if (router === undefined) {
    answerNeutronError(response, 404, 'RouterNotFound', `Router ${id} could not be found`);
    return;
  }
  if (call.method === 'PUT') {
    const { routes } = (JSON.parse(call.body) as { router: { routes: readonly FakeRoute[] } }).router;
    const wanted = changedRoutes(router.routes, routes, action);
    const refusal = invalidRoutes(fake, id, wanted);
    if (refusal !== undefined) {
      answerNeutronError(response, 400, ...refusal);
      return;
    }
    if (wanted.map(routeKey).toSorted().join() !== router.routes.map(routeKey).toSorted().join()) {
      if (outdated(call, response, router.revision)) return;
      router.routes = wanted;
      router.revision += 1;
    }
  }
  const { routes, revision } = router;
  answerJson(response, 200, {
    router: { id, name: 'k8s-router', status: 'ACTIVE', routes, revision_number: revision },
  });
}

const routeKey = ({ destination, nexthop }: FakeRoute) => `${destination} ${nexthop}`;

/** One destination may have several next hops. */
function changedRoutes(held: readonly FakeRoute[], asked: readonly FakeRoute[], action: string): readonly FakeRoute[] {
  if (action === '') return asked;
  const keys = new Set(asked.map(routeKey));
  const rest = held.filter((route) => !keys.has(routeKey(route)));
  return action === 'add_extraroutes' ? [...rest, ...asked] : rest;
}

function invalidRoutes(
  fake: FakeOpenStack,
  router: string,
  routes: readonly FakeRoute[],
): [string, string] | undefined {
  if (routes.length > fake.maxRoutes) {
    const message =
      `Unable to complete operation for ${router}. The number of routes exceeds the maximum ` + `${fake.maxRoutes}.`;
    return ['RoutesExhausted', message];
  }
  const networks = new Set(fake.ports.filter(({ deviceId }) => deviceId === router).map(({ networkId }) => networkId));
  const cidrs = fake.subnets
    .filter(({ networkId }) => networks.has(networkId))
    .map(({ cidr }) => ipaddr.parseCIDR(cidr));
  const astray = routes.find(({ nexthop }) => {
    const ip = ipaddr.parse(nexthop);
    return !cidrs.some(([range, bits]) => range.kind() === ip.kind() && ip.match([range, bits]));
  });
  if (astray === undefined) return undefined;
  const message = `Invalid format for routes: ${JSON.stringify(routes)}, the nexthop is not connected with router`;
  return ['InvalidRoutes', message];
}
