import type * as network from '@azure/arm-network';
import type { Found, Owner, ResourceName } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { IpFamily } from '../../load-balancers.ts';
import type { Sent } from '../../sent.ts';
import {
  idIn,
  isAsDesired,
  isFailed,
  type Json,
  listIn,
  objectIn,
  type Part,
  partsIn,
  sameName,
  textIn,
} from './json.ts';
import {
  baseName,
  baseOf,
  codesIn,
  frontendSide,
  isOfBase,
  ownerOf,
  type SideKey,
  sideKeyOf,
  type Tags,
} from './names.ts';

export const kindNames = {
  balancer: 'load balancer',
  address: 'public address',
  rule: 'security rule',
  pool: 'backend pool',
  unusedPool: 'unused backend pool',
} as const;

/** Name of a Service's own public address. */
export const addressName = (key: SideKey): ResourceName => `${kindNames.address}/${key}`;

/** What one Service has in a load balancer that all Services share: a frontend, its rules and their probes. */
export interface Balancer {
  /** Name of the load balancer. */
  readonly document: string;
  readonly name: string;
  /** Resource ids in lower case. */
  readonly publicAddress: string | undefined;
  readonly subnet: string | undefined;
  readonly privateAddress: string | undefined;
  readonly frontend: Part;
  readonly rules: readonly Part[];
  readonly probes: readonly Part[];
  /** In the pools of its rules. */
  readonly members: readonly string[];
  /** The last write to the load balancer has failed: another one is needed. */
  readonly isFailed: boolean;
}

export interface BalancerSpec {
  readonly document: string;
  readonly frontend: {
    readonly name: string;
    /** By name: its id may not be known yet. */
    readonly publicAddress?: ResourceName;
    readonly subnet?: string;
    readonly privateAddress?: string | undefined;
    /** Of an address of a subnet. */
    readonly family?: IpFamily;
  };
  readonly rules: readonly RuleSpec[];
  readonly probes: readonly { readonly name: string; readonly properties: Sent<network.ProbePropertiesFormat> }[];
  readonly pool: PoolSpec;
}

export interface RuleSpec {
  readonly name: string;
  readonly probe: string | undefined;
  readonly properties: Sent<Omit<network.LoadBalancingRulePropertiesFormat, 'probe' | 'backendAddressPool'>>;
}

/** A public address of any origin. */
export interface PublicAddress {
  readonly name: string;
  readonly resourceGroup: string;
  readonly tags: Tags;
  readonly label: string | undefined;
  /** What has it, by its id in lower case. */
  readonly usedBy: string | undefined;
  readonly etag: string;
  readonly wire: Json;
}

/** The nodes behind all rules of a load balancer: every Service names all nodes of the cluster. */
export interface PoolSpec {
  readonly name: string;
  /** Who its members are: `interfaces` are not written with the load balancer, and `others` fill it themselves. */
  readonly kind: 'addresses' | 'interfaces' | 'others';
  readonly virtualNetwork: string;
  readonly members: readonly { readonly node: string; readonly address: string }[];
}

export const lists = {
  frontends: 'frontendIPConfigurations',
  rules: 'loadBalancingRules',
  probes: 'probes',
  pools: 'backendAddressPools',
} as const satisfies Record<string, List>;
/** Services have nothing in these. */
export const otherLists: readonly List[] = ['outboundRules', 'inboundNatRules', 'inboundNatPools'];
type List = keyof network.LoadBalancerPropertiesFormat;

/** The parts of a Service as they are written. @param id of the load balancer */
export function wireOf(spec: BalancerSpec, id: string, publicAddress: string | undefined) {
  const { name, subnet, privateAddress, family } = spec.frontend;
  const ref = (list: string, part: string) => ({ id: `${id}/${list}/${part}` });
  const address: Sent<network.FrontendIPConfigurationPropertiesFormat> =
    subnet === undefined
      ? { publicIPAddress: { id: publicAddress } }
      : {
          subnet: { id: subnet },
          privateIPAllocationMethod: privateAddress === undefined ? 'Dynamic' : 'Static',
          privateIPAddress: privateAddress,
          privateIPAddressVersion: family === 'IPv6' ? family : undefined,
        };
  return {
    frontend: { name, properties: address },
    rules: spec.rules.map(({ name: rule, probe, properties }): Part => {
      const wire: Sent<network.LoadBalancingRulePropertiesFormat> = {
        ...properties,
        frontendIPConfiguration: ref(lists.frontends, name),
        backendAddressPool: ref(lists.pools, spec.pool.name),
        probe: probe === undefined ? undefined : ref(lists.probes, probe),
      };
      return { name: rule, properties: wire };
    }),
    probes: spec.probes,
  };
}

export const poolAddresses = ({ properties }: Part): readonly string[] =>
  partsIn({ properties }, 'loadBalancerBackendAddresses').flatMap((one) => {
    const ip = textIn(one.properties, 'ipAddress');
    return ip === undefined ? [] : [canonical(ip)];
  });

/** In lower case. @param json of its load balancer */
export const poolId = (json: Json, { name }: Part) => `${textIn(json, 'id')}/${lists.pools}/${name}`.toLowerCase();

export const tagsIn = (json: Json) => objectIn(json, 'tags') as Tags;

/**
 * Every frontend of a load balancer. A frontend is the Service's that the tags list, or whose mark its public
 * address carries. Pure.
 */
