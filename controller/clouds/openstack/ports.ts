import type { AnswerFields } from '../answer-fields.ts';
import type { ServerPorts } from './addresses.ts';
import type { OpenStackClient, Query } from './client.ts';
import { textsIn } from './json.ts';
import { listBy } from './list-by.ts';

/** Above so many servers all ports are paged through instead. */
const listAbove = 100;
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
  const request = { service: 'network', path: '/ports', query: fields, signal } as const;
  const everything = { ...request, query: [['limit', '1000'], ...fields], urgency: 'refresh' } as const;
  const ports =
    serverIds.length > listAbove
      ? await client.list(everything, 'ports')
      : await listBy(client, request, 'ports', ['device_id', serverIds]);

  const result = new Map(serverIds.map((id) => [id, { active: [] as string[], subports: [] as Subport[] }]));
  const serverOf = (port: AnswerFields) => result.get(port.optionalText('device_id')?.toLowerCase() ?? '');
  const subportIds = ports.filter(serverOf).flatMap(subportIdsOf);
  const subports = await listBy(client, request, 'ports', ['id', subportIds]);
  const networkIds = subports.map((port) => port.text('network_id'));
  const named = { service: 'network', path: '/networks', query: idAndName, signal } as const;
  const networks = await listBy(client, named, 'networks', ['id', networkIds]);
  const nameOf = new Map(networks.map((one) => [one.text('id'), one.optionalText('name') ?? '']));

  const subportsOf = new Map(subports.map((port) => [port.text('id'), port]));
  for (const port of ports) {
    const server = serverOf(port);
    if (server === undefined) continue;
    if (port.optionalText('status') === 'ACTIVE') server.active.push(...addressesIn(port));
    for (const subport of subportIdsOf(port).flatMap((id) => subportsOf.get(id) ?? [])) {
      const network = nameOf.get(subport.text('network_id'));
      if (network === undefined) continue;
      server.subports.push(...addressesIn(subport).map((address) => ({ network, address })));
    }
  }
  return result;
}

type Subport = ServerPorts['subports'][number];
const idAndName: Query = [
  ['fields', 'id'],
  ['fields', 'name'],
];
const addressesIn = (port: AnswerFields) => textsIn(port, 'fixed_ips', 'ip_address');

function subportIdsOf(port: AnswerFields): string[] {
  const trunk = port.optionalObject('trunk_details');
  return trunk === undefined ? [] : textsIn(trunk, 'sub_ports', 'port_id');
}
