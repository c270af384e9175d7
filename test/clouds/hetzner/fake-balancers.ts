import type { FakeAnswer, FakeCall, Json } from '../fake-http.ts';
import { FakeRefusal, invalidInput, labelsOf, notFound } from './fake-api.ts';
import { balancerTypes, type FakeLocation, locations, named } from './fake-catalog.ts';
import { takeAddress } from './fake-networks.ts';
import type { FakeHetzner } from './fake-project.ts';
import type { FakeBalancer, FakeService, FakeTarget } from './fake-resources.ts';

export function showBalancer(one: FakeBalancer, selected: (selector: string) => readonly number[]): Json {
  const health_status = one.services.map(({ listen_port }) => ({ listen_port, status: 'healthy' }));
  const address = (ip: string, id: number) => ({
    id,
    ip,
    dns_ptr: one.dnsPtrs.get(ip) ?? `static.${ip}.clients.your-server.de`,
  });
  return {
    id: one.id,
    name: one.name,
    created: one.created,
    labels: one.labels,
    location: one.place,
    load_balancer_type: one.type,
    algorithm: { type: one.algorithm },
    protection: { delete: one.isProtected },
    public_net: { enabled: one.isPublic, ipv4: address(one.ipv4, one.id + 1), ipv6: address(one.ipv6, one.id + 2) },
    private_net: one.privateNets,
    services: one.services.map(({ http, ...service }) => ({ ...service, ...(http === undefined ? {} : { http }) })),
    targets: one.targets.map((target) =>
      target.label_selector === undefined
        ? { ...target, health_status }
        : { ...target, targets: selected(target.label_selector.selector).map((id) => underSelector(id, target)) },
    ),
    included_traffic: 21_990_232_555_520,
    outgoing_traffic: null,
    ingoing_traffic: null,
  };
}

const underSelector = (id: number, { use_private_ip }: FakeTarget) => ({
  type: 'server',
  server: { id },
  use_private_ip,
  health_status: [],
});

/** POST /load_balancers. */
export function createBalancer(fake: FakeHetzner, { body }: FakeCall): FakeAnswer {
  const name = String(body['name'] ?? '');
  if (!/^[A-Za-z0-9]([-A-Za-z0-9_. ]{0,62})$/.test(name)) throw invalidInput('name', 'is not valid');
  assertNameFree(fake, name, undefined);
  const place = placeOf(body);
  const id = fake.nextId(3);
  const one: FakeBalancer = {
    id,
    name,
    place,
    created: fake.now(),
    labels: labelsOf(body, {}),
    type: named(balancerTypes, 'load balancer type', body['load_balancer_type']),
    isProtected: false,
    algorithm: algorithmOf((body['algorithm'] as Json | undefined) ?? { type: 'round_robin' }),
    ipv4: `192.0.2.${id % 250}`,
    ipv6: `2001:db8:1b::${id.toString(16)}`,
    dnsPtrs: new Map(),
    isPublic: body['public_interface'] !== false,
    privateNets: [],
    services: [],
    targets: [],
  };
  if (fake.balancers.size >= fake.maxBalancers) throw limit('load_balancer_limit');
  if (body['network'] !== undefined) attach(fake, one, { network: body['network'] });
  for (const service of (body['services'] as Json[] | undefined) ?? []) addService(fake, one, service);
  for (const target of (body['targets'] as Json[] | undefined) ?? []) addTarget(fake, one, target);
  fake.balancers.set(id, one);
  const action = fake.actions.start('create_load_balancer', resourcesOf(one));
  return { status: 201, body: { load_balancer: fake.showBalancer(one), action } };
}

