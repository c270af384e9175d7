import { isIP } from 'node:net';
import type { Instance, Notice } from '../../common/instance.ts';
import { alibaba as providerId } from '../../common/provider-id/alibaba.ts';
import { createAddressList } from './address-list.ts';
import { createMetadataHttp } from './client.ts';
import { addressOf, invalid } from './fields.ts';
import type { SourceKind } from './source.ts';
import { createTokenSession, type TokenScheme, type TokenSession } from './token-session.ts';

const cloud = 'alibaba';
const tree = '/latest/meta-data/';

/** Instances can be configured to require tokens. Where the path does not exist, none is required. */
const tokens: TokenScheme = {
  cloud,
  path: '/latest/api/token',
  ttlHeader: 'x-aliyun-ecs-metadata-token-ttl-seconds',
  ttlSeconds: 21_600,
  tokenHeader: 'x-aliyun-ecs-metadata-token',
  optional: true,
  explain(error) {
    if (error.kind !== 'Forbidden') return error;
    const message = 'status 403: the metadata service is switched off for this instance';
    return error.with({ message, cause: error });
  },
};

/** Alibaba Cloud ECS (alibabacloud.com/help, "Instance metadata"). */
export const alibaba: SourceKind = {
  cloud,
  detect: (dmi) => dmi.productName === 'Alibaba Cloud ECS',
  open({ clock, log, metadataUrl = 'http://100.100.100.200' }) {
    const session = createTokenSession(tokens, {
      http: createMetadataHttp(clock),
      clock,
      log,
      endpoints: [metadataUrl],
    });
    return {
      cloud,
      read: (signal) => readInstance(session, signal),
      notices: (signal) => readNotices(session, signal),
    };
  },
};

async function readInstance(session: TokenSession, signal: AbortSignal): Promise<Instance> {
  const optional = async (key: string) => (await session.get(tree + key, signal))?.trim() || undefined;
  const required = async (key: string, shape: RegExp, expected: string) => {
    const found = await optional(key);
    if (found === undefined || !shape.test(found)) throw invalid(contextOf(key), key, found, expected);
    return found;
  };
  const id = await required('instance-id', /^i-[0-9a-z]+$/, 'i- and letters or digits');
  const region = await required('region-id', /^[a-z]{2,}(-[a-z0-9]+)+$/, 'a region');
  const zone = await required('zone-id', /^[a-z0-9-]+$/, 'a zone');
  const type = await optional('instance/instance-type');
  const hostname = await optional('hostname');
  const internal = await optional('private-ipv4');
  // Classic public address, else an elastic one.
  const external = (await optional('public-ipv4')) ?? (await optional('eipv4'));
  const mac = await required('mac', /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i, 'a MAC address');
  const ipv6Key = `network/interfaces/macs/${mac}/ipv6s`;
  const [ipv6] = listed(await optional(ipv6Key));

  // The first address of each family of the primary interface: other addresses and interfaces belong to pods.
  const addresses = createAddressList();
  if (internal !== undefined)
    addresses.add('InternalIP', addressOf(contextOf('private-ipv4'), 'private-ipv4', internal));
  if (external !== undefined) addresses.add('ExternalIP', addressOf(contextOf('public-ipv4'), 'public-ipv4', external));
  if (ipv6 !== undefined) addresses.add('InternalIP', addressOf(contextOf(ipv6Key), 'ipv6s', ipv6));
  addresses.add('Hostname', hostname);
  if (!addresses.all.some(({ address }) => isIP(address) !== 0)) {
    throw invalid(contextOf('private-ipv4'), 'private-ipv4', undefined, 'an IP address');
  }
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id, region }),
    incarnation: id,
    // The Node name of upstream's controller and of its example kubelet.
    name: `${region}.${id}`,
    zone,
    region,
    ...(type === undefined ? {} : { type }),
    addresses: addresses.all,
  };
}

/** The attribute appears five minutes before a spot instance is released. */
async function readNotices(session: TokenSession, signal: AbortSignal): Promise<Notice[]> {
  const key = 'instance/spot/termination-time';
  const text = (await session.get(tree + key, signal))?.trim();
  if (text === undefined || text === '') return [];
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw invalid(contextOf(key), key, text, 'a moment');
  return [
    { kind: 'preemption', deadline: new Date(at).toISOString(), message: 'this spot instance is about to be released' },
  ];
}

/** Parses a list: a JSON array, which for IPv6 addresses lacks the quotes. */
function listed(text: string | undefined): string[] {
  return (text ?? '')
    .replace(/[[\]"\s]+/g, ' ')
    .split(/[ ,]+/)
    .filter(Boolean);
}

function contextOf(key: string) {
  return { cloud, operation: `GET ${tree}${key}` };
}
