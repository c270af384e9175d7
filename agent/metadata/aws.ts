import { evidenceKinds } from '../../common/attestation.ts';
import { CloudError } from '../../common/cloud-error.ts';
import type { Instance } from '../../common/instance.ts';
import { aws as providerId } from '../../common/provider-id/aws.ts';
import type { Evidence } from '../../common/report.ts';
import { createAddressList } from './address-list.ts';
import { awsNotices } from './aws-notices.ts';
import { imdsTokens } from './aws-session.ts';
import { createMetadataHttp, parseJson } from './client.ts';
import { addressOf, fieldsOf, invalid } from './fields.ts';
import type { Dmi, SourceKind } from './source.ts';
import { createTokenSession, type TokenSession } from './token-session.ts';

const cloud = 'aws';
const documentPath = '/latest/dynamic/instance-identity/document';
const signaturePath = '/latest/dynamic/instance-identity/rsa2048';
const metadata = '/latest/meta-data/';
/** The second exists on Nitro instances in subnets with IPv6, when switched on. */
const endpoints = ['http://169.254.169.254', 'http://[fd00:ec2::254]'];

/** EC2 (docs.aws.amazon.com, "Instance metadata and user data", "Instance identity documents"). */
export const aws: SourceKind = {
  cloud,
  detect: isEc2,
  open({ clock, log, dmi, metadataUrl }) {
    const session = createTokenSession(imdsTokens, {
      http: createMetadataHttp(clock),
      clock,
      log,
      endpoints: metadataUrl === undefined ? endpoints : [metadataUrl],
    });
    return {
      cloud,
      read: (signal) => readInstance(session, dmi, signal),
      notices: awsNotices(session, clock),
      evidence: (_challenge, signal) => readEvidence(session, signal),
    };
  },
};

/**
 * Nitro has the vendor `Amazon EC2`, old Xen types have a BIOS of Amazon. A UUID that begins with `ec2` is no proof:
 * one random UUID in two thousand does, too, and clouds with an EC2-compatible API (Brightbox, ZStack, e24cloud, Tilaa,
 * Outscale) have it on purpose.
 */
function isEc2(dmi: Dmi): boolean {
  if (dmi.productSerial?.endsWith('.brightbox.com') || dmi.chassisAssetTag?.endsWith('.zstack.io')) return false;
  return dmi.sysVendor === 'Amazon EC2' || (dmi.sysVendor === 'Xen' && /\.amazon$/.test(dmi.biosVersion ?? ''));
}

interface Nic {
  readonly device: number;
  readonly card: number;
  readonly private4: readonly string[];
  readonly ipv6: readonly string[];
}

async function readInstance(session: TokenSession, dmi: Dmi, signal: AbortSignal): Promise<Instance> {
  const get = async (key: string) => (await session.get(metadata + key, signal))?.trim() || undefined;
  const identity = await readIdentity(session, dmi, signal);
  const zoneId = await get('placement/availability-zone-id');
  const nics = await readNics(session, signal);
  const publicAddress = await get('public-ipv4');
  // With several domains in the VPC's DHCP options the text has one name per domain, separated by blanks.
  const privateName = (await get('local-hostname'))?.split(/\s+/)[0];
  const publicName = await get('public-hostname');

  // Upstream's order: all private addresses of all interfaces, the instance's public one, its names, then one IPv6 per
  // interface.
  const addresses = createAddressList();
  for (const nic of nics) for (const address of nic.private4) addresses.add('InternalIP', address);
  if (publicAddress !== undefined) {
    addresses.add('ExternalIP', addressOf({ cloud, operation: 'GET public-ipv4' }, 'public-ipv4', publicAddress));
  }
  addresses.add('InternalDNS', privateName);
  addresses.add('Hostname', privateName);
  addresses.add('ExternalDNS', publicName);
  for (const nic of nics) addresses.add('InternalIP', nic.ipv6[0]);

  return {
    cloud,
    id: identity.id,
    providerID: providerId.print({ instanceId: identity.id, zone: identity.zone }),
    incarnation: identity.id,
    zone: identity.zone,
    region: identity.region,
    type: identity.type,
    addresses: addresses.all,
    ...(zoneId === undefined ? {} : { labels: { 'topology.k8s.aws/zone-id': zoneId } }),
  };
}

