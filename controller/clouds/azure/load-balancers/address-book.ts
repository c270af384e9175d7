import { azureResourceId } from '../../../../common/provider-id/azure.ts';
import type { Found, Owner } from '../../../engine/resource.ts';
import type { DesiredMember, IpFamily } from '../../load-balancers.ts';
import type { Balancer, PublicAddress } from './balancer.ts';
import { idIn } from './json.ts';
import { baseName, baseOf, familyOf, isOfBase } from './names.ts';
import type { InterfacePool, PoolInfo } from './pool.ts';

/** Who has an address, from the latest reads, or had it a moment ago: rules of security groups name addresses alone. */
export interface Holder {
  /** Undefined: nothing of ours. */
  readonly owner: Owner | undefined;
  /** The load balancer with its frontend; undefined: no frontend has it. */
  readonly document: string | undefined;
  /** Of the frontend. */
  readonly id: string | undefined;
}

/** Complete lists of public addresses. */
export interface ListedGroups {
  /** `version('public')` when they began. */
  readonly began: number;
  /** Resource groups, in lower case. */
  readonly groups: ReadonlySet<string>;
}

/** The addresses of frontends, and the Nodes behind them. It makes no call: readers and documents fill it. */
export interface AddressBook {
  noteFrontends(document: string, frontends: readonly Found<Balancer>[], pools: readonly PoolInfo[]): void;
  poolOf(document: string, name: string): PoolInfo | undefined;
  /** The load balancer of that name as Azure spells it, and as it is given where there is none. */
  spelled(document: string): string;
  /** @param listed what these lists do not show, and is older, is gone */
  notePublic(addresses: readonly Found<PublicAddress>[], listed?: ListedGroups): void;
  forgetPublic(id: string): void;
  /** Of the public addresses that frontends of ours have. @param service its UID; undefined: of all */
  publicIds(service?: string): readonly string[];
  /** By the marks of that public address. */
  publicOwnerOf(id: string): Owner | undefined;
  /** Changes with every public address, or with every address. */
  version(of: 'public' | 'any'): number;
  /** Of the frontend of a Service; undefined: it has none yet. */
  ipOf(service: string, of: { readonly document: string; readonly family: IpFamily }): string | undefined;
  holderOf(ip: string): Holder | undefined;
  noteMembers(members: readonly DesiredMember[]): void;
  providerIDOf(ip: string): string | undefined;
  /** An address of that Node was told in this process. */
  isAddressed(providerID: string): boolean;
  /** By its id, as the Node has it. */
  providerIDOfVm(vm: string): string;
  /** This VM was a member in this process. */
  wasMember(vm: string): boolean;
  /** This Service takes over what the classic controller has made for it. */
  noteAdopting(service: string): void;
  notePool(pool: InterfacePool): void;
  /** The VMs in the pools of network interfaces of a load balancer. The same array while they are the same. */
  vmsBehind(document: string): readonly string[];
  /** Whether network interfaces or models of scale sets are in the pool; undefined: it was not read. */
  isFilled(pool: string): boolean | undefined;
  /** Ids of pools that Azure does not delete, since something names them that is not read. In lower case. */
  readonly keptPools: Set<string>;
  /** Ids of the frontends whose rules lead to the pool. */
  frontendsOf(pool: InterfacePool): readonly string[];
  /** UIDs of Services whose rules lead to the pool, and names of others that use it. */
  usersOf(pool: InterfacePool): readonly string[];
  /** Azure has refused to put this VM or scale set into a pool: it is left out for some minutes. */
  refuse(id: string, why: string): void;
  refusalOf(id: string): string | undefined;
  /** Unix time. */
  nowMs(): number;
}

const refusedForMs = 300_000;
/**
 * An address that no frontend has any more belongs to its Service for this long, which takes it out of the rules. Not
 * longer: Azure may give the address to another customer.
 */
const formerForMs = 120_000;

