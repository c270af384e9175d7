import type { Family, Scheme } from './address-model.ts';
import {
  type Body,
  cidr,
  flag,
  list,
  objectOf,
  oneOf,
  optionalText,
  type Tags,
  tagsOf,
  text,
  texts,
  whole,
  wrong,
} from './body.ts';
import type { HealthCheck, Member, Protocol } from './load-balancer.ts';

export const families: readonly Family[] = ['IPv4', 'IPv6'];
export const schemes: readonly Scheme[] = ['external', 'internal'];

export interface ListenerSpec {
  readonly name: string;
  readonly tags: Tags;
  readonly protocol: Protocol;
  readonly port: number;
  readonly memberPort: number;
  readonly sourceRanges: readonly string[];
  readonly proxyProtocol: boolean;
  readonly tls: boolean;
  /** Id or name. */
  readonly pool: string;
  readonly clientToken: string | undefined;
}

export interface PoolSpec {
  readonly name: string;
  readonly tags: Tags;
  readonly healthCheck: HealthCheck | undefined;
  readonly sessionAffinity: { readonly timeoutSeconds: number } | undefined;
  readonly members: readonly Member[];
  readonly clientToken: string | undefined;
}

export interface LoadBalancerSpec {
  readonly name: string;
  readonly tags: Tags;
  readonly scheme: Scheme;
  readonly families: readonly Family[];
  /** Ids of static addresses; a family without one gets an address of its own. */
  readonly addresses: readonly string[];
  readonly listeners: readonly ListenerSpec[];
  readonly pools: readonly PoolSpec[];
  readonly clientToken: string | undefined;
}

export function loadBalancerSpec(body: Body): LoadBalancerSpec {
  const asked = texts(body, 'families') as Family[];
  for (const family of asked) if (!families.includes(family)) throw wrong('families', family, families.join(', '));
  return {
    name: nameOf(body),
    tags: tagsOf(body),
    scheme: oneOf(body, 'scheme', schemes, 'external'),
    families: asked.length > 0 ? [...new Set(asked)] : ['IPv4'],
    addresses: [...new Set(texts(body, 'addresses'))],
    listeners: list(body, 'listeners').map((item, at) => listenerSpec(objectOf(item, `listeners[${at}]`))),
    pools: list(body, 'pools').map((item, at) => poolSpec(objectOf(item, `pools[${at}]`))),
    clientToken: optionalText(body, 'clientToken'),
  };
}

export function listenerSpec(body: Body): ListenerSpec {
  const protocol = oneOf<Protocol>(body, 'protocol', ['TCP', 'UDP', 'SCTP']);
  const port = whole(body, 'port', 1, 65_535);
  return {
    name: optionalText(body, 'name') ?? `${protocol.toLowerCase()}-${port}`,
    tags: tagsOf(body),
    protocol,
    port,
    memberPort: whole(body, 'memberPort', 1, 65_535),
    sourceRanges: sourceRanges(body),
    proxyProtocol: flag(body, 'proxyProtocol'),
    tls: flag(body, 'tls'),
    pool: text(body, 'pool'),
    clientToken: optionalText(body, 'clientToken'),
  };
}

export function poolSpec(body: Body): PoolSpec {
  return {
    name: nameOf(body),
    tags: tagsOf(body),
    healthCheck: healthCheck(body),
    sessionAffinity: sessionAffinity(body),
    members: membersOf(body),
    clientToken: optionalText(body, 'clientToken'),
  };
}

export function sourceRanges(body: Body): string[] {
  return list(body, 'sourceRanges').map((range) => cidr(range, 'sourceRanges'));
}

/** null or left out = none. */
export function healthCheck(body: Body): HealthCheck | undefined {
  const given = body['healthCheck'] ?? undefined;
  if (given === undefined) return undefined;
  const fields = objectOf(given, 'healthCheck');
  return { port: whole(fields, 'port', 1, 65_535), path: text(fields, 'path') };
}

/** null or left out = none. */
export function sessionAffinity(body: Body): { timeoutSeconds: number } | undefined {
  const given = body['sessionAffinity'] ?? undefined;
  if (given === undefined) return undefined;
  return { timeoutSeconds: whole(objectOf(given, 'sessionAffinity'), 'timeoutSeconds', 1, 86_400) };
}

/** Sorted by instance id; one that is named twice is refused. */
export function membersOf(body: Body): Member[] {
  const members = list(body, 'members').map((item, at): Member => {
    const fields = objectOf(item, `members[${at}]`);
    const weight = fields['weight'] ?? 1;
    if (weight !== 0 && weight !== 1) throw wrong(`members[${at}].weight`, weight, '0 or 1');
    return { instanceId: text(fields, 'instanceId'), weight };
  });
  members.sort((a, b) => (a.instanceId < b.instanceId ? -1 : 1));
  const twice = members.find(({ instanceId }, at) => instanceId === members[at - 1]?.instanceId);
  if (twice) throw wrong('members', twice.instanceId, 'each instance once');
  return members;
}

export function nameOf(body: Body): string {
  const name = text(body, 'name');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name)) {
    throw wrong('name', name, "up to 63 letters, digits, '.', '_' and '-'");
  }
  return name;
}
