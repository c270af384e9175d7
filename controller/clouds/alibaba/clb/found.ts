import { alibaba } from '../../../../common/provider-id/alibaba.ts';
import type { Found, Reference } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { pairsIn } from '../../answer-values.ts';
import { canonical } from '../../ip-address.ts';
import { type ObservedMember, type Owner, ownerTags } from '../../load-balancers.ts';

/**
 * Kinds of resources. Groups and listeners are parts of a classic load balancer; groups of network ones stand alone,
 * with their servers as a part.
 */
export const kindNames = {
  balancer: 'load balancer',
  group: 'server group',
  listener: 'listener',
  list: 'access list',
  networkGroup: 'NLB server group',
  networkListener: 'NLB listener',
  servers: 'servers',
} as const;

/** The wire's own fields. */
export type Json = { readonly [name: string]: unknown };
export type Tags = Readonly<Record<string, string>>;

/** Tags of the classic controller: its name for the load balancer, that people made it, and its name of the cluster. */
export const classicTags = {
  name: 'kubernetes.do.not.delete',
  reused: 'kubernetes.reused.by.user',
  cluster: 'ack.aliyun.com',
} as const;

export interface Balancer {
  readonly id: string;
  readonly name: string;
  readonly tags: Tags;
  /** Empty while it has none. */
  readonly address: string;
  readonly isProtected: boolean;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number | undefined;
  readonly wire: Json;
}

export interface Server {
  readonly id: string;
  readonly port: number;
  /** 0: it takes no new connections. */
  readonly weight: number;
  /** That it is no instance: a network interface, say, with the address of a pod. */
  readonly other?: { readonly type: string; readonly ip: string };
}

export interface Servers {
  readonly servers: readonly Server[];
  readonly members: readonly ObservedMember[];
}

export interface Group extends Servers {
  readonly name: string;
}

export type Listener = ReturnType<typeof foundListener>['body'];
export type AccessList = ReturnType<typeof foundList>['body'];

/** Tags as `{ TagKey, TagValue }`, in a list or in an object with one. */
export function tagsIn(fields: AnswerFields): Tags {
  if (Array.isArray(fields.json()['Tags'])) return pairsIn(fields, 'Tags', ['TagKey', 'TagValue']);
  return pairsIn(fields.optionalObject('Tags'), 'Tag', ['TagKey', 'TagValue']);
}

export function ownerOf(tags: Tags): Owner | undefined {
  const { [ownerTags.cluster]: cluster, [ownerTags.service]: service } = tags;
  return !cluster || !service || isRetained(tags) ? undefined : { cluster, service };
}

/** An empty one says nothing: a tag that is used again stays. */
export function isRetained(tags: Tags): boolean {
  return Boolean(tags[ownerTags.retained]);
}

/** Whose it is, as tags say it. */
export function marked(
  tags: Tags,
  clusterId: string,
): Pick<Found, 'owner' | 'key' | 'retained' | 'consentForAnyCluster' | 'adoptable'> {
  const owner = ownerOf(tags);
  const isClassic = classicTags.name in tags && (tags[classicTags.cluster] ?? clusterId) === clusterId;
  return {
    ...(owner && { owner, key: 'main' }),
    ...(isRetained(tags) && { retained: true }),
    ...(ownerTags.consent in tags && { consentForAnyCluster: true }),
    // What is made here has the classic controller's tags, too.
    ...(isClassic && owner === undefined && { adoptable: true }),
  };
}

export function foundBalancer(fields: AnswerFields, clusterId: string): Found<Balancer> {
  const [id, tags] = [fields.text('LoadBalancerId'), tagsIn(fields)];
  const address = canonical(fields.optionalText('Address') ?? '');
  return {
    kind: kindNames.balancer,
    id,
    status: 'ready',
    ...(address !== '' && { address }),
    ...marked(tags, clusterId),
    body: {
      id,
      tags,
      address,
      name: fields.optionalText('LoadBalancerName') ?? '',
      wire: fields.json(),
      isProtected: fields.optionalText('DeleteProtection') === 'on',
      createdAtMs: fields.optionalNumber('CreateTimeStamp'),
    },
  };
}

