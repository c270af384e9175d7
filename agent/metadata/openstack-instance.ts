import { isIP } from 'node:net';
import type { Instance } from '../../common/instance.ts';
import { createAddressList } from './address-list.ts';
import { addressOf, fieldsOf, invalid } from './fields.ts';
import { oldestOf } from './kernel-addresses.ts';
import type { OpenstackDocuments } from './openstack-documents.ts';
import type { LocalInterface } from './source.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface OpenstackContext {
  readonly cloud: string;
  /** Used where the metadata has no region; plain OpenStack never has one. */
  readonly region: string | undefined;
  readonly interfaces: readonly LocalInterface[];
  /** The providerID of this server. */
  readonly print: (id: string, region: string | undefined) => string;
}

/**
 * Parses the instance from the documents. Throws a CloudError `Invalid` that names a missing or malformed field. Pure.
 */
export function openstackInstance(documents: OpenstackDocuments, context: OpenstackContext): Instance {
  const { cloud } = context;
  const source = { cloud, operation: 'meta_data.json' };
  const meta = fieldsOf(source, documents.metaData);
  const id = meta.text('uuid').toLowerCase();
  if (!uuid.test(id)) throw invalid(source, 'uuid', id, 'a server uuid');
  // Huawei Cloud and Open Telekom Cloud add this field; upstream OpenStack does not contain the region.
  const region = meta.optionalText('region_id') ?? context.region;
  const name = meta.optionalText('name');
  const zone = labelValue(meta.optionalText('availability_zone') ?? '');
  const addresses = createAddressList();
  for (const address of fixedAddresses(documents, context)) addresses.add('InternalIP', address);
  const { publicIPv4, type } = documents.ec2;
  if (publicIPv4 !== undefined) {
    addresses.add('ExternalIP', addressOf({ cloud, operation: 'public-ipv4' }, 'public-ipv4', publicIPv4));
  }
  addresses.add('Hostname', meta.optionalObject('meta')?.optionalText('hostname'));
  return {
    cloud,
    id,
    providerID: context.print(id, region),
    incarnation: id,
    ...(name === undefined ? {} : { name }),
    ...(zone === '' ? {} : { zone }),
    ...(region === undefined ? {} : { region }),
    ...(type === undefined ? {} : { type }),
    addresses: addresses.all,
  };
}

/** Zone names may be invalid as labels; upstream's controller rewrites them the same way. May be empty. */
export function labelValue(text: string): string {
  return text
    .replace(/[^-A-Za-z0-9_.]+/g, '-')
    .replace(/^[-_.]+|(?<![-_.])[-_.]+$/g, '')
    .slice(0, 63);
}

function fixedAddresses(documents: OpenstackDocuments, { cloud, interfaces }: OpenstackContext): string[] {
  const local = documents.ec2.localIPv4;
  const localIPv4 = local === undefined ? [] : [addressOf({ cloud, operation: 'local-ipv4' }, 'local-ipv4', local)];
  if (documents.networkData === undefined) return localIPv4;
  const source = { cloud, operation: 'network_data.json' };
  const data = fieldsOf(source, documents.networkData);
  const macs = new Map<string, string>();
  for (const link of data.objects('links')) {
    const mac = link.optionalText('ethernet_mac_address')?.toLowerCase();
    if (mac !== undefined) macs.set(link.text('id'), mac);
  }
  const found = data.objects('networks').flatMap((network, index) => {
    const written = network.optionalText('ip_address');
    if (written !== undefined) return addressOf(source, `networks[${index}].ip_address`, written);
    const family = network.text('type').startsWith('ipv6') ? 6 : 4;
    return leased(interfaces, macs.get(network.optionalText('link') ?? ''), family) ?? [];
  });
  // The only IPv4 address of a VM with DHCP when the kernel's addresses are unknown.
  return found.some((address) => isIP(address) === 4) ? found : [...localIPv4, ...found];
}

/** The interface's address from a DHCP server, which the documents do not contain: no virtual IP, which comes later. */
function leased(interfaces: readonly LocalInterface[], mac: string | undefined, family: 4 | 6): string | undefined {
  const same = interfaces.filter((candidate) => candidate.mac === mac);
  return same.flatMap(({ addresses }) => oldestOf(addresses, family) ?? [])[0];
}
