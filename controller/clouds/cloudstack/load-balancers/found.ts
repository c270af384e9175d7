import type { Found, Reference } from '../../../engine/resource.ts';
import { classicName } from '../../adoption.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { pairsIn, timeIn } from '../../answer-values.ts';
import { canonical } from '../../ip-address.ts';
import type { Owner } from '../../load-balancers.ts';
import { balancerOfRule, ownerOf, parseReason, type Tags, tagKeys } from './marks.ts';
import { narrowed } from './settings.ts';

/** Kinds of resources. A load balancer is a public address and the rules on it. */
export const kindNames = {
  address: 'public address',
  /** Of the account, and of no use yet: nothing shows whose it is. */
  idle: 'idle address',
  /** Of an address that has no tags yet. */
  acquisition: 'acquisition',
  rule: 'load balancer rule',
  members: 'members',
  stickiness: 'stickiness policy',
  firewall: 'firewall rule',
  acl: 'ACL rule',
} as const;

export interface Address {
  readonly id: string;
  readonly ip: string;
  /** Of an address of a VPC: its tag. */
  readonly network: string | undefined;
  readonly tags: Tags;
  readonly createdAtMs: number | undefined;
  /** Names of Services that have rules on it, as rules have them. */
  readonly balancers: readonly string[];
  /** It was acquired for this Service, and has no tags yet. */
  readonly isNew: boolean;
  /** Others use it, too, or it is no address for load balancers alone. */
  readonly isShared: boolean;
}

export type Rule = ReturnType<typeof readRule>;

/** All VMs of one rule. */
export interface Members {
  readonly ids: readonly string[];
}

/** What a rule of a firewall or of a network ACL lets in. */
export interface Opening {
  readonly protocol: string;
  readonly port: number;
  /** Sorted; empty: from everywhere. */
  readonly cidrs: readonly string[];
}

export type Network = ReturnType<typeof readNetwork>;

export function portKey(protocol: string, port: number): string {
  return `${protocol === 'udp' ? 'udp' : 'tcp'}-${port}`;
}

const going: ReadonlySet<string> = new Set(['Revoke', 'Releasing', 'Deleting']);

function statusOf(state: string | undefined): Found['status'] {
  return going.has(state ?? '') ? 'deleting' : state === 'Allocating' ? 'pending' : 'ready';
}

/** What others see of one address. */
export interface OnAddress {
  readonly rules: readonly AnswerFields[];
  readonly firewall: readonly AnswerFields[];
}

/** Whom an address was acquired for. */
export interface Acquired {
  readonly owner: Owner;
  /** UUID of the network of the nodes. */
  readonly network: string;
}

export function acquisitionId({ owner, network }: Acquired): string {
  return `${network} ${owner.service}`;
}

/**
 * The rules on an address and what lets traffic through to those of its Service. Throws a CloudError `Invalid`.
 *
 * @param owner undefined: those of every Service
 */
export function partsOf(id: string, owner: Owner | undefined, { rules: all, firewall }: OnAddress) {
  const own = owner && classicName(owner.service);
  const part = { within: id, ...(owner !== undefined && { owner }) };
  const rules = all.map((one): Found<Rule> => {
    const rule = readRule(one);
    const { name, protocol, publicPort } = rule;
    const status = statusOf(one.optionalText('state'));
    const slots = [ruleSlot(id, publicPort)];
    const place = { kind: kindNames.rule, id: one.text('id'), status, slots, body: rule };
    const named = balancerOfRule(name);
    const isOwn = named !== undefined && (own === undefined || named === own);
    const key = portKey(protocol, publicPort);
    return isOwn ? { ...place, ...part, key, adoptable: owner === undefined } : place;
  });
  const ours = rules.filter(({ key }) => key !== undefined);
  const openings = firewall.flatMap((one): Found<Opening>[] => {
    const body = readOpening(one);
    const key = body && portKey(body.protocol, body.port);
    const rule = ours.find((each) => each.key === key);
    if (body === undefined || key === undefined || rule === undefined) return [];
    const refs = [ruleRef(rule.id)];
    const shown = { kind: kindNames.firewall, id: one.text('id'), status: statusOf(one.optionalText('state')) };
    return [{ ...shown, ...part, key, refs, body }];
  });
  return { rules, ours, openings };
}

/** The rule shows that what lets traffic through to it is ours, so it goes before it. */
export function ruleRef(id: string): Reference {
  return { role: 'rule', kind: kindNames.rule, id, loose: true, proof: true };
}

