import { isIP } from 'node:net';
import { huaweicloud } from '../../../../common/provider-id/huaweicloud.ts';
import type { Found, Reference } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { timeIn } from '../../answer-values.ts';
import { canonical, normalCidr } from '../../ip-address.ts';
import type { ObservedMember } from '../../load-balancers.ts';
import { unionOfMembers } from '../../shown-load-balancer.ts';
import { type Marks, marksIn, ownerInAlias } from './marks.ts';

/** Kinds of resources. All but EIPs and IP groups are parts of a load balancer. */
export const kindNames = {
  balancer: 'load balancer',
  /** That an EIP is on a load balancer, whosever it is. */
  bound: 'bound EIP',
  eip: 'EIP',
  listener: 'listener',
  pool: 'pool',
  monitor: 'health monitor',
  group: 'IP group',
} as const;

/** The wire's own fields. */
export type Json = Readonly<Record<string, unknown>>;

/** What a resource of ELB shows. */
export interface Shown {
  readonly name: string;
  readonly wire: Json;
}
export interface Balancer extends Shown {
  readonly marks: Marks;
  /** The private address; empty for none. */
  readonly vip: string;
  readonly eip: string | undefined;
  readonly vpc: string | undefined;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number | undefined;
}
export interface Member {
  /** Empty until it is read. */
  readonly id: string;
  readonly address: string;
  readonly port: number;
  /** 0: it takes no new connections. */
  readonly weight: number;
  /** Id of its ECS. */
  readonly server: string | undefined;
  readonly healthy?: boolean | undefined;
}
export interface Pool extends Shown {
  readonly members: readonly Member[];
}
export type Group = ReturnType<typeof foundGroup>['body'];
export type Eip = ReturnType<typeof foundEip>['body'];

export const keepMark = 'mooring.dev/keep';

function shown(fields: AnswerFields): Shown {
  return { name: fields.optionalText('name') ?? '', wire: fields.json() };
}

function ownedBy({ owner, retained, consent }: Marks): Partial<Found> {
  return {
    ...(owner && { owner, key: 'main' }),
    ...(retained !== undefined && { retained: true }),
    ...(consent !== undefined && { consentForAnyCluster: true }),
  };
}

/** The load balancer, and the EIP on it. */
export function foundBalancer(fields: AnswerFields): Found[] {
  const id = fields.text('id');
  const marks = marksIn(fields.optionalText('description') ?? '');
  const vip = canonical(fields.optionalText('vip_address') ?? '');
  const [eip] = fields.optionalObjects('eips').filter((one) => (one.optionalNumber('ip_version') ?? 4) === 4);
  const address = eip === undefined ? undefined : canonical(eip.text('eip_address'));
  const shownAddress = address ?? (marks.front === 'eip' ? undefined : vip || undefined);
  const body: Balancer = {
    ...shown(fields),
    marks,
    vip,
    eip: address,
    vpc: fields.optionalText('vpc_id'),
    createdAtMs: timeIn(fields, 'created_at'),
  };
  const isGoing = fields.optionalText('provisioning_status') === 'PENDING_DELETE';
  const balancer: Found<Balancer> = {
    kind: kindNames.balancer,
    id,
    status: isGoing ? 'deleting' : 'ready',
    ...ownedBy(marks),
    body,
    ...(shownAddress !== undefined && { address: shownAddress }),
    ...(body.name.startsWith('k8s_service_') && { adoptable: true }),
  };
  return address === undefined ? [balancer] : [balancer, foundBound(id, eip!.text('eip_id'), address)];
}

export function foundBound(within: string, eip: string, address: string): Found {
  return {
    kind: kindNames.bound,
    id: `${within}/${eip}`,
    key: 'main',
    within,
    status: 'ready',
    address,
    body: address,
    refs: [{ role: 'eip', kind: kindNames.eip, id: eip }],
  };
}

export function foundEip(fields: AnswerFields) {
  const [id, ip] = [fields.text('id'), canonical(fields.optionalText('public_ip_address') ?? '')];
  const description = fields.optionalText('description') ?? '';
  const owner = ownerInAlias(fields.optionalText('alias') ?? '');
  const { retained, consent } = marksIn(description);
  const marks: Marks = owner === undefined ? { retained, consent } : { owner };
  const { associate_instance_id: instance } = fields.json();
  const holder = instance || fields.optionalObject('vnic')?.optionalText('port_id');
  return {
    kind: kindNames.eip,
    id,
    status: 'ready',
    ...ownedBy(marks),
    body: {
      ip,
      description,
      marks,
      /** It outlives its Service. */
      keep: description.startsWith(`${keepMark}=`),
      /** Id of what it is on. */
      holder: typeof holder === 'string' && holder !== '' ? holder : undefined,
    },
  } satisfies Found;
}