export function parseBalancer(
  document: string,
  json: Json,
  cluster: string,
  publicOwnerOf: (id: string) => Owner | undefined,
): readonly Found<Balancer>[] {
  const id = textIn(json, 'id')!.toLowerCase();
  const codes = codesIn(tagsIn(json));
  const pools = partsIn(json, lists.pools);
  const byBase = (list: string) => Map.groupBy(partsIn(json, list), ({ name }) => sideOfService(name));
  const [rulesOf, probesOf] = [byBase(lists.rules), byBase(lists.probes)];
  const membersOf = new Map(pools.map((pool) => [poolId(json, pool), poolAddresses(pool)]));
  return partsIn(json, lists.frontends).map((frontend): Found<Balancer> => {
    const { name, properties } = frontend;
    const publicAddress = idIn(properties, 'publicIPAddress');
    const holder = publicOwnerOf(publicAddress ?? '');
    const isHeld = holder?.cluster === cluster && isOfBase(name, baseName(holder.service));
    const owner = isHeld ? holder : ownerOf(name, cluster, codes);
    const [base, side] = [baseOf(name), frontendSide(name, textIn(objectIn(properties, 'subnet'), 'id'))];
    const own = (all: typeof rulesOf) => (base === undefined ? [] : (all.get(sideOfService(name, side)) ?? []));
    const rules = own(rulesOf);
    const [pool = '', ...more] = new Set(rules.map((rule) => idIn(rule.properties, 'backendAddressPool') ?? ''));
    // One array for all frontends of a pool.
    const [first = [], ...others] = [pool, ...more].flatMap((one) => [membersOf.get(one) ?? []]);
    const members = others.length === 0 ? first : [first, ...others].flat();
    const privateAddress = textIn(properties, 'privateIPAddress');
    const address = privateAddress === undefined ? undefined : canonical(privateAddress);
    return {
      kind: kindNames.balancer,
      id: `${id}/${lists.frontends}/${name}`.toLowerCase(),
      key: side,
      ...(owner === undefined ? {} : { owner }),
      status: 'ready',
      slots: [frontendSlot(document, name)],
      ...(address === undefined ? {} : { address }),
      refs: publicAddress === undefined ? [] : [{ role: 'address', kind: kindNames.address, id: publicAddress }],
      body: {
        document,
        name,
        publicAddress,
        privateAddress: address,
        subnet: idIn(properties, 'subnet'),
        frontend,
        rules,
        probes: own(probesOf),
        members,
        isFailed: isFailed(json),
      },
    };
  });
}

/** Its own, or that of its public address. @param addresses public ones */
export const shownAddress = ({ address, body }: Found<Balancer>, addresses: readonly Found[]): string | undefined =>
  address ?? addresses.find(({ id }) => id === body.publicAddress)?.address;

/** Frontend, rules and probes of one address family of a Service have it in common. */
const sideOfService = (name: string, side = sideKeyOf(name)) => `${baseOf(name) ?? ''} ${side}`;

export const frontendSlot = (document: string, name: string) => `frontend ${document}/${name}`.toLowerCase();

/** Outbound rules, and inbound NAT rules that lead to all members of the pool. */
export const hasOtherRules = ({ properties }: Part) =>
  ['outboundRules', 'inboundNatRules'].some((list) => listIn(properties, list).length > 0);

/** A pool has members of one kind alone; Azure shows the interfaces of addresses, too. */
export function memberKindOf({ properties }: Part): 'addresses' | 'interfaces' | undefined {
  const addresses = partsIn({ properties }, 'loadBalancerBackendAddresses');
  if (addresses.some((one) => textIn(one.properties, 'ipAddress') !== undefined)) return 'addresses';
  return listIn(properties, 'backendIPConfigurations').length > 0 ? 'interfaces' : undefined;
}

/** What differs, for people; empty where nothing does. */
export function differences(found: Balancer, spec: BalancerSpec, isAddressGood: boolean): readonly string[] {
  const id = textIn(found.frontend as unknown as Json, 'id')?.split(/\/frontendIPConfigurations\//i)[0] ?? '';
  const wire = wireOf(spec, id, found.publicAddress);
  const texts: string[] = found.isFailed ? ['what the last write has left'] : [];
  // One that has become static, or dynamic again, under its address is as good.
  const { privateAddress = found.privateAddress, subnet } = spec.frontend;
  const isInPlace = sameName(found, wire.frontend) && isAddressGood && found.subnet === subnet?.toLowerCase();
  if (!isInPlace || found.privateAddress !== privateAddress) texts.push(`frontend ${spec.frontend.name}`);
  const members = spec.pool.members.map(({ address }) => address);
  if (spec.pool.kind === 'addresses') {
    texts.push(...members.filter((ip) => !found.members.includes(ip)).map((ip) => `node ${ip}`));
    texts.push(...found.members.filter((ip) => !members.includes(ip)).map((ip) => `no node ${ip}`));
  }
  for (const [what, has, desired] of [
    ['rule', found.rules, wire.rules],
    ['probe', found.probes, wire.probes],
  ] as const) {
    for (const one of desired) {
      const there = has.find((other) => sameName(one, other));
      if (there === undefined || !isAsDesired(there, one)) texts.push(`${what} ${one.name}`);
    }
    for (const one of has) if (!desired.some((other) => sameName(one, other))) texts.push(`no ${what} ${one.name}`);
  }
  return texts;
}
