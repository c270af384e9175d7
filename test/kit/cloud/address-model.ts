import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import type { Tags } from './body.ts';
import { randomHex } from './identifiers.ts';
import type { Quotas } from './quotas.ts';
import { notFound, Refused } from './refused.ts';
import { type Resource, type ResourceEvent, type ResourceStore, resourceStore } from './resource-store.ts';

export type Scheme = 'external' | 'internal';
export type Family = 'IPv4' | 'IPv6';

/** A static address: it stays until it is released, whatever uses it. */
export interface SimulatedAddress extends Resource {
  /** Unique in its region, where there is one. */
  readonly name: string | undefined;
  readonly ip: string;
  readonly family: Family;
  readonly scheme: Scheme;
  readonly tags: Tags;
  /** The load balancer that has it. */
  readonly usedBy: string | undefined;
  readonly createdAt: string;
}

export interface AddressSpec {
  readonly name?: string | undefined;
  readonly family: Family;
  readonly scheme: Scheme;
  readonly tags: Tags;
  readonly clientToken?: string | undefined;
}

/** Which address is the n-th (from 1) of its scheme and family in the whole cloud. */
export type AddressPlan = (scheme: Scheme, family: Family, number: number) => string;

export interface AddressModel {
  readonly store: Pick<ResourceStore<SimulatedAddress>, 'get' | 'all' | 'inPlace' | 'inPlaceAsOf'>;
  named(place: string, name: string): SimulatedAddress | undefined;
  /**
   * @returns the one that this token created, if there is one. Refusals: 409 `name-taken` (with its id), 403
   * `quota-exceeded`.
   */
  reserve(place: string, spec: AddressSpec): { readonly address: SimulatedAddress; readonly made: boolean };
  /** Refused with 409 `address-in-use` while a load balancer has it. */
  release(id: string): void;
  setTags(id: string, tags: Tags): SimulatedAddress;
  /** Makes it vanish, whatever uses it. */
  forget(id: string): void;
  /** An address without a record, for a load balancer that was given none. */
  ephemeral(scheme: Scheme, family: Family): string;
  setUser(id: string, usedBy: string | undefined): void;
  onChange(listener: (event: ResourceEvent<SimulatedAddress>) => void): () => void;
}

export interface AddressModelParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly quotas: Quotas;
  readonly historyMs: number;
  readonly addressPlan?: AddressPlan | undefined;
}

export function createAddressModel(parts: AddressModelParts): AddressModel {
  const { clock, random, quotas, historyMs, addressPlan = defaultPlan } = parts;
  const store = resourceStore<SimulatedAddress>(historyMs);
  const handedOut = new Map<string, number>();

  function next(scheme: Scheme, family: Family): string {
    const number = (handedOut.get(scheme + family) ?? 0) + 1;
    handedOut.set(scheme + family, number);
    return addressPlan(scheme, family, number);
  }

  function mustExist(id: string): SimulatedAddress {
    const address = store.get(id);
    if (!address) throw notFound('address', id);
    return address;
  }

  const named = (place: string, name: string) => store.inPlace(place).find((one) => one.name === name);

  return {
    store,
    named,
    reserve(place, { name, family, scheme, tags, clientToken }) {
      const known = store.byToken(place, clientToken);
      if (known) return { address: known, made: false };
      const taken = name === undefined ? undefined : named(place, name);
      if (taken) throw new Refused(409, 'name-taken', `${taken.id} has the name ${name}`, { id: taken.id });
      quotas.demand('addresses', store.countIn(place));
      const address: SimulatedAddress = {
        id: `addr-${randomHex(random, 12)}`,
        place,
        serial: store.nextSerial(),
        clientToken,
        name,
        ip: next(scheme, family),
        family,
        scheme,
        tags,
        usedBy: undefined,
        createdAt: new Date(clock.now()).toISOString(),
      };
      return { address: store.put(address, clock.monotonic()), made: true };
    },
    release(id) {
      const { usedBy } = mustExist(id);
      if (usedBy !== undefined) throw new Refused(409, 'address-in-use', `${id} is used by ${usedBy}`, { id: usedBy });
      store.remove(id, clock.monotonic());
    },
    setTags: (id, tags) => store.put({ ...mustExist(id), tags }, clock.monotonic()),
    forget(id) {
      mustExist(id);
      store.remove(id, clock.monotonic());
    },
    ephemeral: next,
    setUser(id, usedBy) {
      const address = store.get(id);
      if (address) store.put({ ...address, usedBy }, clock.monotonic());
    },
    onChange: store.onChange,
  };
}

/** 198.19.0.0/16 and 2001:db8:5::/48 outside (RFC 2544, RFC 3849), 172.16.0.0/12 and fd00:6::/32 inside. */
function defaultPlan(scheme: Scheme, family: Family, number: number): string {
  const high = Math.floor((number - 1) / 254);
  const last = ((number - 1) % 254) + 1;
  if (family === 'IPv4') {
    if (scheme === 'external') return `198.19.${high % 256}.${last}`;
    return `172.${16 + (Math.floor(high / 256) % 16)}.${high % 256}.${last}`;
  }
  const host = (number & 0xffff).toString(16);
  const group = number > 0xffff ? `${(number >>> 16).toString(16)}:` : '';
  return scheme === 'external' ? `2001:db8:5::${group}${host}` : `fd00:6::${group}${host}`;
}