/** TCP, HTTP and HTTPS share the ports of TCP. */
export function listenerKey(protocol: string, port: number): string {
  return `${protocol === 'UDP' ? 'udp' : 'tcp'}/${port}`;
}

export function listenerSlot(within: string, key: string): string {
  return `port ${within} ${key}`;
}

export function foundListener(fields: AnswerFields): Found<Shown> {
  const key = listenerKey(fields.text('protocol'), fields.number('protocol_port'));
  const within = firstIn(fields, 'loadbalancers');
  const group = fields.optionalObject('ipgroup')?.optionalText('ipgroup_id');
  const pool = fields.optionalText('default_pool_id');
  const ref = (role: string, kind: string, id: string | undefined): Reference[] =>
    id === undefined ? [] : [{ role, kind, id }];
  return {
    kind: kindNames.listener,
    id: fields.text('id'),
    key,
    within,
    slots: [listenerSlot(within, key)],
    status: 'ready',
    body: shown(fields),
    refs: [...ref('default_pool_id', kindNames.pool, pool), ...ref('ipgroup', kindNames.group, group)],
  };
}

/** @param key undefined: by the port of its listener or, where it has none, the end of its name */
export function foundPool(
  fields: AnswerFields,
  members: readonly Member[],
  key?: string,
  ports?: ReadonlyMap<string, number>,
): Found<Pool> {
  const body = { ...shown(fields), members };
  const listener = fields.optionalObjects('listeners')[0]?.text('id') ?? '';
  const port = ports?.get(listener) ?? /_(\d+)$/.exec(body.name)?.[1] ?? body.name;
  return {
    kind: kindNames.pool,
    id: fields.text('id'),
    key: key ?? `${fields.text('protocol').toLowerCase()}/${port}`,
    within: firstIn(fields, 'loadbalancers'),
    status: 'ready',
    body,
  };
}

export function foundMonitor(fields: AnswerFields, key: string): Found<Shown> {
  const within = firstIn(fields, 'pools');
  return { kind: kindNames.monitor, id: fields.text('id'), key, within, status: 'ready', body: shown(fields) };
}

export function foundGroup(fields: AnswerFields) {
  const marks = marksIn(fields.optionalText('description') ?? '');
  const ranges = fields.optionalObjects('ip_list').map((one) => rangeOf(one.text('ip')));
  return {
    kind: kindNames.group,
    id: fields.text('id'),
    status: 'ready',
    ...ownedBy(marks),
    body: { ...shown(fields), marks, ranges },
  } satisfies Found;
}

/** An entry may be one address without its length. */
function rangeOf(text: string): string {
  const length = { 0: undefined, 4: 32, 6: 128 }[isIP(text)];
  return normalCidr(length === undefined ? text : `${text}/${length}`) ?? text;
}

const isServer = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Of an address the cloud knows no ECS: ours have it in their name. */
export function memberIn(fields: AnswerFields): Member {
  const named = fields.optionalText('name');
  const server =
    fields.optionalText('instance_id')?.toLowerCase() || (named && isServer.test(named) ? named : undefined);
  const health = fields.optionalText('operating_status');
  return {
    id: fields.text('id'),
    address: canonical(fields.text('address')),
    port: fields.number('protocol_port'),
    weight: fields.optionalNumber('weight') ?? 1,
    server,
    healthy: health === 'ONLINE' ? true : health === 'OFFLINE' ? false : undefined,
  };
}

export function observedMembers(pools: readonly Found<Pool>[]): readonly ObservedMember[] {
  const observed = ({ server, weight, healthy }: Member): ObservedMember[] =>
    server === undefined
      ? []
      : [{ providerID: huaweicloud.print({ instanceId: server }), draining: weight === 0, healthy }];
  return unionOfMembers(pools.map(({ body }) => body.members.flatMap(observed)));
}

function firstIn(fields: AnswerFields, name: string): string {
  return fields.objects(name)[0]?.text('id') ?? '';
}
