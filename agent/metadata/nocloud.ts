import { join } from 'node:path';
import type { Instance } from '../../common/instance.ts';
import type { Clock } from '../../common/process/clock.ts';
import { nocloud as providerId } from '../../common/provider-id/nocloud.ts';
import { createAddressList } from './address-list.ts';
import { createMetadataClient, createMetadataHttp, maxMetadataBytes } from './client.ts';
import { fieldsOf, invalid } from './fields.ts';
import { kernelAddresses } from './kernel-addresses.ts';
import { readTopLevel } from './plain-yaml.ts';
import { readSeedFile } from './seed-file.ts';
import type { SourceKind, SourceOptions } from './source.ts';

const cloud = 'nocloud';
const defaultFolder = '/var/lib/cloud/seed/nocloud';
const maxBytes = maxMetadataBytes;
const fromSerial = /^ds=nocloud(?:-net)?(?:;|$)/;

/**
 * Machines without a cloud: bare metal, Proxmox, oVirt, libvirt. The `meta-data` of a cloud-init seed (cloud-init,
 * "NoCloud") describes them, on a drive, in a folder or on a web server; its key `provider-id` is the providerID. A
 * config drive in OpenStack's format works, too.
 */
export const nocloud: SourceKind = {
  cloud,
  detect: (dmi) => fromSerial.test(dmi.productSerial ?? ''),
  open(options) {
    const read = seedOf(options);
    return { cloud, read: async (signal) => instanceOf(await read(signal), options) };
  },
};

interface Seed {
  /** The location of the seed, as text for people. */
  readonly operation: string;
  readonly document: unknown;
}

type ReadSeed = (signal: AbortSignal) => Promise<Seed>;

/** Opens the seed named by the flags, else by the serial number of the firmware, else in cloud-init's folders. */
function seedOf({ clock, dmi, configDrive, metadataUrl }: SourceOptions): ReadSeed {
  if (configDrive !== undefined) return folderSeed(configDrive);
  if (metadataUrl !== undefined) return webSeed(clock, metadataUrl);
  const told = /;s(?:eedfrom)?=([^;]+)/.exec(fromSerial.test(dmi.productSerial ?? '') ? dmi.productSerial! : '')?.[1];
  if (told === undefined) return folderSeed(defaultFolder);
  if (/^https?:\/\//.test(told)) return webSeed(clock, told);
  return folderSeed(told.replace(/^file:\/\//, ''));
}

function webSeed(clock: Clock, baseUrl: string): ReadSeed {
  const client = createMetadataClient({ cloud, baseUrl, http: createMetadataHttp(clock), clock });
  const path = '/meta-data';
  const operation = `GET ${path}`;
  return async (signal) => {
    const text = await client.text({ path, signal });
    if (text === undefined) throw invalid({ cloud, operation }, 'meta-data', undefined, 'a document');
    return { operation, document: readTopLevel({ cloud, operation }, text) };
  };
}

function folderSeed(folder: string): ReadSeed {
  return async () => {
    const seed = await readYaml(join(folder, 'meta-data'));
    if (seed !== undefined) return seed;
    const drive = await readYaml(join(folder, 'openstack/latest/meta_data.json'));
    if (drive !== undefined) return { ...drive, document: fromConfigDrive(drive) };
    const context = { cloud, operation: `read ${folder}` };
    throw invalid(context, 'meta-data', undefined, 'a file of that name, or openstack/latest/meta_data.json');
  };
}

/** Parses JSON if the text is an object, else YAML. Undefined when there is no such file. */
async function readYaml(file: string): Promise<Seed | undefined> {
  const operation = `read ${file}`;
  const text = await readSeedFile(file, { cloud, operation }, maxBytes);
  return text === undefined ? undefined : { operation, document: readTopLevel({ cloud, operation }, text) };
}

/** The keys of the seed in the form of a config drive: common keys at the top level, the others in `meta`. */
function fromConfigDrive({ operation, document }: Seed): unknown {
  const fields = fieldsOf({ cloud, operation }, document);
  const meta = fields.optionalObject('meta');
  return {
    'instance-id': fields.text('uuid'),
    hostname: fields.optionalText('hostname') ?? fields.optionalText('name'),
    zone: meta?.optionalText('zone') ?? fields.optionalText('availability_zone'),
    region: meta?.optionalText('region'),
    'instance-type': meta?.optionalText('instance-type'),
    'provider-id': meta?.optionalText('provider-id'),
    'public-hostname': meta?.optionalText('public-hostname'),
  };
}

function instanceOf({ operation, document }: Seed, { region: flag, interfaces }: SourceOptions): Instance {
  const context = { cloud, operation };
  const fields = fieldsOf(context, document);
  const written = fields.text('provider-id');
  const id = providerId.parse(written)?.instanceId;
  if (id === undefined) {
    const expected = 'nocloud://…, proxmox://…, ovirt://…, hrobot://… or another that the documentation names';
    throw invalid(context, 'provider-id', written, expected);
  }
  const hostname = fields.optionalText('hostname') ?? fields.optionalText('local-hostname');
  const zone = fields.optionalText('zone');
  const region = fields.optionalText('region') ?? flag;
  const type = fields.optionalText('instance-type');
  const addresses = createAddressList();
  addresses.add('Hostname', hostname);
  for (const address of kernelAddresses(interfaces?.() ?? [])) addresses.add('InternalIP', address);
  addresses.add('ExternalDNS', fields.optionalText('public-hostname'));
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id }),
    // For cloud-init, a machine with another instance-id is a new one.
    incarnation: incarnationOf(fields.text('instance-id')),
    ...(hostname === undefined ? {} : { name: hostname }),
    ...(zone === undefined ? {} : { zone }),
    ...(region === undefined ? {} : { region }),
    ...(type === undefined ? {} : { type }),
    addresses: addresses.all,
  };
}

/** The incarnation without blanks, which would end it in the record. */
function incarnationOf(instanceId: string): string {
  return encodeURIComponent(instanceId);
}
