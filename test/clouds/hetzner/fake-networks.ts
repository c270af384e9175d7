import ipaddr from 'ipaddr.js';
import type { Json } from '../fake-http.ts';
import { FakeRefusal, invalidInput } from './fake-api.ts';

export interface FakeNetwork {
  readonly id: number;
  readonly name: string;
  readonly created: string;
  ip_range: string;
  readonly subnets: { type: string; ip_range: string; network_zone: string; gateway: string }[];
  routes: { destination: string; gateway: string }[];
  labels: Json;
  /** Addresses in use, and by what. */
  readonly members: Map<string, string>;
}

export function showNetwork(network: FakeNetwork, servers: readonly number[], balancers: readonly number[]): Json {
  const { members: _, ...shown } = network;
  return {
    ...shown,
    servers,
    load_balancers: balancers,
    protection: { delete: false },
    expose_routes_to_vswitch: false,
  };
}

export function overlap(one: string, other: string): boolean {
  const [first, second] = [ipaddr.IPv4.parseCIDR(one), ipaddr.IPv4.parseCIDR(other)];
  return first[1] <= second[1] ? second[0].match(first) : first[0].match(second);
}

/** An address of a subnet in that zone: the asked one, or the first that is free. */
export function takeAddress(network: FakeNetwork, zone: string, owner: string, asked?: unknown): string {
  const subnets = network.subnets.filter((subnet) => subnet.network_zone === zone);
  const inSubnet = (ip: string) =>
    subnets.some(({ ip_range }) => ipaddr.IPv4.parse(ip).match(ipaddr.IPv4.parseCIDR(ip_range)));
  if (typeof asked === 'string') {
    if (!inSubnet(asked) || network.members.has(asked))
      throw new FakeRefusal(409, 'ip_not_available', `IP ${asked} is not available`);
    network.members.set(asked, owner);
    return asked;
  }
  for (const { ip_range } of subnets) {
    const bytes = ipaddr.IPv4.parse(ip_range.split('/')[0]!).toByteArray();
    for (let host = 2; host < 65_000; host += 1) {
      const ip = [bytes[0], bytes[1], bytes[2]! + (host >> 8), host & 255].join('.');
      if (!inSubnet(ip)) break;
      if (network.members.has(ip) || (host & 255) === 0 || (host & 255) === 255) continue;
      network.members.set(ip, owner);
      return ip;
    }
  }
  throw new FakeRefusal(422, 'no_subnet_available', `network ${network.name} has no address left in ${zone}`);
}

const everywhere = '0.0.0.0/0';

/** What the API refuses of a new route. */
export function assertRoute(network: FakeNetwork, body: Json, limit: number): FakeNetwork['routes'][number] {
  const [destination, gateway] = [String(body['destination']), String(body['gateway'])];
  if (!ipaddr.IPv4.isValidCIDR(destination)) throw invalidInput('destination', 'is no IPv4 range');
  const base = ipaddr.IPv4.networkAddressFromCIDR(destination).toString();
  if (base !== destination.split('/')[0]) throw invalidInput('destination', 'has host bits set');
  const isDefault = destination === everywhere;
  if (!isDefault && !['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'].some((range) => overlap(range, destination)))
    throw invalidInput('destination', 'must be one of the private IPv4 ranges of RFC1918');
  if (!isDefault && network.subnets.some(({ ip_range }) => overlap(ip_range, destination)))
    throw invalidInput('destination', 'overlaps with a subnet');
  const isInTheWay = (there: string) =>
    isDefault || there === everywhere ? there === destination : overlap(there, destination);
  if (network.routes.some((route) => isInTheWay(route.destination)))
    throw invalidInput('destination', 'overlaps with another route');
  if (!ipaddr.IPv4.isValid(gateway) || !ipaddr.IPv4.parse(gateway).match(ipaddr.IPv4.parseCIDR(network.ip_range)))
    throw invalidInput('gateway', 'is not an address of the network');
  if (network.routes.length >= limit) {
    const details = { limits: [{ name: 'network_route_limit' }] };
    throw new FakeRefusal(403, 'resource_limit_exceeded', 'network route limit exceeded', details);
  }
  return { destination, gateway };
}