/** An address and its parts. @throws CloudError `Invalid` */
export function foundAddress(fields: AnswerFields, on: OnAddress, acquired: Acquired | undefined): Found[] {
  const id = fields.text('id');
  const ip = canonical(fields.text('ipaddress'));
  const tags = tagsIn(fields);
  const owner = ownerOf(tags) ?? acquired?.owner;
  const { rules, ours, openings } = partsOf(id, owner, on);
  const body: Address = {
    id,
    ip,
    tags,
    network:
      tags[tagKeys.network] ?? fields.optionalText('associatednetworkid') ?? ours[0]?.body.network ?? acquired?.network,
    createdAtMs: timeIn(fields, 'allocated'),
    balancers: [...new Set(ours.flatMap(({ body }) => balancerOfRule(body.name) ?? []))],
    isNew: acquired !== undefined,
    isShared: isInUse(fields) || ours.length < rules.length,
  };
  const isRetained = tags[tagKeys.retained] !== undefined;
  const isIdle = owner === undefined && Object.keys(tags).length === 0 && rules.length === 0;
  return [
    {
      kind: isIdle ? kindNames.idle : kindNames.address,
      id,
      slots: [`ip ${ip}`],
      status: statusOf(fields.optionalText('state')),
      body,
      ...(owner !== undefined && { owner, key: 'main' }),
      // What shows that it is ours goes after it.
      ...(acquired && {
        refs: [
          { role: 'acquisition', kind: kindNames.acquisition, id: acquisitionId(acquired), loose: true, proof: true },
        ],
      }),
      ...(isRetained && { retained: true }),
      ...(tags[tagKeys.consent] !== undefined && { consentForAnyCluster: true }),
      address: ip,
    },
    ...rules,
    ...openings,
  ];
}

/** TCP and UDP of one port conflict (`detectRulesConflict` of the management server). */
export function ruleSlot(address: string, port: number): string {
  return `port ${address} ${port}`;
}

/** It serves something else: the network itself, or one VM. */
export function isInUse(address: AnswerFields): boolean {
  return (address.optionalFlag('issourcenat') ?? false) || (address.optionalFlag('isstaticnat') ?? false);
}

export function tagsIn(fields: AnswerFields): Tags {
  return pairsIn(fields, 'tags', ['key', 'value']);
}

function readRule(fields: AnswerFields) {
  return {
    name: fields.text('name'),
    /** `tcp`, `udp` or `tcp-proxy`. */
    protocol: fields.optionalText('protocol')?.toLowerCase() ?? 'tcp',
    publicPort: Number(fields.text('publicport')),
    privatePort: Number(fields.text('privateport')),
    algorithm: fields.text('algorithm'),
    /** Sorted; empty: from everywhere. */
    cidrs: cidrsIn(fields),
    network: fields.optionalText('networkid'),
  };
}

/** Undefined: it is of several ports, or of none, so it is not of a Service. */
export function readOpening(fields: AnswerFields): Opening | undefined {
  // Numbers of firewalls, and texts of ACLs.
  const [first, last] = ['startport', 'endport'].map((name) => Number(fields.json()[name] ?? Number.NaN));
  const protocol = fields.text('protocol').toLowerCase();
  if (!Number.isInteger(first) || first !== last || !['tcp', 'udp'].includes(protocol)) return undefined;
  return { protocol, port: first!, cidrs: cidrsIn(fields) };
}

/** Separated by blanks in load balancer rules, by commas elsewhere. */
function cidrsIn(fields: AnswerFields): readonly string[] {
  return narrowed((fields.optionalText('cidrlist') ?? '').split(/[\s,]+/).filter((one) => one !== ''));
}

/** A rule of a network ACL; undefined: it lets nothing in through one port. @throws CloudError `Invalid` */
export function foundAcl(fields: AnswerFields): Found<Opening & { readonly acl: string }> | undefined {
  const isIngress = fields.optionalText('traffictype')?.toLowerCase() === 'ingress';
  const body = isIngress && fields.optionalText('action')?.toLowerCase() === 'allow' ? readOpening(fields) : undefined;
  if (body === undefined) return undefined;
  const owner = parseReason(fields.optionalText('reason'));
  return {
    kind: kindNames.acl,
    id: fields.text('id'),
    status: statusOf(fields.optionalText('state')),
    ...(owner !== undefined && { owner, key: portKey(body.protocol, body.port) }),
    body: { ...body, acl: fields.text('aclid') },
  };
}

export function readNetwork(fields: AnswerFields) {
  return {
    id: fields.text('id'),
    name: fields.text('name'),
    vpc: fields.optionalText('vpcid'),
    acl: fields.optionalText('aclid'),
    aclName: fields.optionalText('aclname'),
    tags: tagsIn(fields),
    /** Of its offering: `Lb`, `Firewall`, `NetworkACL`. */
    services: fields.optionalObjects('service').map((one) => one.text('name')),
  };
}
