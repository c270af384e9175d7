import { CloudError } from '../../../../common/cloud-error.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { OpenStackClient, Query } from '../client.ts';
import { textsIn } from '../json.ts';
import { listBy } from '../list-by.ts';
import { covers, normalCidr } from './cidr.ts';
import type { ReadOptions } from './extensions.ts';

export interface AddressPair {
  /** An address or a range. */
  readonly ip_address: string;
  readonly mac_address: string | undefined;
}

/** A port that routes lead to. */
export interface HopPort {
  readonly id: string;
  /** Undefined where it is no server's. */
  readonly serverId: string | undefined;
  readonly networkId: string;
  readonly mac: string | undefined;
  readonly addresses: readonly string[];
  readonly subnetIds: readonly string[];
  /** Packets from or to addresses that are neither its own nor its pairs are dropped. */
  readonly guarded: boolean;
  readonly pairs: readonly AddressPair[];
  readonly revision: number | undefined;
}

/** Above so many addresses all ports of the router's networks are paged through instead. */
const listAbove = 200;
const names = ['id', 'device_id', 'device_owner', 'network_id', 'mac_address', 'fixed_ips'];
const fields: Query = [...names, 'port_security_enabled', 'allowed_address_pairs', 'revision_number'].map((name) => [
  'fields',
  name,
]);
const listing = { service: 'network', path: '/ports', query: fields } as const;

/** Where a router has interfaces. */
export interface Interfaces {
  readonly networks: ReadonlySet<string>;
  readonly subnetIds: readonly string[];
}

/**
 * The networks of the router's interfaces. A router without interfaces is one that the credential cannot see: no next
 * hop can be proved dead then.
 *
 * @throws CloudError
 */
export async function interfacesOf(
  client: OpenStackClient,
  routerId: string,
  options: ReadOptions,
): Promise<Interfaces> {
  const request = { ...listing, ...options };
  const ports = (await listBy(client, request, 'ports', ['device_id', [routerId]])).map(hopPortOf);
  if (ports.length === 0) {
    const message = `no interface of router ${routerId} shows: it is in no network, or its ports may not be seen`;
    throw new CloudError({ kind: 'Unavailable', cloud: 'openstack', operation: 'GET /ports', message });
  }
  return {
    networks: new Set(ports.map(({ networkId }) => networkId)),
    subnetIds: [...new Set(ports.flatMap((port) => port.subnetIds))],
  };
}

/** The ranges of subnets. @throws CloudError */
export async function rangesOf(
  client: OpenStackClient,
  subnetIds: readonly string[],
  options: ReadOptions,
): Promise<readonly string[]> {
  const query: Query = [
    ['fields', 'id'],
    ['fields', 'cidr'],
  ];
  const request = { service: 'network', path: '/subnets', query, ...options } as const;
  return (await listBy(client, request, 'subnets', ['id', subnetIds])).map((subnet) => subnet.text('cidr'));
}

/** Ports that have one of the addresses, in these networks. @throws CloudError */
export async function portsAt(
  client: OpenStackClient,
  addresses: readonly string[],
  networks: ReadonlySet<string>,
  options: ReadOptions,
): Promise<readonly HopPort[]> {
  const byAddress = addresses.map((address) => `ip_address=${address}`);
  const ofNetworks: Query = [...[...networks].map((id) => ['network_id', id] as const), ['limit', '1000'], ...fields];
  const ports =
    addresses.length > listAbove
      ? await client.list({ ...listing, query: ofNetworks, ...options }, 'ports')
      : await listBy(client, { ...listing, ...options }, 'ports', ['fixed_ips', byAddress]);
  return ports.map(hopPortOf).filter(({ networkId }) => networks.has(networkId));
}

/** The ports of these servers, in these networks. @throws CloudError */
export async function portsOfServers(
  client: OpenStackClient,
  serverIds: readonly string[],
  networks: ReadonlySet<string>,
  options: ReadOptions,
): Promise<readonly HopPort[]> {
  const ports = await listBy(client, { ...listing, ...options }, 'ports', ['device_id', serverIds]);
  return ports.map(hopPortOf).filter(({ networkId }) => networks.has(networkId));
}

/** @throws CloudError */
export async function readHopPort(client: OpenStackClient, id: string, options: ReadOptions): Promise<HopPort> {
  const answer = await client.get({ service: 'network', path: `/ports/${id}`, query: fields, ...options });
  return hopPortOf(answer.object('port'));
}

export function hopPortOf(port: AnswerFields): HopPort {
  const isServers = port.optionalText('device_owner')?.startsWith('compute:') === true;
  return {
    id: port.text('id'),
    serverId: isServers ? port.optionalText('device_id')?.toLowerCase() : undefined,
    networkId: port.text('network_id'),
    mac: port.optionalText('mac_address')?.toLowerCase(),
    addresses: textsIn(port, 'fixed_ips', 'ip_address'),
    subnetIds: textsIn(port, 'fixed_ips', 'subnet_id'),
    guarded: port.optionalFlag('port_security_enabled') === true,
    pairs: port.optionalObjects('allowed_address_pairs').map((pair) => ({
      ip_address: pair.text('ip_address'),
      mac_address: pair.optionalText('mac_address')?.toLowerCase(),
    })),
    revision: port.optionalNumber('revision_number'),
  };
}

/** Whether packets of pods in this range pass the port. */
export function lets(port: HopPort, destination: string): boolean {
  const ownMac = ({ mac_address: mac }: AddressPair) => mac === undefined || mac === port.mac;
  return !port.guarded || port.pairs.some((pair) => ownMac(pair) && covers(pair.ip_address, destination));
}

/** The pairs of a port with these ranges and without those; `undefined` when they are so already. */
export function pairsWith(
  port: HopPort,
  { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
): readonly AddressPair[] | undefined {
  const lacking = port.guarded ? add.filter((destination) => !lets(port, destination)) : [];
  const unwanted = new Set(remove.filter((destination) => !add.includes(destination)));
  const kept = port.pairs.filter(
    ({ ip_address, mac_address }) =>
      !unwanted.has(normalCidr(ip_address) ?? ip_address) || (mac_address !== undefined && mac_address !== port.mac),
  );
  if (lacking.length === 0 && kept.length === port.pairs.length) return undefined;
  return [...kept, ...lacking.map((destination) => ({ ip_address: destination, mac_address: port.mac }))];
}
