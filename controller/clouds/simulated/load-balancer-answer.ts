import { simulated } from '../../../common/provider-id/simulated.ts';
import type { IpFamily, ObservedMember, Protocol } from '../load-balancers.ts';
import {
  type Fields,
  flag,
  list,
  momentOf,
  objectOf,
  oneOf,
  optionalText,
  type Tags,
  tagsOf,
  text,
  texts,
  unexpected,
  whole,
} from './answer-fields.ts';
import type { MemberSets } from './member-sets.ts';

export type Scheme = 'external' | 'internal';

export interface Address {
  readonly id: string;
  readonly ip: string;
  readonly family: IpFamily;
  readonly scheme: Scheme;
  readonly tags: Tags;
  /** Id of the load balancer that has it. */
  readonly usedBy: string | undefined;
}

export interface Listener {
  readonly id: string;
  readonly name: string;
  readonly tags: Tags;
  readonly protocol: Protocol;
  readonly port: number;
  readonly memberPort: number;
  readonly sourceRanges: readonly string[];
  readonly proxyProtocol: boolean;
  readonly tls: boolean;
  readonly pool: string;
}

export interface Pool {
  readonly id: string;
  /** Unique in its load balancer. */
  readonly name: string;
  readonly tags: Tags;
  readonly healthCheck: { readonly port: number; readonly path: string } | undefined;
  readonly sessionAffinity: { readonly timeoutSeconds: number } | undefined;
  readonly memberDigest: string;
  /** Undefined where the answer leaves them out and this set was never read. */
  readonly members: readonly ObservedMember[] | undefined;
}

export interface LoadBalancer {
  readonly id: string;
  readonly name: string;
  readonly tags: Tags;
  readonly scheme: Scheme;
  readonly addresses: readonly {
    /** Undefined for one that goes with the load balancer. */
    readonly id: string | undefined;
    readonly ip: string;
    readonly family: IpFamily;
  }[];
  readonly state: 'active' | 'provisioning' | 'failed' | 'deleting';
  readonly revision: number;
  readonly createdAtMs: number;
  readonly listeners: readonly Listener[];
  readonly pools: readonly Pool[];
}

export const families = ['IPv4', 'IPv6'] as const;
export const schemes = ['external', 'internal'] as const;
const states = ['active', 'provisioning', 'failed', 'deleting'] as const;

/** What an address is called that is reserved for a load balancer of this name. */
export function addressName(loadBalancer: string, family: IpFamily, scheme: Scheme): string {
  return `${loadBalancer}-${family.toLowerCase()}-${scheme}`;
}

/** Validates one item of an answer. Throws a TypeError that names the field, what it holds and what was expected. */
export function readLoadBalancer(item: unknown, region: string, sets: MemberSets): LoadBalancer {
  const fields = objectOf(item, 'load balancer');
  return {
    id: resourceId(fields),
    name: text(fields, 'name'),
    tags: tagsOf(fields),
    scheme: oneOf(fields, 'scheme', schemes),
    addresses: list(fields, 'addresses').map((entry) => {
      const address = objectOf(entry, 'addresses');
      return {
        id: optionalText(address, 'id'),
        ip: text(address, 'ip'),
        family: oneOf(address, 'family', families),
      };
    }),
    state: oneOf(fields, 'state', states),
    revision: whole(fields, 'revision'),
    createdAtMs: momentOf(fields, 'createdAt'),
    listeners: list(fields, 'listeners').map((entry) => readListener(objectOf(entry, 'listeners'))),
    pools: list(fields, 'pools').map((entry) => readPool(objectOf(entry, 'pools'), region, sets)),
  };
}

/** As for `readLoadBalancer`. */
export function readAddress(item: unknown): Address {
  const fields = objectOf(item, 'address');
  return {
    id: resourceId(fields),
    ip: text(fields, 'ip'),
    family: oneOf(fields, 'family', families),
    scheme: oneOf(fields, 'scheme', schemes),
    tags: tagsOf(fields),
    usedBy: optionalText(fields, 'usedBy'),
  };
}

/** What this cloud's ids look like; others are never put into a path. */
export const resourceIdForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export function resourceId(fields: Fields): string {
  const id = text(fields, 'id');
  if (!resourceIdForm.test(id)) throw unexpected('id', id, 'an id');
  return id;
}

function readListener(fields: Fields): Listener {
  return {
    id: resourceId(fields),
    name: text(fields, 'name'),
    tags: tagsOf(fields),
    protocol: oneOf(fields, 'protocol', ['TCP', 'UDP', 'SCTP'] as const),
    port: whole(fields, 'port'),
    memberPort: whole(fields, 'memberPort'),
    sourceRanges: texts(fields, 'sourceRanges'),
    proxyProtocol: flag(fields, 'proxyProtocol'),
    tls: flag(fields, 'tls'),
    pool: text(fields, 'pool'),
  };
}

function readPool(fields: Fields, region: string, sets: MemberSets): Pool {
  const check = fields['healthCheck'] === undefined ? undefined : objectOf(fields['healthCheck'], 'healthCheck');
  const affinity =
    fields['sessionAffinity'] === undefined ? undefined : objectOf(fields['sessionAffinity'], 'sessionAffinity');
  const memberDigest = text(fields, 'memberDigest');
  const inline = fields['members'] === undefined ? undefined : readMembers(list(fields, 'members'), region);
  return {
    id: resourceId(fields),
    name: text(fields, 'name'),
    tags: tagsOf(fields),
    healthCheck: check && { port: whole(check, 'port'), path: text(check, 'path') },
    sessionAffinity: affinity && { timeoutSeconds: whole(affinity, 'timeoutSeconds') },
    memberDigest,
    members: inline ? sets.learn(memberDigest, inline) : sets.known(memberDigest),
  };
}

function readMembers(items: readonly unknown[], region: string): ObservedMember[] {
  return items.map((item) => {
    const fields = objectOf(item, 'members');
    const weight = whole(fields, 'weight');
    if (weight > 1) throw unexpected('members.weight', weight, '0 or 1');
    return {
      providerID: simulated.print({ instanceId: text(fields, 'instanceId'), region }),
      draining: weight === 0,
      healthy: fields['healthy'] === undefined ? undefined : flag(fields, 'healthy'),
    };
  });
}
