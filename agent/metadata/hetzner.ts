import { isIP } from 'node:net';
import { zoneOfLocation } from '../../common/hetzner-zone.ts';
import type { Instance } from '../../common/instance.ts';
import { hetzner as providerId } from '../../common/provider-id/hetzner.ts';
import { createAddressList } from './address-list.ts';
import { createMetadataClient, createMetadataHttp, type MetadataClient } from './client.ts';
import { askInTurn, linkLocalUrls, preferring } from './endpoints.ts';
import { addressOf, fieldsOf, invalid } from './fields.ts';
import { readTopLevel, valuesBelow, valuesOfItems } from './plain-yaml.ts';
import type { SourceKind, SourceOptions } from './source.ts';

const cloud = 'hetzner';
const path = '/hetzner/v1/metadata';
const networksPath = `${path}/private-networks`;
const context = { cloud, operation: `GET ${path}` };
const networksContext = { cloud, operation: `GET ${networksPath}` };

/** Hetzner Cloud (docs.hetzner.cloud, "Server Metadata"). Dedicated servers have no metadata service. */
export const hetzner: SourceKind = {
  cloud,
  detect: (dmi) => dmi.sysVendor === 'Hetzner',
  open(options) {
    const read = documentsOf(options);
    return {
      cloud,
      async read(signal) {
        const { metadata, networks } = await read(signal);
        return instanceOf(metadata, networks, options.dmi.productSerial);
      },
    };
  },
};

/** Reads over IPv4 or, on servers without it, over the link-local address. */
function documentsOf({ clock, metadataUrl, interfaces }: SourceOptions) {
  const http = createMetadataHttp(clock);
  const clients = new Map<string, MetadataClient>();
  let answered: MetadataClient | undefined;

  function clientOf(baseUrl: string): MetadataClient {
    const known = clients.get(baseUrl) ?? createMetadataClient({ cloud, baseUrl, http, clock });
    clients.set(baseUrl, known);
    return known;
  }

  return async (signal: AbortSignal) => {
    const urls =
      metadataUrl === undefined ? ['http://169.254.169.254', ...linkLocalUrls(interfaces?.() ?? [])] : [metadataUrl];
    const candidates = preferring(urls.map(clientOf), answered);
    answered = undefined;
    const { client, answer } = await askInTurn(candidates, (candidate) => candidate.text({ path, signal }), signal);
    if (answer === undefined) throw invalid(context, 'document', undefined, 'the metadata of a server');
    // Empty (204) or missing when the server is in no network.
    const networks = (await client.text({ path: networksPath, signal })) ?? '';
    answered = client;
    return { metadata: answer, networks };
  };
}

/**
 * Parses both documents, which are YAML: a mapping with texts and the network configuration, and a list of networks.
 * Pure.
 */
function instanceOf(document: string, networks: string, serial: string | undefined): Instance {
  const metadata = fieldsOf(context, readTopLevel(context, document));
  const id = metadata.text('instance-id');
  if (!/^[1-9]\d*$/.test(id)) throw invalid(context, 'instance-id', id, "a server's number");
  if (serial !== undefined && serial !== id) {
    throw invalid(context, 'instance-id', id, `${serial} as in the firmware: the answer is about another server`);
  }
  const hostname = metadata.text('hostname');
  const location = metadata.text('availability-zone').split('-')[0]!;
  const addresses = createAddressList();
  addresses.add('Hostname', hostname);
  const public4 = metadata.optionalText('public-ipv4');
  if (public4 !== undefined) addresses.add('ExternalIP', addressOf(context, 'public-ipv4', public4));
  for (const address of staticIPv6(document)) addresses.add('ExternalIP', address);
  for (const address of privateAddresses(networks)) addresses.add('InternalIP', address);
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id }),
    incarnation: id,
    name: hostname,
    zone: zoneOfLocation(location),
    // The label is the location; the metadata's own `region` is the network zone.
    region: location,
    addresses: addresses.all,
  };
}

/** The server's IPv6 address, which only the network configuration contains. */
function staticIPv6(document: string): string[] {
  return valuesBelow(document, 'network-config', 'address')
    .map((text) => addressOf(context, 'network-config address', text))
    .filter((address) => isIP(address) === 6);
}

/** One address per network. If an unreadable document counted as empty, it would remove all addresses. */
function privateAddresses(networks: string): string[] {
  const items = networks.split('\n').filter((line) => line.startsWith('- ')).length;
  const found = valuesOfItems(networks, 'ip').map((text) => addressOf(networksContext, 'ip', text));
  if (found.length !== items || (items === 0 && !/^\s*(\[\s*\]\s*)?$/.test(networks))) {
    throw invalid(
      networksContext,
      'private-networks',
      { items, ips: found.length },
      'a list of networks with an ip each',
    );
  }
  return found;
}
