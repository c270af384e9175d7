import { join } from 'node:path';
import type { Instance } from '../../common/instance.ts';
import type { Clock } from '../../common/process/clock.ts';
import { nocloud as providerId } from '../../common/provider-id/nocloud.ts';
import { createAddressList } from './address-list.ts';
import { createMetadataClient, createMetadataHttp, maxMetadataBytes } from './client.ts';
import { fieldsOf, invalid } from './fields.ts';
import { kernelAddresses } from './kernel-addresses.ts';
import { readTopLevel } from './plain-yaml.ts';
import { readSeedFolder, readVolume, type Seed } from './seed.ts';
import { readSeedFile } from './seed-file.ts';
import type { Dmi, SourceKind, SourceOptions } from './source.ts';

const cloud = 'nocloud';
const fromSerial = /^ds=nocloud(?:-net)?(?:;|$)/;

/**
 * Machines without a cloud: bare metal, Proxmox, oVirt, libvirt. The `meta-data` of a cloud-init seed (cloud-init,
 * "NoCloud") describes them, on a volume, in a folder or on a web server; its key `provider-id` is the providerID, else
 * the SMBIOS UUID is. A config drive in OpenStack's format works, too.
 */
export const nocloud: SourceKind = nocloudAt('/var/lib/cloud/seed/nocloud');

/** @param folder where cloud-init looks for a seed */
export function nocloudAt(folder: string): SourceKind {
  return {
    cloud,
    detect: (dmi) => fromSerial.test(dmi.productSerial ?? ''),
    open(options) {
      const read = seedOf(options, folder);
      return { cloud, read: async (signal) => instanceOf(await read(signal), options) };
    },
  };
}

type ReadSeed = (signal: AbortSignal) => Promise<Seed>;

/**
 * Opens the seed named by the flags, else by the serial number of the firmware, else in cloud-init's folder or on the
 * machine's own volume.
 */
function seedOf({ clock, dmi, configDrive, metadataUrl, seedVolume }: SourceOptions, folder: string): ReadSeed {
  if (configDrive !== undefined) return folderSeed(configDrive);
  if (metadataUrl !== undefined) return webSeed(clock, metadataUrl);
  const told = /;s(?:eedfrom)?=([^;]+)/.exec(fromSerial.test(dmi.productSerial ?? '') ? dmi.productSerial! : '')?.[1];
  if (told === undefined) return () => ownSeed(folder, seedVolume);
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
  return () => readSeedFolder(cloud, folder);
}

/**
 * The folder where cloud-init looks for a seed, else the volume of the machine. As cloud-init has it: root alone writes
 * the folder, while guests and pods with a block device may give it that label.
 */
async function ownSeed(folder: string, findVolume: SourceOptions['seedVolume']): Promise<Seed> {
  const file = join(folder, 'meta-data');
  const isFilled = (await readSeedFile(file, { cloud, operation: `read ${file}` }, maxMetadataBytes)) !== undefined;
  const volume = isFilled ? undefined : await findVolume?.(cloud);
  return volume === undefined ? readSeedFolder(cloud, folder) : readVolume(cloud, volume);
}

function instanceOf({ operation, document }: Seed, { region: flag, interfaces, dmi }: SourceOptions): Instance {
  const context = { cloud, operation };
  const fields = fieldsOf(context, document);
  const written = fields.optionalText('provider-id') ?? idOfFirmware(dmi) ?? fields.text('provider-id');
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

/** Boards whose vendor gave them no UUID of their own show one of these. */
const sharedUuid = /^(0{8}|f{8})-|^03000200-0400-0500-0006-000700080009$|^00020003-0004-0005-0006-000700080009$/;

/** `nocloud://<SMBIOS UUID>`: some platforms (Proxmox) write seeds themselves, and no more than cloud-init asks for. */
function idOfFirmware({ productUuid }: Dmi): string | undefined {
  return productUuid === undefined || sharedUuid.test(productUuid) ? undefined : `nocloud://${productUuid}`;
}

/** The incarnation without blanks, which would end it in the record. */
function incarnationOf(instanceId: string): string {
  return encodeURIComponent(instanceId);
}