/**
 * Reads the identity document and compares it with the attribute tree and, on Nitro, the board's asset tag: all must
 * name the same instance.
 */
async function readIdentity(session: TokenSession, dmi: Dmi, signal: AbortSignal) {
  const context = { cloud, operation: `GET ${documentPath}` };
  const text = await session.get(documentPath, signal);
  if (text === undefined) throw new CloudError({ ...context, kind: 'Invalid', message: 'identity document: missing' });
  const document = fieldsOf(context, parseJson(cloud, context.operation, text));
  const id = document.text('instanceId');
  const zone = document.text('availabilityZone');
  if (!/^i-[0-9a-f]{8,17}$/.test(id)) throw invalid(context, 'instanceId', id, 'i- and 8 to 17 hex digits');
  if (!/^[a-z0-9-]+$/.test(zone)) throw invalid(context, 'availabilityZone', zone, 'an availability zone');
  for (const [key, expected] of [
    ['instance-id', id],
    ['placement/availability-zone', zone],
  ] as const) {
    const found = (await session.get(metadata + key, signal))?.trim();
    if (found !== expected) {
      throw invalid(
        { cloud, operation: `GET ${metadata}${key}` },
        key,
        found,
        `${expected} as in the identity document`,
      );
    }
  }
  const tag = dmi.boardAssetTag;
  if (tag?.startsWith('i-') && tag !== id) {
    throw invalid(context, 'instanceId', id, `${tag} as in the firmware: the answer is about another instance`);
  }
  return { id, zone, region: document.text('region'), type: document.text('instanceType') };
}

/** Reads the unchanged document and its signature, which contains no challenge. */
async function readEvidence(session: TokenSession, signal: AbortSignal): Promise<Evidence> {
  const [document, signature] = [await session.get(documentPath, signal), await session.get(signaturePath, signal)];
  for (const [path, text] of [
    [documentPath, document],
    [signaturePath, signature],
  ] as const) {
    if (text === undefined) throw invalid({ cloud, operation: `GET ${path}` }, path, undefined, 'a text');
  }
  return { cloud, kind: evidenceKinds.aws, document: JSON.stringify({ document, signature: signature?.trim() }) };
}

async function readNics(session: TokenSession, signal: AbortSignal): Promise<Nic[]> {
  const tree = `${metadata}network/interfaces/macs/`;
  const listing = await session.get(tree, signal);
  const nics: Nic[] = [];
  for (const mac of lines(listing).map((line) => line.replace(/\/$/, ''))) {
    if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(mac)) {
      throw invalid({ cloud, operation: `GET ${tree}` }, 'mac', mac, 'a MAC address');
    }
    const get = (key: string) => session.get(`${tree}${mac}/${key}`, signal);
    const addresses = async (key: string) => {
      const found = lines(await get(key));
      return found.map((text) => addressOf({ cloud, operation: `GET ${tree}${mac}/${key}` }, key, text));
    };
    const device = await get('device-number');
    // The interface was detached after the listing.
    if (device === undefined) continue;
    nics.push({
      device: Number(device),
      card: Number((await get('network-card-index')) ?? 0),
      private4: await addresses('local-ipv4s'),
      ipv6: await addresses('ipv6s'),
    });
  }
  // If a missing list counted as empty, an incomplete tree would remove all addresses.
  if (nics.every(({ private4, ipv6 }) => private4.length + ipv6.length === 0))
    throw invalid({ cloud, operation: `GET ${tree}` }, 'macs', undefined, 'an interface with an address');
  return nics.sort((a, b) => a.device - b.device || a.card - b.card);
}

function lines(text: string | undefined): string[] {
  return (text ?? '').split('\n').flatMap((line) => line.trim() || []);
}
