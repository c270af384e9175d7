import { classicName } from '../../adoption.ts';
import { type Owner, ownerTags } from '../../load-balancers.ts';

export type Tags = Readonly<Record<string, string>>;

/** Tags beside those of all clouds. */
export const tagKeys = {
  ...ownerTags,
  /** For the Service's status: instead of the address. */
  hostname: 'mooring.dev/hostname',
  /** UUID of the network of the nodes: an address of a VPC is of none. */
  network: 'mooring.dev/network',
  /** The address stays when its Service goes: others acquired it. */
  lent: 'mooring.dev/lent',
} as const;

export interface Marks {
  readonly owner: Owner;
  /** `namespace/name` of the Service. */
  readonly service: string;
  readonly hostname: string | undefined;
}

/** What a Service's address is tagged with, but for the network and whether it is lent. */
export function tagsOf({ owner, service, hostname }: Marks): Tags {
  return {
    [tagKeys.cluster]: owner.cluster,
    [tagKeys.service]: owner.service,
    [tagKeys.serviceName]: service,
    ...(hostname !== undefined && { [tagKeys.hostname]: hostname }),
  };
}

/** Undefined: it is not ours, or it has stayed when its Service went. */
export function ownerOf(tags: Tags): Owner | undefined {
  const [cluster, service] = [tags[tagKeys.cluster], tags[tagKeys.service]];
  if (cluster === undefined || service === undefined || tags[tagKeys.retained] !== undefined) return undefined;
  return { cluster, service };
}

/** As the API takes them: `tags[0].key`, `tags[0].value`. */
export function tagParams(tags: Tags): Readonly<Record<string, string>> {
  const pairs = Object.entries(tags).flatMap(([key, value], at) => [
    [`tags[${at}].key`, key],
    [`tags[${at}].value`, value],
  ]);
  return Object.fromEntries(pairs);
}

/** Rules of a Service are named as the classic controller names them: `a<32 characters of the UID>-tcp-80`. */
export function ruleName(service: string, protocol: string, port: number): string {
  return `${classicName(service)}-${protocol}-${port}`;
}

const ruleNamed = /^(a[0-9a-f]{31})-(?:tcp|udp|tcp-proxy)-\d+$/;

/** Of the Service that a rule is named after; undefined: it is none of a Service. */
export function balancerOfRule(name: string): string | undefined {
  return ruleNamed.exec(name)?.[1];
}

const aclReason = /^mooring ([\w-]+)\/([\w-]+)$/;

/** Rules of a network ACL have no tags that come with their creation. */
export function printReason({ cluster, service }: Owner): string {
  return `mooring ${cluster}/${service}`;
}

export function parseReason(text: string | undefined): Owner | undefined {
  const [, cluster, service] = aclReason.exec(text ?? '') ?? [];
  return cluster === undefined || service === undefined ? undefined : { cluster, service };
}
