import type { Subnet as Ec2Subnet, RouteTable } from '@aws-sdk/client-ec2';
import { tagMap } from './cluster-tags.ts';
import type { Tags } from './load-balancer-tags.ts';

/** A subnet of the VPC that load balancers stand in. */
export type Subnet = Readonly<ReturnType<typeof subnetOf>>;

/** @param tables all of the VPC */
export function subnetOf(described: Ec2Subnet, tables: readonly RouteTable[]) {
  const { SubnetId: id = '', AvailabilityZone: zone = '', CidrBlock, Ipv6CidrBlockAssociationSet, Tags } = described;
  return {
    id,
    zone,
    /** IPv4. */
    cidrs: (CidrBlock === undefined ? [] : [CidrBlock]) as readonly string[],
    ipv6Cidrs: (Ipv6CidrBlockAssociationSet ?? []).flatMap(({ Ipv6CidrBlock, Ipv6CidrBlockState }) =>
      Ipv6CidrBlock !== undefined && Ipv6CidrBlockState?.State === 'associated' ? [Ipv6CidrBlock] : [],
    ) as readonly string[],
    /** Its route table leads to an internet gateway. */
    public: leadsOutside(tables, id),
    tags: tagMap(Tags) as Tags,
  };
}

/** Where a load balancer is to stand. */
export interface SubnetRequest {
  readonly internal: boolean;
  /** Ids (`subnet-…`) or values of the tag `Name`, as the annotation has them; empty = found by tags. */
  readonly named: readonly string[];
  /** Only subnets that have IPv6, too. */
  readonly ipv6: boolean;
  /** Id of the one to take where none is of our cluster or of no cluster (`SubnetID` of the cloud config). */
  readonly fallback?: string | undefined;
  /** Whether a subnet carries the cluster's tag. */
  isCluster(tags: Tags): boolean;
}

export type SubnetChoice = { readonly subnets: readonly Subnet[] } | { readonly problem: string };

const clusterPrefix = 'kubernetes.io/cluster/';

/**
 * Subnets for a load balancer, one per zone, in the order of their zones: the named ones, else those of our cluster and
 * those of no cluster; for a public load balancer only public ones. Of several in one zone the one with the role's tag
 * wins, then the one with the cluster's tag, then the lowest id. Zones of other kinds (local, wavelength) are left out,
 * since these load balancers do not exist there. Pure.
 */
export function chooseSubnets(subnets: readonly Subnet[], request: SubnetRequest): SubnetChoice {
  if (request.named.length > 0) return named(subnets, request);
  const tagged = subnets.filter(
    ({ tags }) => request.isCluster(tags) || !Object.keys(tags).some((key) => key.startsWith(clusterPrefix)),
  );
  const ours = tagged.length > 0 ? tagged : subnets.filter(({ id }) => id === request.fallback);
  const role = request.internal ? 'kubernetes.io/role/internal-elb' : 'kubernetes.io/role/elb';
  const byZone = new Map<string, Subnet>();
  for (const subnet of ours) {
    if (!isOrdinaryZone(subnet.zone) || (!request.internal && !subnet.public)) continue;
    if (request.ipv6 && subnet.ipv6Cidrs.length === 0) continue;
    const other = byZone.get(subnet.zone);
    if (other === undefined || isBefore(subnet, other)) byZone.set(subnet.zone, subnet);
  }
  const chosen = [...byZone.values()].sort((a, b) => (a.zone < b.zone ? -1 : 1));
  if (chosen.length > 0) return { subnets: chosen };
  const kind = `${request.internal ? '' : 'public '}subnet${request.ipv6 ? ' with IPv6' : ''}`;
  return { problem: `no ${kind} of this cluster, or of no cluster, in an ordinary zone of the VPC` };

  function isBefore(one: Subnet, other: Subnet): boolean {
    const rank = ({ tags }: Subnet) => (Object.hasOwn(tags, role) ? 2 : 0) + (request.isCluster(tags) ? 1 : 0);
    const difference = rank(one) - rank(other);
    return difference !== 0 ? difference > 0 : one.id < other.id;
  }
}

function named(subnets: readonly Subnet[], { named: names, ipv6 }: SubnetRequest): SubnetChoice {
  const chosen: Subnet[] = [];
  for (const name of names) {
    const hits = subnets.filter(({ id, tags }) => (name.startsWith('subnet-') ? id === name : tags['Name'] === name));
    const [hit] = hits;
    if (hit === undefined) return { problem: `${JSON.stringify(name)} is no subnet of the VPC, by id or tag Name` };
    if (hits.length > 1) return { problem: `${JSON.stringify(name)} names several subnets: ${idsOf(hits)}` };
    const twin = chosen.find(({ zone }) => zone === hit.zone);
    if (twin !== undefined && twin !== hit) {
      return { problem: `${twin.id} and ${hit.id} are both in ${hit.zone}, expected one a zone` };
    }
    if (ipv6 && hit.ipv6Cidrs.length === 0) return { problem: `${hit.id} has no IPv6 range` };
    if (twin === undefined) chosen.push(hit);
  }
  return { subnets: chosen.sort((a, b) => (a.zone < b.zone ? -1 : 1)) };
}

function idsOf(subnets: readonly Subnet[]): string {
  return subnets.map(({ id }) => id).join(', ');
}

/** `eu-west-1a`; local and wavelength zones have a place in their name: `us-west-2-lax-1a`. */
function isOrdinaryZone(zone: string): boolean {
  return /^(?:[a-z]+-)+\d+[a-z]$/.test(zone);
}

/** By its own table, else by the main one. */
function leadsOutside(tables: readonly RouteTable[], subnet: string): boolean {
  const own = tables.find(({ Associations }) => Associations?.some(({ SubnetId }) => SubnetId === subnet));
  const table = own ?? tables.find(({ Associations }) => Associations?.some(({ Main }) => Main));
  return table?.Routes?.some(({ GatewayId }) => GatewayId?.startsWith('igw')) ?? false;
}