/** @param owner of its load balancer */
export function foundListener(fields: AnswerFields, owner: Owner | undefined) {
  const [within, protocol] = [fields.text('LoadBalancerId'), fields.text('ListenerProtocol').toLowerCase()];
  const port = fields.number('ListenerPort');
  const part = `${protocol.toUpperCase()}ListenerConfig`;
  const { [part]: _, ...common } = fields.json();
  const wire: Json = { ...common, ...fields.optionalObject(part)?.json() };
  const ref = (role: string, kind: string, id: unknown): Reference[] =>
    typeof id === 'string' && id !== '' ? [{ role, kind, id }] : [];
  return {
    kind: kindNames.listener,
    id: `${within}/${listenerKey(protocol, port)}`,
    within,
    status: 'ready',
    key: listenerKey(protocol, port),
    slots: [`port ${within} ${listenerKey(protocol, port)}`],
    ...(owner && { owner }),
    refs: [
      ...ref('group', kindNames.group, wire['VServerGroupId']),
      ...(wire['AclStatus'] === 'on' ? ref('list', kindNames.list, wire['AclId']) : []),
    ],
    body: {
      port,
      /** `tcp`, `udp`, `http` or `https`. */
      protocol,
      /** All that it is; what stands in the part for its protocol, too. */
      wire,
      isStarted: fields.optionalText('Status') !== 'stopped',
    },
  } satisfies Found;
}

/** A port may be served by TCP and UDP at once. */
export function listenerKey(protocol: string, port: number): string {
  return `${protocol === 'udp' ? 'udp' : 'tcp'}/${port}`;
}

export function foundGroup(
  { id, within, name, servers }: Pick<Group, 'name' | 'servers'> & { readonly id: string; readonly within: string },
  owner: Owner | undefined,
  region: string,
): Found<Group> {
  const members = membersOf(servers, region);
  return {
    kind: kindNames.group,
    id,
    within,
    key: groupKey(name),
    status: 'ready',
    body: { name, servers, members },
    ...(owner && { owner }),
  };
}

export function membersOf(servers: readonly Server[], region: string): readonly ObservedMember[] {
  return servers
    .filter((server) => /^i-[0-9a-z]+$/.test(server.id))
    .map((server) => ({
      providerID: alibaba.print({ instanceId: server.id, region }),
      draining: server.weight === 0,
      healthy: undefined,
    }));
}

/** Names are those of the classic controller: `k8s/30080/web/shop/clusterid`. */
export function groupName(key: string, service: string, clusterId: string): string {
  const [namespace = '', name = ''] = service.split('/');
  return `k8s/${key}/${name}/${namespace}/${clusterId}`.slice(0, 80);
}

function groupKey(name: string): string {
  return /^k8s\/([\w-]+)\//.exec(name)?.[1] ?? name;
}

export function serverIn(fields: AnswerFields): Server {
  const type = fields.optionalText('Type') ?? fields.optionalText('ServerType') ?? 'ecs';
  return {
    id: fields.text('ServerId'),
    port: fields.number('Port'),
    weight: fields.number('Weight'),
    ...(type.toLowerCase() !== 'ecs' && { other: { type, ip: fields.optionalText('ServerIp') ?? '' } }),
  };
}

/** A list is of one IP version, which cannot be changed. */
export function listKey(version: string | undefined): string {
  return version === 'ipv6' ? 'ipv6' : 'main';
}

/** @param ranges normalised CIDRs */
export function foundList(fields: AnswerFields, ranges: readonly string[]) {
  const tags = tagsIn(fields);
  const owner = ownerOf(tags);
  return {
    kind: kindNames.list,
    id: fields.text('AclId'),
    status: 'ready',
    ...(owner && { owner, key: listKey(fields.optionalText('AddressIPVersion')) }),
    ...(isRetained(tags) && { retained: true }),
    body: { name: fields.optionalText('AclName') ?? '', tags, ranges },
  } satisfies Found;
}