/** @param nowMs Unix time */
export function createAddressBook(nowMs: () => number): AddressBook {
  const publics = new Map<string, Found<PublicAddress>>();
  /** The version with which an address was noted: a list that began before may not show it. */
  const notedAt = new Map<string, number>();
  const documents = new Map<string, readonly Found<Balancer>[]>();
  const nodes = new Map<string, string>();
  /** Provider ids by ids of VMs. */
  const machines = new Map<string, string>();
  const pools = new Map<string, readonly PoolInfo[]>();
  const interfacePools = new Map<string, InterfacePool>();
  const behind = new Map<string, readonly string[]>();
  const formers = new Map<string, { readonly owner: Owner; readonly untilMs: number }>();
  const refused = new Map<string, { readonly why: string; readonly untilMs: number }>();
  /** UIDs of Services by the names of their frontends. */
  const adopting = new Map<string, string>();
  const versions = { public: 0, any: 0 };
  let holders: Map<string, Holder> | undefined;
  const ipOfFrontend = ({ body }: Found<Balancer>) =>
    body.privateAddress ?? publics.get(body.publicAddress ?? '')?.address;

  const usersOf = ({ document, id }: InterfacePool) =>
    (documents.get(document) ?? []).filter(({ body: { rules } }) =>
      rules.some(({ properties }) => idIn(properties, 'backendAddressPool') === id),
    );

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
    for (const [ip, { owner, untilMs }] of formers)
      if (untilMs > nowMs()) found.set(ip, { owner, document: undefined, id: undefined });
      else formers.delete(ip);
    for (const [document, frontends] of documents)
      for (const one of frontends) {
        const ip = ipOfFrontend(one);
        if (ip !== undefined) found.set(ip, { owner: one.owner, document, id: one.id });
      }
    return found;
  }

  return {
    noteFrontends(document, frontends, own) {
      const ips = new Set(frontends.map(ipOfFrontend));
      for (const one of documents.get(document) ?? []) {
        const ip = ipOfFrontend(one);
        if (one.owner !== undefined && ip !== undefined && !ips.has(ip))
          formers.set(ip, { owner: one.owner, untilMs: nowMs() + formerForMs });
      }
      documents.set(document, frontends);
      pools.set(document, own);
      changed();
    },
    spelled: (document) =>
      [...documents.keys()].find((one) => one.toLowerCase() === document.toLowerCase()) ?? document,
    notePublic(addresses, listed) {
      const began = listed?.began ?? versions.public;
      const isOlder = (id: string) => (notedAt.get(id) ?? 0) <= began;
      versions.public += 1;
      for (const { id, body } of publics.values())
        if (listed?.groups.has(body.resourceGroup) && isOlder(id)) forget(id);
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
    publicIds: (service) =>
      [...documents.values()].flatMap((all) =>
        all.flatMap(({ owner, body }) => {
          const isMeant = owner !== undefined && (service === undefined || owner.service === service);
          return isMeant ? (body.publicAddress ?? []) : [];
        }),
      ),
    publicOwnerOf: (id) => publics.get(id)?.owner,
    version: (of) => versions[of],
    ipOf(service, { document, family }) {
      const base = baseName(service);
      // What is taken over carries no mark of ours until it is written.
      const own = documents
        .get(document)
        ?.filter(({ owner, body }) => (owner ? owner.service === service : isOfBase(body.name, base)));
      return own?.flatMap((one) => ipOfFrontend(one) ?? []).find((ip) => familyOf(ip) === family);
    },
    holderOf(ip) {
      holders ??= allHolders();
      return holders.get(ip);
    },
    poolOf: (document, name) => pools.get(document)?.find((one) => one.name.toLowerCase() === name.toLowerCase()),
    noteMembers(members) {
      for (const { providerID, addresses } of members) {
        for (const ip of addresses) nodes.set(ip, providerID);
        machines.set(providerID.slice('azure://'.length).toLowerCase(), providerID);
      }
    },
    providerIDOf: (ip) => nodes.get(ip),
    isAddressed: (providerID) => [...nodes.values()].includes(providerID),
    providerIDOfVm: (vm) => machines.get(vm) ?? `azure://${azureResourceId(vm) ?? vm}`,
    wasMember: (vm) => machines.has(vm),
    noteAdopting: (service) => void adopting.set(baseName(service), service),
    notePool(pool) {
      interfacePools.set(pool.id, pool);
      behind.delete(pool.document);
    },
    vmsBehind(document) {
      const own = [...interfacePools.values()].filter((pool) => pool.document === document);
      const known = behind.get(document);
      const vms = known ?? [...new Set(own.flatMap(({ members }) => members.flatMap(({ vm }) => vm ?? [])))];
      behind.set(document, vms);
      return vms;
    },
    isFilled(id) {
      const pool = interfacePools.get(id);
      return pool && pool.members.length + pool.sets.length > 0;
    },
    keptPools: new Set(),
    frontendsOf: (pool) => usersOf(pool).map(({ id }) => id),
    usersOf: (pool) => [
      ...usersOf(pool).map(({ owner, body }) => owner?.service ?? adopting.get(baseOf(body.name) ?? '') ?? body.name),
      ...(pool.hasOtherRules ? ['rules of others'] : []),
    ],
    nowMs,
    refuse: (id, why) => void refused.set(id, { why, untilMs: nowMs() + refusedForMs }),
    refusalOf(id) {
      const one = refused.get(id);
      return one !== undefined && one.untilMs > nowMs() ? one.why : undefined;
    },
  };
}
