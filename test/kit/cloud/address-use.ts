import type { AddressModel } from './address-model.ts';
import type { AttachedAddress, SimulatedLoadBalancer } from './load-balancer.ts';
import { notFound, Refused } from './refused.ts';

/** A static address without another user. @param user the load balancer that may have it already */
export function freeAddress(
  { store }: AddressModel,
  { place, scheme }: Pick<SimulatedLoadBalancer, 'place' | 'scheme'>,
  id: string,
  user?: string,
): AttachedAddress {
  const address = store.get(id);
  if (address?.place !== place) throw notFound('address', id);
  const { usedBy, ip, family } = address;
  if (usedBy !== undefined && usedBy !== user) {
    throw new Refused(409, 'address-in-use', `${id} is used by ${usedBy}`, { id: usedBy });
  }
  if (address.scheme !== scheme) throw new Refused(400, 'invalid', `${id} is ${address.scheme}, not ${scheme}`);
  return { id, ip, family };
}

export function onePerFamily(given: readonly AttachedAddress[]): void {
  if (new Set(given.map(({ family }) => family)).size === given.length) return;
  throw new Refused(400, 'invalid', 'addresses: more than one of a family');
}

/** Gives a load balancer these static addresses: some join, some leave, those that come and go with it stay. */
export function exchangeAddresses(
  addresses: AddressModel,
  before: SimulatedLoadBalancer,
  ids: readonly string[],
): readonly AttachedAddress[] {
  const wanted = ids.map((id) => freeAddress(addresses, before, id, before.id));
  const kept = before.addresses.filter(({ id }) => id === undefined || ids.includes(id));
  const joined = wanted.filter((one) => !kept.some(({ id }) => id === one.id));
  if (kept.length === 0) throw new Refused(400, 'address-fixed', 'at least one address stays');
  if (joined.some((one) => before.addresses.some(({ family }) => family === one.family))) {
    throw new Refused(400, 'address-fixed', 'an address does not give way to another of its family');
  }
  onePerFamily(joined);
  for (const one of before.addresses) {
    if (one.id !== undefined && !kept.includes(one)) addresses.setUser(one.id, undefined);
  }
  for (const one of joined) addresses.setUser(one.id!, before.id);
  return [...kept, ...joined];
}
