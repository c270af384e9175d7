import { CloudError } from '../../../../common/cloud-error.ts';
import { chunks, inParallel } from '../../parallel.ts';
import type { OpenStackClient, Query } from '../client.ts';
import { fieldsOf, numberOf, objectOf, objectsOf, textOf } from '../json.ts';
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

/** How many values one query carries; more and a front end with 4 KiB for the request line refuses it. */
const perQuery = 50;
/** Above so many addresses all ports of the router's networks are paged through instead. */
const listAbove = 200;
const callsAtOnce = 4;
const names = ['id', 'device_id', 'device_owner', 'network_id', 'mac_address', 'fixed_ips'];
const fields: Query = [...names, 'port_security_enabled', 'allowed_address_pairs', 'revision_number'].map((name) => [
  'fields',
  name,
]);

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
  const ports = await list(client, [['device_id', routerId]], options);
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
  { urgency, signal }: ReadOptions,
): Promise<readonly string[]> {
  const query: Query = [...subnetIds.map((id) => ['id', id] as const), ['fields', 'id'], ['fields', 'cidr']];
  const request = { service: 'network', path: '/subnets', operation: 'GET /subnets', query, urgency, signal } as const;
  const { items, failure } = await client.list(request, 'subnets');
  if (failure !== undefined) throw failure;
  return fieldsOf(items, 'cidr');
}

/** Ports that have one of the addresses, in these networks. @throws CloudError */
export async function portsAt(
  client: OpenStackClient,
  addresses: readonly string[],
  networks: ReadonlySet<string>,
  options: ReadOptions,
): Promise<readonly HopPort[]> {
  const ports =
    addresses.length > listAbove
      ? await list(client, [...[...networks].map((id) => ['network_id', id] as const), ['limit', '1000']], options)
      : await some(
          client,
          'fixed_ips',
          [...new Set(addresses)].map((address) => `ip_address=${address}`),
          options,
        );
  return ports.filter(({ networkId }) => networks.has(networkId));
}

/** The ports of these servers, in these networks. @throws CloudError */
export async function portsOfServers(
  client: OpenStackClient,
  serverIds: readonly string[],
  networks: ReadonlySet<string>,
  options: ReadOptions,
): Promise<readonly HopPort[]> {
  const ports = await some(client, 'device_id', [...new Set(serverIds)], options);
  return ports.filter(({ networkId }) => networks.has(networkId));
}

async function some(
  client: OpenStackClient,
  name: string,
  values: readonly string[],
  options: ReadOptions,
): Promise<readonly HopPort[]> {
  const lists = await inParallel(callsAtOnce, chunks(values, perQuery), (part) =>
    list(
      client,
      part.map((value) => [name, value] as const),
      options,
    ),
  );
  return lists.flat();
}

async function list(
  client: OpenStackClient,
  query: Query,
  { urgency, signal }: ReadOptions,
): Promise<readonly HopPort[]> {
  const request = { service: 'network', path: '/ports', operation: 'GET /ports', urgency, signal } as const;
  const { items, failure } = await client.list({ ...request, query: [...query, ...fields] }, 'ports');
  if (failure !== undefined) throw failure;
  return items.flatMap((item) => hopPortOf(item) ?? []);
}

/** @throws CloudError */
export async function readHopPort(
  client: OpenStackClient,
  id: string,
  { urgency, signal }: ReadOptions,
): Promise<HopPort | undefined> {
  const request = { service: 'network', path: `/ports/${id}`, operation: 'GET /ports/{id}', query: fields } as const;
  return hopPortOf(objectOf(await client.get({ ...request, urgency, signal }))?.['port']);
}

export function hopPortOf(json: unknown): HopPort | undefined {
  const port = objectOf(json);
  const id = textOf(port?.['id']);
  if (port === undefined || id === undefined) return undefined;
  const isServers = textOf(port['device_owner'])?.startsWith('compute:') === true;
  return {
    id,
    serverId: isServers ? textOf(port['device_id'])?.toLowerCase() : undefined,
    networkId: textOf(port['network_id']) ?? '',
    mac: textOf(port['mac_address'])?.toLowerCase(),
    addresses: fieldsOf(port['fixed_ips'], 'ip_address'),
    subnetIds: fieldsOf(port['fixed_ips'], 'subnet_id'),
    guarded: port['port_security_enabled'] === true,
    pairs: objectsOf(port['allowed_address_pairs']).flatMap((pair) => {
      const address = textOf(pair['ip_address']);
      const mac = textOf(pair['mac_address'])?.toLowerCase();
      return address === undefined ? [] : [{ ip_address: address, mac_address: mac }];
    }),
    revision: numberOf(port['revision_number']),
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
