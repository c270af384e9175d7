import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { accessTo, isKeptFor } from '../access.ts';
import { type DesiredLoadBalancer, type IpFamily, ownerTags, type Refusal } from '../load-balancers.ts';
import type { Address, Scheme } from './load-balancer-answer.ts';
import { tagsFor } from './load-balancer-pieces.ts';
import type { NewLoadBalancer, SimulatedStep } from './load-balancer-step.ts';
import { stepOf } from './load-balancer-step.ts';
import type { Pieces, Subject } from './observed.ts';
import { ownedBy } from './ownership.ts';

export interface AddressPlan {
  /** Those that are still to be reserved. */
  readonly steps: readonly SimulatedStep[];
  readonly addresses: NewLoadBalancer['addresses'];
  readonly refusals: readonly Refusal[];
}

/**
 * The addresses of a load balancer of these families: the one that the Service names, else one of ours that is free, else one to reserve.
 * With a refusal, nothing may be made.
 * @param heldBy the load balancer that the addresses are for, where there is one: what it holds counts as free
 */
export function planAddresses(
  desired: DesiredLoadBalancer,
  pieces: Pick<Pieces, 'addresses' | 'reserved'>,
  subject: Subject,
  scheme: Scheme,
  families: readonly IpFamily[],
  heldBy: string | undefined,
): AddressPlan {
  const named =
    desired.address === undefined ? undefined : checkNamed(desired, namedIn(desired, pieces), scheme, heldBy);
  if (named && 'reason' in named) return { steps: [], addresses: [], refusals: [named] };
  const steps: SimulatedStep[] = [];
  const addresses = families.map((family) => {
    if (named?.family === family) return { family, id: named.id };
    const free = freeAddress(pieces.addresses, family, scheme, heldBy);
    if (free) return { family, id: free.id };
    const call = { does: 'reserve address', family, scheme, tags: tagsFor(desired) } as const;
    steps.push(stepOf(subject, `${scheme} ${family}`, `reserve an ${scheme} ${family} address`, call));
    return { family, id: undefined };
  });
  return { steps, addresses, refusals: [] };
}

export function freeAddress(
  addresses: readonly Address[],
  family: IpFamily,
  scheme: Scheme,
  heldBy: string | undefined,
): Address | undefined {
  const fitting = addresses.filter(
    (one) => one.family === family && one.scheme === scheme && (one.usedBy === undefined || one.usedBy === heldBy),
  );
  return fitting.find(({ usedBy }) => usedBy !== undefined) ?? fitting[0];
}

/** The address that the Service names. */
export function namedIn({ address }: DesiredLoadBalancer, { reserved }: Pick<Pieces, 'reserved'>): Address | undefined {
  return address === undefined ? undefined : reserved.find(({ ip }) => sameAddress(ip, address));
}

/** However they are spelt. */
export function sameAddress(a: string, b: string): boolean {
  return a === b || (isIP(a) === 6 && isIP(b) === 6 && spelling(a) === spelling(b));
}

function spelling(address: string): string {
  return ipaddr.IPv6.parse(address).toRFC5952String();
}

function checkNamed(
  desired: DesiredLoadBalancer,
  named: Address | undefined,
  scheme: Scheme,
  heldBy: string | undefined,
): Address | Refusal {
  const { address = '', families } = desired;
  const field = `spec.loadBalancerIP: ${JSON.stringify(address)}`;
  const unsupported = (message: string): Refusal => ({ reason: 'Unsupported', message: `${field} ${message}` });
  if (isIP(address) === 0) return unsupported('is no IP address');
  if (!named) return unsupported('is no reserved address of this region');
  if (!families.includes(named.family)) return unsupported(`is ${named.family}, expected ${families.join(' or ')}`);
  const refusal = refusalOf(named, desired, field);
  if (refusal) return refusal;
  if (named.scheme !== scheme) return unsupported(`is ${named.scheme}, and the load balancer is ${scheme}`);
  if (named.usedBy !== undefined && named.usedBy !== heldBy) {
    return { reason: 'Conflict', message: `${field} is in use by load balancer ${named.usedBy}` };
  }
  return named;
}

/** Nothing against an address of this Service, one that a Service of its namespace kept, and one with consent. */
function refusalOf({ id, tags }: Address, desired: DesiredLoadBalancer, field: string): Refusal | undefined {
  const { owner, service } = desired;
  if (ownedBy(tags, owner)) return undefined;
  if (tags[ownerTags.cluster] === owner.cluster && isKeptFor(tags[ownerTags.retained], service)) return undefined;
  const access = accessTo({ what: `${field}: address ${id}`, consent: tags[ownerTags.consent] }, desired);
  return access.may === 'use' ? undefined : access.refusal;
}

/** Gives back those of ours that nobody uses, except these. */
export function releases(
  { addresses }: Pick<Pieces, 'addresses'>,
  subject: Subject,
  keep: ReadonlySet<string | undefined>,
): SimulatedStep[] {
  return addresses
    .filter(({ id, usedBy }) => usedBy === undefined && !keep.has(id))
    .map(({ id, ip }) =>
      stepOf(subject, id, `release address ${ip}, which is not used any more`, { does: 'release address', id }),
    );
}
