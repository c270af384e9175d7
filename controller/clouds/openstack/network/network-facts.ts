import type { Clock } from '../../../../common/process/clock.ts';
import type { ReadIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { faultOf } from '../fault.ts';
import { optionalTexts } from '../json.ts';
import type { Placement } from '../load-balancer-config.ts';
import type { Neutron } from './neutron.ts';
import { nameMatcher, tagMatcher } from './subnet-filters.ts';

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
  readonly external: readonly { readonly id: string; readonly subnetIds: readonly string[] }[];
  /** Those that the project may see. The subnets of an external network often are none of them. */
  readonly subnets: readonly Subnet[];
}

const keepMs = 600_000;

export interface NetworkFactsReader {
  /** As last read; undefined before. */
  readonly last: NetworkFacts | undefined;
  /** Reads both lists, unless they are less than ten minutes old. Throws a CloudError. */
  read(io: ReadIo): Promise<void>;
}

export function createNetworkFacts(neutron: Neutron, clock: Clock): NetworkFactsReader {
  let last: NetworkFacts | undefined;
  let atMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function external(io: ReadIo): Promise<readonly AnswerFields[]> {
    const fields = ['id', 'subnets', 'is_default', 'router:external'];
    try {
      return await neutron.list('networks', [['router:external', 'true']], fields, io);
    } catch (error) {
      // Without routers it does not know the filter: there is no external network then.
      if (faultOf(error)?.status === 400) return [];
      throw error;
    }
  }

  async function readBoth(io: ReadIo): Promise<void> {
    const startedAtMs = clock.monotonic();
    const fields = ['id', 'name', 'network_id', 'cidr', 'ip_version', 'tags'];
    const [networks, subnets] = await Promise.all([external(io), neutron.list('subnets', [], fields, io)]);
    const isTrue = (one: AnswerFields, field: string) => one.optionalFlag(field) === true;
    last = {
      external: networks
        .filter((one) => isTrue(one, 'router:external'))
        .toSorted((a, b) => Number(isTrue(b, 'is_default')) - Number(isTrue(a, 'is_default')))
        .map((one) => ({ id: one.text('id'), subnetIds: optionalTexts(one, 'subnets') })),
      subnets: subnets.map((one) => ({
        id: one.text('id'),
        name: one.optionalText('name') ?? '',
        networkId: one.text('network_id'),
        cidr: one.text('cidr'),
        version: one.number('ip_version') === 6 ? 6 : 4,
        tags: optionalTexts(one, 'tags'),
      })),
    };
    atMs = startedAtMs;
  }

  return {
    get last() {
      return last;
    },
    async read(io) {
      if (clock.monotonic() - atMs <= keepMs) return;
      reading ??= readBoth(io).finally(() => {
        reading = undefined;
      });
      await reading;
    },
  };
}

export interface FloatingPool {
  readonly networkId: string;
  readonly subnetId?: string;
}

/** Where a floating IP can come from, the one to be tried first at the beginning; or why there is nothing. Pure. */
export function floatingPools(
  placement: Placement,
  { external, subnets }: NetworkFacts,
): readonly FloatingPool[] | { readonly problem: string } {
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
    return [{ networkId, subnetId: floatingSubnetId }];
  }
  if (!floatingSubnet && !floatingSubnetTags) return [{ networkId }];
  const named = floatingSubnet ? (nameMatcher(floatingSubnet) ?? (() => false)) : () => true;
  const tagged = floatingSubnetTags ? tagMatcher(floatingSubnetTags) : () => true;
  const fitting = visible(networkId).filter((one) => one.version === 4 && named(one.name) && tagged(one.tags));
  if (fitting.length > 0) return fitting.map(({ id }) => ({ networkId, subnetId: id }));
  const asked = [floatingSubnet, floatingSubnetTags].filter(Boolean).join(' and ');
  return { problem: `no subnet of network ${networkId} that this project may see fits ${asked}` };
}
