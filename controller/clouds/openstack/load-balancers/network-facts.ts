import type { Clock } from '../../../../common/process/clock.ts';
import type { OpenStackClient } from '../client.ts';
import { type JsonObject, objectsOf, textOf, textsOf } from '../json.ts';
import type { Placement } from '../load-balancer-config.ts';
import { nameMatcher, tagMatcher } from './settings.ts';

export interface Subnet {
  readonly id: string;
  readonly name: string;
  readonly networkId: string;
  readonly cidr: string;
  readonly version: 4 | 6;
  readonly tags: readonly string[];
}

/** What there is of networks, as far as load balancers go; the same for all Services. */
export interface NetworkFacts {
  readonly external: readonly { readonly id: string; readonly name: string; readonly subnetIds: readonly string[] }[];
  /** Those that the project may see. The subnets of an external network often are none of them. */
  readonly subnets: readonly Subnet[];
}

const keepMs = 600_000;

/** Reads both lists, and keeps them for ten minutes. Throws a CloudError. */
export function networkFacts(client: OpenStackClient, clock: Clock): () => Promise<NetworkFacts> {
  let known: { readonly atMs: number; readonly facts: Promise<NetworkFacts> } | undefined;

  async function read(): Promise<NetworkFacts> {
    const list = async (
      path: '/networks' | '/subnets',
      query: readonly (readonly [string, string])[],
    ): Promise<JsonObject[]> => {
      const request = { service: 'network', path, operation: `GET ${path}`, query } as const;
      const { items, failure } = await client.list(request, path.slice(1));
      // Without routers it does not know the filter: there is no external network then.
      if (failure?.kind === 'Invalid' && path === '/networks') return [];
      if (failure !== undefined) throw failure;
      return objectsOf(items);
    };
    const [networks, subnets] = await Promise.all([
      list('/networks', [
        ['router:external', 'true'],
        ...only('id', 'name', 'subnets', 'is_default', 'router:external'),
      ]),
      list('/subnets', [['limit', '1000'], ...only('id', 'name', 'network_id', 'cidr', 'ip_version', 'tags')]),
    ]);
    return {
      external: networks
        .filter((one) => one['router:external'] === true)
        .toSorted((a, b) => Number(b['is_default'] === true) - Number(a['is_default'] === true))
        .map((one) => ({
          id: textOf(one['id']) ?? '',
          name: textOf(one['name']) ?? '',
          subnetIds: textsOf(one['subnets']),
        })),
      subnets: subnets.map((one) => ({
        id: textOf(one['id']) ?? '',
        name: textOf(one['name']) ?? '',
        networkId: textOf(one['network_id']) ?? '',
        cidr: textOf(one['cidr']) ?? '',
        version: one['ip_version'] === 6 ? 6 : 4,
        tags: textsOf(one['tags']),
      })),
    };
  }

  return () => {
    if (known === undefined || clock.monotonic() - known.atMs > keepMs) {
      const facts = read();
      known = { atMs: clock.monotonic(), facts };
      facts.catch(() => {
        if (known?.facts === facts) known = undefined;
      });
    }
    return known.facts;
  };
}

function only(...names: string[]) {
  return names.map((name) => ['fields', name] as const);
}

export type FloatingPool =
  | { readonly networkId: string; readonly subnetId: string | undefined }
  /** Why there is none. */
  | { readonly problem: string };

/** Where a floating IP can come from, the one to be tried first. */
export function floatingPool(
  placement: Placement,
  { external, subnets }: NetworkFacts,
  full: readonly string[],
): FloatingPool {
  const { floatingNetworkId, floatingSubnetId, floatingSubnet, floatingSubnetTags } = placement;
  const visible = (networkId: string) => subnets.filter((one) => one.networkId === networkId);
  const usable = ({ id, subnetIds }: NetworkFacts['external'][number]) =>
    subnetIds.length > 0 && (visible(id).length === 0 || visible(id).some(({ version }) => version === 4));
  const bySubnet = floatingSubnetId && subnets.find(({ id }) => id === floatingSubnetId)?.networkId;
  const networkId = floatingNetworkId ?? (bySubnet || undefined) ?? external.find(usable)?.id;
  if (networkId === undefined) return { problem: 'there is no external network with an IPv4 subnet' };
  if (floatingSubnetId) {
    if (bySubnet && bySubnet !== networkId)
      return { problem: `subnet ${floatingSubnetId} is not of network ${networkId}` };
    return { networkId, subnetId: floatingSubnetId };
  }
  if (!floatingSubnet && !floatingSubnetTags) return { networkId, subnetId: undefined };
  const named = floatingSubnet ? (nameMatcher(floatingSubnet) ?? (() => false)) : () => true;
  const tagged = floatingSubnetTags ? tagMatcher(floatingSubnetTags) : () => true;
  const fitting = visible(networkId).filter((one) => one.version === 4 && named(one.name) && tagged(one.tags));
  const wish = [floatingSubnet, floatingSubnetTags].filter(Boolean).join(' and ');
  if (fitting.length === 0)
    return { problem: `no subnet of network ${networkId} that this project may see fits ${wish}` };
  const left = fitting.find(({ id }) => !full.includes(id));
  if (left === undefined) return { problem: `no subnet that fits ${wish} has an address left` };
  return { networkId, subnetId: left.id };
}