/** PUT and DELETE /load_balancers/{id}. */
export function changeBalancer(fake: FakeHetzner, one: FakeBalancer, { method, body }: FakeCall): FakeAnswer {
  fake.actions.assertUnlocked('load_balancer', one.id);
  if (method === 'DELETE') {
    if (one.isProtected) throw new FakeRefusal(423, 'protected', `load balancer ${one.id} is protected`);
    const effect = () => {
      for (const { network, ip } of one.privateNets) fake.networks.get(network)?.members.delete(ip);
      fake.balancers.delete(one.id);
    };
    if (fake.deletesByAction)
      return { status: 200, body: { action: fake.actions.start('delete_load_balancer', resourcesOf(one), effect) } };
    effect();
    return { status: 204 };
  }
  const name = String(body['name'] ?? one.name);
  assertNameFree(fake, name, one.id);
  one.labels = labelsOf(body, one.labels);
  one.name = name;
  return { status: 200, body: { load_balancer: fake.showBalancer(one) } };
}

type Act = (fake: FakeHetzner, one: FakeBalancer, body: Json) => void;

/** Each throws what the API refuses; the change shows when its action has ended. */
const acts: Readonly<Record<string, Act>> = {
  add_service: addService,
  update_service(fake, one, body) {
    const before = serviceAt(one, body);
    const after = serviceOf(fake, body, before);
    one.services = one.services.map((service) => (service === before ? after : service));
  },
  delete_service(_, one, body) {
    const gone = serviceAt(one, body);
    one.services = one.services.filter((service) => service !== gone);
  },
  add_target: addTarget,
  remove_target(fake, one, body) {
    const key = keyOf(targetOf(fake, body));
    if (!one.targets.some((target) => keyOf(target) === key)) throw notFound('target');
    one.targets = one.targets.filter((target) => keyOf(target) !== key);
  },
  change_algorithm(_, one, body) {
    one.algorithm = algorithmOf(body);
  },
  change_type(_, one, body) {
    const type = named(balancerTypes, 'load balancer type', body['load_balancer_type']);
    if (type.max_targets < one.targets.length || type.max_services < one.services.length)
      throw new FakeRefusal(422, 'invalid_load_balancer_type', `${type.name} is too small`);
    one.type = type;
  },
  attach_to_network: attach,
  detach_from_network(fake, one, body) {
    const net = one.privateNets.find(({ network }) => network === body['network']);
    if (net === undefined)
      throw new FakeRefusal(422, 'load_balancer_not_attached_to_network', 'the load balancer is not in the network');
    if (one.targets.some(({ use_private_ip }) => use_private_ip))
      throw new FakeRefusal(422, 'invalid_input', 'targets use the private network');
    fake.networks.get(net.network)?.members.delete(net.ip);
    one.privateNets = one.privateNets.filter((other) => other !== net);
  },
  enable_public_interface(_, one) {
    one.isPublic = true;
  },
  disable_public_interface(_, one) {
    if (one.privateNets.length === 0)
      throw new FakeRefusal(422, 'load_balancer_not_attached_to_network', 'the load balancer is in no network');
    if (one.targets.some(({ use_private_ip }) => !use_private_ip))
      throw new FakeRefusal(422, 'targets_without_use_private_ip', 'targets use the public network');
    one.isPublic = false;
  },
  change_dns_ptr(_, one, { ip, dns_ptr: pointer }) {
    if (ip !== one.ipv4 && ip !== one.ipv6) throw notFound(`ip ${String(ip)}`);
    if (pointer === null) one.dnsPtrs.delete(ip);
    else one.dnsPtrs.set(ip, String(pointer));
  },
  change_protection(_, one, body) {
    one.isProtected = body['delete'] === true;
  },
};

/** POST /load_balancers/{id}/actions/{command}. */
export function actOnBalancer(fake: FakeHetzner, one: FakeBalancer, command: string, { body }: FakeCall): FakeAnswer {
  const act = acts[command];
  if (act === undefined) throw notFound(`action ${command}`);
  fake.actions.assertUnlocked('load_balancer', one.id);
  // Tried on a copy, so that a refusal leaves nothing behind; members of networks are taken at once.
  const copy = { ...one, dnsPtrs: new Map(one.dnsPtrs) };
  act(fake, copy, body);
  const { id, ...after } = copy;
  const effect = () => {
    if (fake.balancers.get(id) === one) Object.assign(one, after, { targets: keepStanding(fake, after.targets) });
  };
  return { status: 201, body: { action: fake.actions.start(command, resourcesOf(one), effect) } };
}

