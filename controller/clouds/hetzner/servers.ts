import ipaddr from 'ipaddr.js';
import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { zoneOfLocation } from '../../../common/hetzner-zone.ts';
import type { NodeAddress } from '../../../common/instance.ts';
import { hetzner } from '../../../common/provider-id/hetzner.ts';
import type { AnswerFields } from '../answer-fields.ts';
import type { ApiRequest } from '../json-api.ts';
import { type Machines, type Seen, seenById } from '../machines.ts';
import type { HetznerClient } from './client.ts';
import type { HetznerConfig } from './config.ts';
import { cloud } from './fault.ts';
import type { Network } from './network.ts';

export interface ServerOptions {
  readonly client: HetznerClient;
  readonly config: Pick<HetznerConfig, 'families' | 'zones'>;
  /** Whose addresses are internal ones. */
  readonly network: Network | undefined;
  /** Whether this token has shown a server that was asked for by its number, over all its passes. */
  readonly visibility: { shown: boolean };
}

/** Up to so many names are searched one by one. */
const namesAtOnce = 3;

/**
 * Servers of one project of Hetzner Cloud, for one pass: the list of all is read at most once. The API does not name
 * the project of a token, so without a network a server counts as absent only after this token has shown one that was
 * asked for by its number.
 */
export function createServers({ client, config, network, visibility }: ServerOptions): Machines {
  const path = '/servers';
  let list: Promise<ReadonlyMap<string, Seen>> | undefined;

  async function search(request: ApiRequest): Promise<ReadonlyMap<string, Seen>> {
    const [servers, networkId] = [await client.list(request, 'servers'), await network?.id(request.signal)];
    return seenById(
      servers,
      (one) => one.id('id'),
      (one) => readServer(one, 'list', config, networkId),
    );
  }
  function all(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, Seen>> {
    list ??= search({ path, urgency: 'refresh', signal });
    return list;
  }

  return {
    holds: (id) => !isDedicated(id),
    async all(ids, signal) {
      const seen = await all(signal);
      visibility.shown ||= ids.some((id) => seen.has(id));
      return seen;
    },
    async named(names, signal) {
      if (names.length > namesAtOnce) return [...(await all(signal)).values()];
      const found = await Promise.all(names.map((name) => search({ path, query: [['name', name]], signal })));
      return found.flatMap((some) => [...some.values()]);
    },
    async get(id, signal) {
      // First: a token that does not see the network proves no absence.
      const networkId = await network?.id(signal);
      try {
        const answer = await client.call({ path: `${path}/${id}`, signal });
        const server = answer.object('server');
        visibility.shown ||= server.id('id') === id;
        return readServer(server, 'id', config, networkId);
      } catch (error) {
        const provesAbsence = network !== undefined || visibility.shown;
        if (!isCloudError(error) || error.kind !== 'NotFound' || provesAbsence) throw error;
        const message = `server ${id} is not there, but this token has shown no other one yet`;
        throw error.with({ kind: 'Unavailable', message });
      }
    },
  };
}

/** Of our ids. */
export const isDedicated = (id: string) => id.startsWith('bm-');

/** Its addresses in networks. */
export function privateAddressesOf(server: AnswerFields) {
  return server.objects('private_net').map((net) => ({
    network: net.id('network'),
    ip: net.text('ip'),
    aliases: net.texts('alias_ips'),
  }));
}

function readServer(
  server: AnswerFields,
  request: 'list' | 'id',
  config: ServerOptions['config'],
  networkId: string | undefined,
): Seen {
  const id = server.id('id');
  const name = server.text('name');
  const status = server.text('status');
  // `datacenter` is going away from the answers, and `location` has come instead.
  const place = server.optionalObject('location') ?? server.object('datacenter').object('location');
  const location = place.text('name');
  const publicNet = server.object('public_net');
  const addresses: NodeAddress[] = [{ type: 'Hostname', address: name }];
  const ipv4 = publicNet.optionalObject('ipv4');
  if (config.families.ipv4 && ipv4 !== undefined) addresses.push({ type: 'ExternalIP', address: ipv4.text('ip') });
  const ipv6 = publicNet.optionalObject('ipv6');
  if (config.families.ipv6 && ipv6 !== undefined)
    addresses.push({ type: 'ExternalIP', address: firstOf(ipv6.text('ip')) });
  for (const { network, ip } of privateAddressesOf(server))
    if (network === networkId) addresses.push({ type: 'InternalIP', address: ip });
  return {
    state: 'found',
    power: status === 'running' ? 'running' : status === 'off' ? 'stopped' : 'changing',
    request,
    instance: {
      cloud,
      id,
      name,
      incarnation: id,
      providerID: hetzner.print({ instanceId: id }),
      ...(config.zones ? { zone: zoneOfLocation(location) } : {}),
      region: location,
      type: server.object('server_type').text('name'),
      addresses,
      labels: { 'instance.hetzner.cloud/provided-by': 'cloud' },
      tags: server.labels('labels'),
    },
  };
}

/** The address that a server uses of its IPv6 network: the first one. */
export function firstOf(network: string): string {
  const [first = ''] = network.split('/');
  if (!ipaddr.isValid(first)) {
    const message = `${JSON.stringify(network)}, expected an IPv6 network`;
    throw new CloudError({ kind: 'Invalid', cloud, operation: 'lookup', message });
  }
  const bytes = ipaddr.parse(first).toByteArray();
  bytes[bytes.length - 1]! |= 1;
  return ipaddr.fromByteArray(bytes).toString();
}
