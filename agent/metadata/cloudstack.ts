import { join } from 'node:path';
import { typeOfOffering } from '../../common/cloudstack-type.ts';
import type { Instance } from '../../common/instance.ts';
import { cloudstack as providerId } from '../../common/provider-id/cloudstack.ts';
import { swapped } from '../../common/smbios-uuid.ts';
import { createAddressList } from './address-list.ts';
import { createMetadataClient, createMetadataHttp, type MetadataClient, maxMetadataBytes } from './client.ts';
import { dataServers } from './data-servers.ts';
import { askInTurn, preferring } from './endpoints.ts';
import { addressOf, invalid } from './fields.ts';
import { readSeedFile } from './seed-file.ts';
import type { Dmi, SourceKind, SourceOptions } from './source.ts';

const cloud = 'cloudstack';
const path = '/latest/meta-data';
const context = { cloud, operation: `GET ${path}` };
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** One attribute of the VM; undefined where it has none. */
type ReadKey = (key: string, signal: AbortSignal) => Promise<string | undefined>;

/**
 * CloudStack (docs.cloudstack.apache.org, "User-Data and Meta-Data"): the virtual router of the network, or a config
 * drive. The password server beside it, on port 8080, is never asked: it gives a password once.
 */
export const cloudstack: SourceKind = cloudstackAt('/');

/** @param root where the machine's own files are */
export function cloudstackAt(root: string): SourceKind {
  return {
    cloud,
    detect: (dmi) => dmi.productName?.startsWith('CloudStack') ?? false,
    open(options) {
      const { configDrive } = options;
      const open = configDrive === undefined ? routerOf(options, root) : async () => driveOf(configDrive);
      return { cloud, read: async (signal) => instanceOf(await open(signal), options, signal) };
    },
  };
}

/** Reads the id from one router after the other until one answers; the rest is of the same one. */
function routerOf({ clock, metadataUrl }: SourceOptions, root: string): (signal: AbortSignal) => Promise<ReadKey> {
  const http = createMetadataHttp(clock);
  let answered: MetadataClient | undefined;
  const readFrom = (client: MetadataClient, key: string, signal: AbortSignal) =>
    client.text({ path: `${path}/${key}`, signal });

  return async (signal) => {
    const urls = metadataUrl === undefined ? (await dataServers(root)).map((ip) => `http://${ip}`) : [metadataUrl];
    const expected = 'a DHCP lease, a default gateway or --metadata-url: the virtual router of the network';
    if (urls.length === 0) throw invalid(context, 'data server', undefined, expected);
    const clients = urls.map((baseUrl) => {
      return answered?.baseUrl === baseUrl ? answered : createMetadataClient({ cloud, baseUrl, http, clock });
    });
    const inTurn = preferring(
      clients,
      clients.find((one) => one === answered),
    );
    answered = undefined;
    const { client, answer } = await askInTurn(inTurn, (one) => readFrom(one, 'instance-id', signal), signal);
    answered = client;
    return async (key, given) => (key === 'instance-id' ? answer : readFrom(client, key, given));
  };
}

/** `cloudstack/metadata/instance_id.txt` of a mounted config drive. */
function driveOf(folder: string): ReadKey {
  return (key) => {
    const file = join(folder, 'cloudstack/metadata', `${key.replaceAll('-', '_')}.txt`);
    return readSeedFile(file, { cloud, operation: `read ${file}` }, maxMetadataBytes);
  };
}

/** KVM shows the guest the id of its VM. Other hypervisors make up an SMBIOS UUID, some at each start. */
function isOther(id: string, { productName, productUuid = '' }: Dmi): boolean {
  const told = productName === 'CloudStack KVM Hypervisor' && uuid.test(productUuid) && productUuid.toLowerCase();
  return told !== false && told !== id && told !== swapped(id);
}

async function instanceOf(read: ReadKey, { region, dmi }: SourceOptions, signal: AbortSignal): Promise<Instance> {
  /** One line: anything else is the page of another server. */
  async function textOf(key: string): Promise<string | undefined> {
    const text = (await read(key, signal))?.trim() || undefined;
    if (text === undefined || /^[^<>\p{Cc}]{1,255}$/u.test(text)) return text;
    throw invalid(context, key, text.slice(0, 40), 'one line of text');
  }
  async function needed(key: string, expected: string): Promise<string> {
    const text = await textOf(key);
    if (text === undefined) throw invalid(context, key, undefined, expected);
    return text;
  }
  const id = (await needed('instance-id', 'the UUID of a VM')).toLowerCase();
  if (!uuid.test(id)) throw invalid(context, 'instance-id', id, 'the UUID of a VM');
  if (isOther(id, dmi)) {
    const expected = `${dmi.productUuid}, the SMBIOS UUID of this VM: another machine's data server answers`;
    throw invalid(context, 'instance-id', id, expected);
  }
  const name = await needed('local-hostname', 'the name of the VM');
  const zone = await needed('availability-zone', 'the name of a zone');
  const type = typeOfOffering((await textOf('service-offering')) ?? '');
  const addresses = createAddressList();
  addresses.add('Hostname', name);
  // The public one may be that of the router, which all VMs of the network share.
  addresses.add('InternalIP', addressOf(context, 'local-ipv4', await needed('local-ipv4', 'an IPv4 address')));
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id }),
    incarnation: id,
    name,
    zone,
    region: region ?? zone,
    ...(type !== undefined && { type }),
    addresses: addresses.all,
  };
}
