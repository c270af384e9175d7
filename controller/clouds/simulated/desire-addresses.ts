import { isIP } from 'node:net';
import type { Refusal, Want } from '../../engine/resource.ts';
import { accessTo, isKeptFor } from '../access.ts';
import { sameAddress } from '../ip-address.ts';
import { type DesiredLoadBalancer, type IpFamily, ownerTags } from '../load-balancers.ts';
import { addressKey, kinds } from './found.ts';
import { type Address, addressName, type LoadBalancer, type Scheme } from './load-balancer-answer.ts';
import type { AddressSpec } from './specs.ts';

export interface AddressInput {
  readonly desired: DesiredLoadBalancer;
  readonly current: LoadBalancer | undefined;
  /** Of the region. */
  all(): readonly Address[];
  get(id: string): Address | undefined;
  readonly own: readonly Address[];
  isOurs(one: { readonly id: string }): boolean;
  /** Takes what is refused. */
  readonly refusals: Refusal[];
}

/** The addresses that a load balancer of a Service's own has, and those that it shall have. Pure. */
export function desireAddresses({ desired, current, isOurs, all, get, own, refusals }: AddressInput) {
  const { owner, service } = desired;
  /** The load balancer has failed, and with it goes an address that is not this cluster's. */
  const isLost =
    current?.state === 'failed' &&
    current.addresses.some(
      ({ id, ip, family }) =>
        (id === undefined || !isOurs({ id })) &&
        desired.families.includes(family) &&
        !(desired.address !== undefined && sameAddress(ip, desired.address)),
    );
  return { isLost, named: namedAddress, placedIn, kept: keptAddresses };

  /** The reserved address that the Service names. */
  function namedAddress(): Address | undefined {
    const { address } = desired;
    if (address === undefined) return undefined;
    return all().find(({ ip }) => sameAddress(ip, address));
  }

  /**
   * The address of each family; empty for an address that lives and dies with the load balancer. Undefined: nothing is
   * created.
   */
  function placedIn(scheme: Scheme): ReadonlyMap<IpFamily, Want> | undefined {
    const isReplaced = current !== undefined && current.scheme !== scheme;
    const named = nameOfAddress(scheme);
    if (named === 'refused' && current === undefined) return undefined;
    const placed = new Map<IpFamily, Want>();
    for (const family of desired.families) {
      const held = isReplaced ? undefined : current?.addresses.find((one) => one.family === family);
      const isNamed = typeof named === 'object' && named.family === family;
      if (isNamed && (held === undefined || desired.mayChangeAddress || held.id === named.id))
        placed.set(family, useOf(named));
      else if (held === undefined) placed.set(family, reserved(scheme, family));
      else if (held.id !== undefined) {
        const known = get(held.id);
        const isLent = known !== undefined && !(isLost && desired.mayChangeAddress && !isOurs(known));
        placed.set(family, isLent ? useOf(known) : reserved(scheme, family));
      }
    }
    return placed;
  }

  function reserved(scheme: Scheme, family: IpFamily): Want<AddressSpec> {
    const spec = { scheme, family, service, name: addressName(desired.name, family, scheme) };
    return { kind: kinds.address, key: addressKey(spec), spec, summary: `${scheme} ${family} address` };
  }

  function useOf({ id, ip, scheme, family }: Address): Want {
    const use = { id, allowed: true };
    if (!isOurs({ id }))
      return { kind: kinds.address, key: `named ${family}`, use, spec: undefined, summary: `address ${ip}` };
    const same = own.filter((one) => one.scheme === scheme && one.family === family);
    const want = reserved(scheme, family);
    // Of several that an earlier try has left, the one that serves stays.
    return same.length > 1 ? { ...want, use } : want;
  }

  /** What it has reserved stays, as long as nothing can be made of it. */
  function keptAddresses(): readonly Want[] {
    return [...new Map(own.map((one) => [addressKey(one), reserved(one.scheme, one.family)])).values()];
  }

  /** The address that the Service names, where it names one and may have it. */
  function nameOfAddress(scheme: Scheme): Address | 'refused' | undefined {
    const { address } = desired;
    if (address === undefined || current?.addresses.some(({ ip }) => sameAddress(ip, address))) {
      const there = namedAddress();
      return there !== undefined && current?.addresses.some(({ id }) => id === there.id) ? there : undefined;
    }
    const named = namedAddress();
    const refusal = refusalOfNamed(named, scheme);
    if (refusal === undefined) return named;
    refusals.push(refusal);
    return 'refused';
  }

  function refusalOfNamed(named: Address | undefined, scheme: Scheme): Refusal | undefined {
    const field = `spec.loadBalancerIP: ${JSON.stringify(desired.address)}`;
    const unsupported = (message: string): Refusal => ({ reason: 'Unsupported', message: `${field} ${message}` });
    if (isIP(desired.address ?? '') === 0) return unsupported('is no IP address');
    if (named === undefined) return unsupported('is no reserved address of this region');
    if (!desired.families.includes(named.family))
      return unsupported(`is ${named.family}, expected ${desired.families.join(' or ')}`);
    const { id, tags } = named;
    const isKept = tags[ownerTags.cluster] === owner.cluster && isKeptFor(tags[ownerTags.retained], service);
    if (!isOurs(named) && !isKept) {
      const may = accessTo({ what: `${field}: address ${id}`, consent: tags[ownerTags.consent] }, desired);
      if (may.may !== 'use') return may.refusal;
    }
    if (named.scheme !== scheme) return unsupported(`is ${named.scheme}, and the load balancer is ${scheme}`);
    if (named.usedBy !== undefined && named.usedBy !== current?.id)
      return { reason: 'Conflict', message: `${field} is in use by load balancer ${named.usedBy}` };
    return undefined;
  }
}