const keepStanding = (fake: FakeHetzner, targets: readonly FakeTarget[]) =>
  targets.filter(({ server }) => server === undefined || fake.servers.has(server.id));

const resourcesOf = (one: FakeBalancer) => [{ id: one.id, type: 'load_balancer' }];

function assertNameFree(fake: FakeHetzner, name: string, except: number | undefined): void {
  for (const other of fake.balancers.values())
    if (other.name === name && other.id !== except)
      throw new FakeRefusal(409, 'uniqueness_error', 'name is already used', { fields: [{ name: 'name' }] });
}

function limit(name: string): FakeRefusal {
  return new FakeRefusal(403, 'resource_limit_exceeded', `${name} exceeded`, { limits: [{ name }] });
}

function placeOf(body: Json): FakeLocation {
  const { location, network_zone: zone } = body;
  if ((location === undefined) === (zone === undefined))
    throw invalidInput('location', 'exactly one of location and network_zone is required');
  if (location !== undefined) return named(locations, 'location', location);
  const place = locations.find(({ network_zone }) => network_zone === zone);
  if (place === undefined) throw invalidInput('network_zone', 'is unknown');
  return place;
}

function algorithmOf({ type }: Json): string {
  if (type !== 'round_robin' && type !== 'least_connections') throw invalidInput('type', 'is not an algorithm');
  return type;
}

function attach(fake: FakeHetzner, one: FakeBalancer, body: Json): void {
  const network = fake.networks.get(Number(body['network']));
  if (network === undefined) throw notFound('network');
  if (one.privateNets.length > 0)
    throw new FakeRefusal(409, 'load_balancer_already_attached', 'the load balancer is in a network already');
  const ip = takeAddress(network, one.place.network_zone, `load balancer ${one.id}`, body['ip']);
  one.privateNets = [{ network: network.id, ip }];
}

function serviceAt(one: FakeBalancer, body: Json): FakeService {
  const service = one.services.find(({ listen_port }) => listen_port === body['listen_port']);
  if (service === undefined) throw notFound(`service ${String(body['listen_port'])}`);
  return service;
}

function addService(fake: FakeHetzner, one: FakeBalancer, body: Json): void {
  const service = serviceOf(fake, body, undefined);
  if (one.services.some(({ listen_port }) => listen_port === service.listen_port))
    throw new FakeRefusal(409, 'source_port_already_used', `port ${service.listen_port} is in use`);
  if (one.services.length >= one.type.max_services) throw limit('load_balancer_services');
  one.services = [...one.services, service];
}

