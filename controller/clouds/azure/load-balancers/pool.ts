import { everyService, type Found } from '../../../engine/resource.ts';
import type { BalancerPlace } from '../config.ts';
import { hasOtherRules, kindNames, lists, memberKindOf, poolId, tagsIn } from './balancer.ts';
import { idIn, type Json, listIn, partsIn, textIn } from './json.ts';
import type { Machine } from './memberships.ts';
import { baseOf, holderIn } from './names.ts';

/** The VMs that are behind a load balancer by their network interfaces. All ids in lower case. */
export interface InterfacePoolSpec {
  readonly document: string;
  readonly name: string;
  /** Undefined: not known, so that all stay. */
  readonly vms: readonly string[] | undefined;
  /** Uniform scale sets whose next instances come with the pool. */
  readonly sets: readonly string[];
}

export interface PoolMember extends Machine {
  /** Of a network interface; empty: it is to be joined. */
  readonly configuration: string;
}

/** A backend pool, and who is in it by a network interface. */
export interface InterfacePool {
  readonly document: string;
  readonly name: string;
  readonly id: string;
  /** The id in the letters of its parts: the classic controller cannot read it in others. */
  readonly spelled: string;
  /** UID of the cluster whose nodes are in it; undefined: no tag says. */
  readonly holder: string | undefined;
  /** It stood before, and others may have put their interfaces into it. */
  readonly isTakenOver: boolean;
  readonly hasOtherRules: boolean;
  readonly members: readonly PoolMember[];
  /** Scale sets whose models name it. */
  readonly sets: readonly string[];
}

/** A backend pool, as its load balancer shows it. */
export interface PoolInfo {
  readonly name: string;
  /** Undefined: it is empty. */
  readonly kind: 'addresses' | 'interfaces' | undefined;
  /** UID of the cluster whose nodes are in it; undefined: no tag says. */
  readonly holder: string | undefined;
}

/** Others fill the pools of that load balancer. */
export function isFilledByOthers({ isPreconfigured, name }: BalancerPlace, document: string): boolean {
  const isExternal = document.toLowerCase() === name?.toLowerCase() || !/-internal$/i.test(document);
  return isPreconfigured[isExternal ? 'external' : 'internal'];
}

export const poolKey = (document: string, name: string) => `${document}/${name}`.toLowerCase();

/**
 * The backend pools of a load balancer that Services use, or that are marked, and that have no addresses in them. Pure.
 *
 * @param json as Resource Manager shows it. Models and VMs are read apart.
 */
export function interfacePoolsIn(document: string, json: Json): readonly InterfacePool[] {
  const id = textIn(json, 'id')!;
  const rules = partsIn(json, lists.rules).filter(({ name }) => baseOf(name) !== undefined);
  const used = new Set(rules.map(({ properties }) => idIn(properties, 'backendAddressPool')));
  return partsIn(json, lists.pools).flatMap((pool) => {
    const spelled = `${id}/${lists.pools}/${pool.name}`;
    const own = spelled.toLowerCase();
    const { holder, isTakenOver } = holderIn(tagsIn(json), pool.name);
    if (memberKindOf(pool) === 'addresses' || (holder === undefined && !used.has(own))) return [];
    const members = listIn(pool.properties, 'backendIPConfigurations').flatMap((one) => textIn(one, 'id') ?? []);
    return [
      {
        document,
        name: pool.name,
        id: own,
        spelled,
        holder,
        isTakenOver,
        sets: [],
        hasOtherRules: hasOtherRules(pool),
        members: members.map((configuration) => ({
          configuration: configuration.toLowerCase(),
          vm: undefined,
          createdAtMs: 0,
        })),
      },
    ];
  });
}

/** Our pools that no rule leads to. Those of addresses go with their last rule. @param cluster UID */
export function unusedPools(document: string, json: Json, cluster: string): readonly Found[] {
  const used = new Set(partsIn(json, lists.rules).map(({ properties }) => idIn(properties, 'backendAddressPool')));
  return partsIn(json, lists.pools).flatMap((pool) => {
    const id = poolId(json, pool);
    const isOurs = holderIn(tagsIn(json), pool.name).holder === cluster;
    if (!isOurs || used.has(id) || hasOtherRules(pool) || memberKindOf(pool) === 'addresses') return [];
    const owner = { cluster, service: everyService };
    const key = poolKey(document, pool.name);
    return [{ kind: kindNames.unusedPool, id, key, owner, status: 'ready' as const, body: { document } }];
  });
}

export function poolInfos(json: Json): readonly PoolInfo[] {
  return partsIn(json, lists.pools).map((pool) => {
    return { name: pool.name, kind: memberKindOf(pool), holder: holderIn(tagsIn(json), pool.name).holder };
  });
}
