import type { Found, Owner } from '../../../engine/resource.ts';
import type { DesiredMember } from '../../load-balancers.ts';
import type { Balancer, PublicAddress } from './balancer.ts';
import { baseName, isOfBase } from './names.ts';

/** Who has an address, from the latest reads: rules of security groups name addresses alone. */
export interface Holder {
  /** Undefined: nothing of ours. */
  readonly owner: Owner | undefined;
  /** The load balancer with its frontend; undefined: no frontend has it. */
  readonly document: string | undefined;
  /** Of the frontend. */
  readonly id: string | undefined;
}

/** The addresses of frontends, and the Nodes behind them. It makes no call: readers and documents fill it. */
export interface AddressBook {
  noteFrontends(document: string, frontends: readonly Found<Balancer>[]): void;
  /** The load balancer of that name as Azure spells it, and as it is given where there is none. */
  spelled(document: string): string;
  /** @param listedAt `version('public')` when a list of all began: what it does not show, and is older, is gone */
  notePublic(addresses: readonly Found<PublicAddress>[], listedAt?: number): void;
  forgetPublic(id: string): void;
  /** Of the public addresses that frontends of ours have. */
  publicIds(): readonly string[];
  /** By the marks of that public address. */
  publicOwnerOf(id: string): Owner | undefined;
  /** Changes with every public address, or with every address. */
  version(of: 'public' | 'any'): number;
  /** Of the frontend of a Service; undefined: it has none yet. */
  ipOf(service: string, document: string): string | undefined;
  holderOf(ip: string): Holder | undefined;
  noteMembers(members: readonly DesiredMember[]): void;
  providerIDOf(ip: string): string | undefined;
}

export function createAddressBook(): AddressBook {
  const publics = new Map<string, Found<PublicAddress>>();
  /** The version with which an address was noted: a list that began before may not show it. */
  const notedAt = new Map<string, number>();
  const documents = new Map<string, readonly Found<Balancer>[]>();
  const nodes = new Map<string, string>();
  const versions = { public: 0, any: 0 };
  let holders: Map<string, Holder> | undefined;
  const ipOfFrontend = ({ body }: Found<Balancer>) =>
    body.privateAddress ?? publics.get(body.publicAddress ?? '')?.address;

  function forget(id: string): void {
    publics.delete(id);
    notedAt.delete(id);
  }
  function changed(): void {
    versions.any += 1;
    holders = undefined;
  }
  function allHolders(): Map<string, Holder> {
    const found = new Map<string, Holder>();
    for (const { address, owner } of publics.values())
      if (address !== undefined) found.set(address, { owner, document: undefined, id: undefined });
    for (const [document, frontends] of documents)
      for (const one of frontends) {
        const ip = ipOfFrontend(one);
        if (ip !== undefined) found.set(ip, { owner: one.owner, document, id: one.id });
      }
    return found;
  }

  return {
    noteFrontends(document, frontends) {
      documents.set(document, frontends);
      changed();
    },
    spelled: (document) =>
      [...documents.keys()].find((one) => one.toLowerCase() === document.toLowerCase()) ?? document,
    notePublic(addresses, began) {
      const listedAt = began ?? versions.public;
      const isOlder = (id: string) => (notedAt.get(id) ?? 0) <= listedAt;
      versions.public += 1;
      if (began !== undefined) for (const id of [...publics.keys()].filter(isOlder)) forget(id);
      for (const one of addresses.filter(({ id }) => isOlder(id))) {
        publics.set(one.id, one);
        notedAt.set(one.id, versions.public);
      }
      changed();
    },
    forgetPublic(id) {
      forget(id);
      versions.public += 1;
      changed();
    },
    publicIds: () =>
      [...documents.values()].flatMap((all) =>
        all.flatMap(({ owner, body }) => (owner === undefined ? [] : (body.publicAddress ?? []))),
      ),
    publicOwnerOf: (id) => publics.get(id)?.owner,
    version: (of) => versions[of],
    ipOf(service, document) {
      const base = baseName(service);
      // What is taken over carries no mark of ours until it is written.
      const one = documents
        .get(document)
        ?.find(({ owner, body }) => (owner ? owner.service === service : isOfBase(body.name, base)));
      return one && ipOfFrontend(one);
    },
    holderOf(ip) {
      holders ??= allHolders();
      return holders.get(ip);
    },
    noteMembers(members) {
      for (const { providerID, addresses } of members) for (const ip of addresses) nodes.set(ip, providerID);
    },
    providerIDOf: (ip) => nodes.get(ip),
  };
}
