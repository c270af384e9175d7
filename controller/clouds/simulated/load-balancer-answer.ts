import { simulated } from '../../../common/provider-id/simulated.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { oneOfIn, timeIn, wholeIn } from '../answer-values.ts';
import type { IpFamily, ObservedMember } from '../load-balancers.ts';
import type { MemberSets } from './member-sets.ts';

export type Tags = Readonly<Record<string, string>>;
export type Scheme = (typeof schemes)[number];
export type Address = Readonly<ReturnType<typeof readAddress>>;
export type Listener = Readonly<ReturnType<typeof readListener>>;
export type Pool = Readonly<ReturnType<typeof readPool>>;
export type LoadBalancer = Readonly<ReturnType<typeof readLoadBalancer>>;

export const families = ['IPv4', 'IPv6'] as const;
export const schemes = ['external', 'internal'] as const;
const states = ['active', 'provisioning', 'failed', 'deleting'] as const;
const protocols = ['TCP', 'UDP', 'SCTP'] as const;

/** What an address is called that is reserved for a load balancer of this name. */
export function addressName(loadBalancer: string, family: IpFamily, scheme: Scheme): string {
  return `${loadBalancer}-${family.toLowerCase()}-${scheme}`;
}

/** @throws CloudError `Invalid` */
export function readLoadBalancer(fields: AnswerFields, region: string, sets: MemberSets) {
  const createdAtMs = timeIn(fields, 'createdAt');
  if (createdAtMs === undefined) throw fields.wrong('createdAt', 'a time as in RFC 3339');
  return {
    id: resourceId(fields),
    name: fields.text('name'),
    tags: tagsIn(fields),
    scheme: oneOfIn(fields, 'scheme', schemes),
    addresses: fields.objects('addresses').map((address) => ({
      /** Undefined for one that goes with the load balancer. */
      id: address.optionalText('id'),
      ip: address.text('ip'),
      family: oneOfIn(address, 'family', families),
    })),
    state: oneOfIn(fields, 'state', states),
    revision: wholeIn(fields, 'revision'),
    createdAtMs,
    listeners: fields.objects('listeners').map(readListener),
    pools: fields.objects('pools').map((one) => readPool(one, region, sets)),
  };
}

/** @throws CloudError `Invalid` */
export function readAddress(fields: AnswerFields) {
  return {
    id: resourceId(fields),
    ip: fields.text('ip'),
    family: oneOfIn(fields, 'family', families),
    scheme: oneOfIn(fields, 'scheme', schemes),
    tags: tagsIn(fields),
    /** Id of the load balancer that has it. */
    usedBy: fields.optionalText('usedBy'),
  };
}

/** What this cloud's ids look like; others are never put into a path. */
export const resourceIdForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export function resourceId(fields: AnswerFields): string {
  const id = fields.text('id');
  if (!resourceIdForm.test(id)) throw fields.wrong('id', 'an id');
  return id;
}

/** Every resource has them, be it none. */
export function tagsIn(fields: AnswerFields): Tags {
  fields.object('tags');
  return fields.labels('tags');
}

function readListener(fields: AnswerFields) {
  return {
    id: resourceId(fields),
    name: fields.text('name'),
    tags: tagsIn(fields),
    protocol: oneOfIn(fields, 'protocol', protocols),
    port: wholeIn(fields, 'port'),
    memberPort: wholeIn(fields, 'memberPort'),
    sourceRanges: fields.texts('sourceRanges') as readonly string[],
    proxyProtocol: fields.flag('proxyProtocol'),
    tls: fields.flag('tls'),
    pool: fields.text('pool'),
  };
}

function readPool(fields: AnswerFields, region: string, sets: MemberSets) {
  const check = fields.optionalObject('healthCheck');
  const affinity = fields.optionalObject('sessionAffinity');
  const memberDigest = fields.text('memberDigest');
  const isInline = fields.json()['members'] !== undefined;
  return {
    id: resourceId(fields),
    /** Unique in its load balancer. */
    name: fields.text('name'),
    tags: tagsIn(fields),
    healthCheck: check && { port: wholeIn(check, 'port'), path: check.text('path') },
    sessionAffinity: affinity && { timeoutSeconds: wholeIn(affinity, 'timeoutSeconds') },
    memberDigest,
    /** Undefined where the answer leaves them out and this set was never read. */
    members: isInline
      ? sets.learn(
          memberDigest,
          fields.objects('members').map((one) => readMember(one, region)),
        )
      : sets.known(memberDigest),
  };
}

function readMember(fields: AnswerFields, region: string): ObservedMember {
  const weight = wholeIn(fields, 'weight');
  if (weight > 1) throw fields.wrong('weight', '0 or 1');
  return {
    providerID: simulated.print({ instanceId: fields.text('instanceId'), region }),
    draining: weight === 0,
    healthy: fields.optionalFlag('healthy'),
  };
}