function portOf(body: Json, field: string, without: number | undefined): number {
  const port = body[field] ?? without;
  if (typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw invalidInput(field, 'must be a port');
}

function between(body: Json, field: string, least: number, most: number, without: unknown): number {
  const value = body[field] ?? without;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalidInput(field, `must be between ${least} and ${most}`);
}

/** A service as the API keeps it: what the request leaves out is as before, or has its default. */
function serviceOf(fake: FakeHetzner, body: Json, before: FakeService | undefined): FakeService {
  const protocol = (body['protocol'] ?? before?.protocol) as FakeService['protocol'];
  if (!['tcp', 'http', 'https'].includes(protocol)) throw invalidInput('protocol', 'must be tcp, http or https');
  const web = protocol !== 'tcp';
  const defaultPort = protocol === 'tcp' ? undefined : protocol === 'http' ? 80 : 443;
  const listen_port = portOf(body, 'listen_port', before?.listen_port ?? defaultPort);
  const destination_port = portOf(body, 'destination_port', before?.destination_port ?? (web ? 80 : undefined));
  const http = web ? httpOf(fake, protocol, (body['http'] as Json | undefined) ?? {}, before?.http) : undefined;
  const proxyprotocol = (body['proxyprotocol'] ?? before?.proxyprotocol ?? false) === true;
  const check = (body['health_check'] as Json | undefined) ?? {};
  const health_check = healthCheckOf(check, before?.health_check, destination_port);
  return { protocol, listen_port, destination_port, proxyprotocol, http, health_check };
}

function httpOf(fake: FakeHetzner, protocol: string, body: Json, before: Json = {}): Json {
  const http: Json = {
    cookie_name: 'HCLBSTICKY',
    cookie_lifetime: 300,
    certificates: [],
    redirect_http: false,
    sticky_sessions: false,
    timeout_idle: 60,
    ...before,
    ...body,
  };
  between(http, 'cookie_lifetime', 30, 86_400, 300);
  const certificates = http['certificates'] as number[];
  for (const id of certificates) if (!fake.certificates.has(id)) throw notFound(`certificate ${id}`);
  if (protocol === 'http' && certificates.length > 0) throw invalidInput('certificates', 'must be empty with http');
  if (protocol === 'http' && http['redirect_http'] === true) throw invalidInput('redirect_http', 'is only for https');
  if (protocol === 'https' && certificates.length === 0) throw invalidInput('certificates', 'must not be empty');
  return http;
}

function healthCheckOf(body: Json, before: Json = {}, destination: number): Json {
  const all: Json = { protocol: 'tcp', port: destination, interval: 15, timeout: 10, retries: 3, ...before, ...body };
  between(all, 'interval', 3, 60, 15);
  between(all, 'timeout', 1, Number(all['interval']), 10);
  between(all, 'retries', 1, 5, 3);
  portOf(all, 'port', destination);
  const { protocol, port, interval, timeout, retries } = all;
  const kept = { protocol, port, interval, timeout, retries };
  if (protocol !== 'http') return kept;
  const http = (all['http'] as Json | undefined) ?? {};
  return {
    ...kept,
    http: { domain: '', path: '/', response: '', status_codes: ['2??', '3??'], tls: false, ...http },
  };
}

function targetOf(fake: FakeHetzner, body: Json): FakeTarget {
  const use_private_ip = body['use_private_ip'] === true;
  const { server, label_selector, ip } = body as Partial<FakeTarget>;
  if (body['type'] === 'server' && server !== undefined) return { type: 'server', server, use_private_ip };
  if (body['type'] === 'label_selector' && label_selector !== undefined) {
    fake.selected(label_selector.selector);
    return { type: 'label_selector', label_selector, use_private_ip };
  }
  if (body['type'] === 'ip' && ip !== undefined) return { type: 'ip', ip, use_private_ip: false };
  throw invalidInput('type', 'must be server, label_selector or ip, with its field beside it');
}

const keyOf = ({ type, server, label_selector, ip }: FakeTarget) =>
  `${type} ${server?.id ?? label_selector?.selector ?? ip?.ip}`;

function addTarget(fake: FakeHetzner, one: FakeBalancer, body: Json): void {
  const target = targetOf(fake, body);
  if (one.targets.some((other) => keyOf(other) === keyOf(target)))
    throw new FakeRefusal(409, 'target_already_defined', `${keyOf(target)} is defined already`);
  if (one.targets.length >= one.type.max_targets) throw limit('load_balancer_targets');
  if (target.use_private_ip && one.privateNets.length === 0)
    throw new FakeRefusal(422, 'load_balancer_not_attached_to_network', 'the load balancer is in no network');
  if (target.server !== undefined) {
    const server = fake.servers.get(target.server.id);
    if (server === undefined) throw notFound(`server ${target.server.id}`);
    const here = one.privateNets[0]?.network;
    if (target.use_private_ip && !server.privateNets.some(({ network }) => network === here))
      throw new FakeRefusal(422, 'server_not_attached_to_network', `server ${server.id} is not in the network`);
    if (!target.use_private_ip && server.ipv4 === undefined)
      throw new FakeRefusal(422, 'missing_ipv4', `server ${server.id} has no public IPv4 address`);
  }
  if (target.ip !== undefined && !fake.ownsIp(target.ip.ip))
    throw new FakeRefusal(422, 'ip_not_owned', `${target.ip.ip} is not of this account`);
  one.targets = [...one.targets, target];
}
