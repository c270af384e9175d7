import { chunks, inParallel } from '../parallel.ts';
import type { Urgency } from '../urgency.ts';
import type { ServerPorts } from './addresses.ts';
import type { OpenStackClient, Query } from './client.ts';
import { fieldsOf, objectOf, textOf } from './json.ts';

interface Port {
  readonly id: string;
  readonly deviceId: string;
  readonly networkId: string;
  readonly status: string;
  readonly addresses: readonly string[];
  readonly subportIds: readonly string[];
}

/** Ids in one query; more and a front end with 4 KiB for the request line refuses it. */
const idsPerQuery = 50;
/** Above so many servers all ports are paged through instead. */
const listAbove = 100;
const callsAtOnce = 4;
const fields: Query = ['id', 'device_id', 'network_id', 'status', 'fixed_ips', 'trunk_details'].map((name) => [
  'fields',
  name,
]);

/**
 * Neutron's addresses of these servers. A failure of any page or subport is thrown, since an incomplete list would take
 * addresses away from nodes.
 *
 * @throws CloudError
 */
export async function portsOf(
  client: OpenStackClient,
  serverIds: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, ServerPorts>> {
  const desired = new Set(serverIds);
  const ports =
    serverIds.length > listAbove
      ? await listPorts(client, [['limit', '1000']], signal, 'refresh')
      : await byIds(serverIds, 'device_id', (query) => listPorts(client, query, signal));
  const own = ports.filter(({ deviceId }) => desired.has(deviceId));
  const subportIds = [...new Set(own.flatMap((port) => port.subportIds))];
  const subports = new Map(
    (await byIds(subportIds, 'id', (query) => listPorts(client, query, signal))).map((port) => [port.id, port]),
  );
  const networkNames = await namesOf(
    client,
    [...new Set([...subports.values()].map(({ networkId }) => networkId))],
    signal,
  );

  const result = new Map<string, { active: string[]; subports: { network: string; address: string }[] }>();
  for (const id of serverIds) result.set(id, { active: [], subports: [] });
  for (const port of own) {
    const server = result.get(port.deviceId)!;
    if (port.status === 'ACTIVE') server.active.push(...port.addresses);
    for (const id of port.subportIds) {
      const subport = subports.get(id);
      const network = subport === undefined ? undefined : networkNames.get(subport.networkId);
      if (subport === undefined || network === undefined) continue;
      for (const address of subport.addresses) server.subports.push({ network, address });
    }
  }
  return result;
}

async function byIds<Item>(
  ids: readonly string[],
  name: string,
  list: (query: Query) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const lists = await inParallel(callsAtOnce, chunks(ids, idsPerQuery), (some) =>
    list(some.map((id) => [name, id] as const)),
  );
  return lists.flat();
}

async function listPorts(
  client: OpenStackClient,
  query: Query,
  signal: AbortSignal | undefined,
  urgency: Urgency = 'need',
): Promise<readonly Port[]> {
  const request = {
    service: 'network',
    path: '/ports',
    operation: 'GET /ports',
    query: [...query, ...fields],
    urgency,
    signal,
  } as const;
  const { items, failure } = await client.list(request, 'ports');
  if (failure !== undefined) throw failure;
  return items.flatMap(readPort);
}

async function namesOf(
  client: OpenStackClient,
  networkIds: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, string>> {
  const networks = await byIds(networkIds, 'id', async (ids) => {
    const query: Query = [...ids, ['fields', 'id'], ['fields', 'name']];
    const request = { service: 'network', path: '/networks', operation: 'GET /networks', query, signal } as const;
    const { items, failure } = await client.list(request, 'networks');
    if (failure !== undefined) throw failure;
    return items;
  });
  return new Map(
    networks.flatMap((network) => {
      const id = textOf(objectOf(network)?.['id']);
      return id === undefined ? [] : [[id, textOf(objectOf(network)?.['name']) ?? ''] as const];
    }),
  );
}

function readPort(json: unknown): Port[] {
  const port = objectOf(json);
  const id = textOf(port?.['id']);
  if (port === undefined || id === undefined) return [];
  return [
    {
      id,
      deviceId: textOf(port['device_id'])?.toLowerCase() ?? '',
      networkId: textOf(port['network_id']) ?? '',
      status: textOf(port['status']) ?? '',
      addresses: fieldsOf(port['fixed_ips'], 'ip_address'),
      subportIds: fieldsOf(objectOf(port['trunk_details'])?.['sub_ports'], 'port_id'),
    },
  ];
}
