import type { Clock } from '../../../../common/process/clock.ts';
import type { Found, Kind, Reader } from '../../../engine/resource.ts';
import type { AdoptionInput } from '../../load-balancer-driver.ts';
import type { LoadBalancerRef } from '../../load-balancers.ts';
import type { OpenStackClient } from '../client.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { classicFloatingIpDescription, classicGroupDescription, securityGroupName } from '../load-balancers/names.ts';
import { type FloatingIp, floatingIpSlot } from './floating-ip.ts';
import { floatingIpKind, type VipPorts } from './floating-ip-kind.ts';
import { groupMemberKind, serverPortKind } from './group-member-kind.ts';
import { createNetworkFacts, type NetworkFacts } from './network-facts.ts';
import { networkKinds } from './network-kinds.ts';
import { createNetworkReader, joinReaders } from './network-reader.ts';
import { createNeutron } from './neutron.ts';
import { onVipKind } from './on-vip-kind.ts';
import { type GroupMember, groupSlot, type SecurityGroup } from './security-group.ts';
import { securityGroupKind } from './security-group-kind.ts';
import { createServerAddresses, type ServerAddresses } from './server-addresses.ts';

export interface NetworkResourcesParts {
  readonly client: OpenStackClient;
  readonly config: Pick<LoadBalancerConfig, 'manageSecurityGroups'>;
  readonly clock: Clock;
  readonly vipPorts: VipPorts;
}

/** What Neutron keeps for load balancers. */
export interface NetworkResources extends ServerAddresses {
  readonly kinds: readonly Kind[];
  /** Reads these together with load balancers and their VIP ports: only together they tell what is on a VIP. */
  join(balancers: Reader): Reader;
  /** Networks and subnets, read with everything else, at most every ten minutes; undefined before the first read. */
  facts(): NetworkFacts | undefined;
}

export function createNetworkResources(parts: NetworkResourcesParts): NetworkResources {
  const { client, config, clock, vipPorts } = parts;
  const neutron = createNeutron(client);
  const facts = createNetworkFacts(neutron, clock);
  const reader = createNetworkReader({ neutron, managesGroups: config.manageSecurityGroups, facts });
  return {
    kinds: [
      floatingIpKind(neutron, vipPorts),
      onVipKind(neutron),
      securityGroupKind(neutron),
      groupMemberKind(neutron),
      serverPortKind,
    ] as readonly Kind[],
    join: (balancers) => joinReaders(balancers, reader),
    facts: () => facts.last,
    ...createServerAddresses(neutron, clock),
  };
}

/** What a search for one Service asks for: its floating IPs and group by their marks, and the address that it names. */
export function networkSlots({ owner, service, address }: LoadBalancerRef): readonly string[] {
  return [
    ...(service === '' ? [] : [floatingIpSlot({ owner, service }), groupSlot(securityGroupName(owner, service))]),
    ...(address === undefined ? [] : [`address ${address}`]),
  ];
}

/**
 * The key under which something that the classic controller made is that Service's: a floating IP on the VIP of its
 * load balancer, a group by its name; both as that controller describes them. Pure.
 */
export function adoptedNetworkKey(found: Found, input: AdoptionInput): string | undefined {
  const { owner, service, proof } = input;
  const named = { service, clusterName: proof.clusterName };
  const isClassicGroup = ({ name, description }: SecurityGroup) =>
    name === securityGroupName(owner, service) && description === classicGroupDescription(named);
  if (found.kind === networkKinds.floatingIp) {
    const { address, description } = found.body as FloatingIp;
    const isShown = proof.addresses.some((one) => one === address || one.startsWith(`${address}.`));
    return isShown && description === classicFloatingIpDescription(named) ? 'main' : undefined;
  }
  if (found.kind === networkKinds.group) return isClassicGroup(found.body as SecurityGroup) ? 'main' : undefined;
  if (found.kind !== networkKinds.member) return undefined;
  const { group } = found.body as GroupMember;
  const there = input.found(networkKinds.group).find(({ id }) => id === group);
  return there !== undefined && isClassicGroup(there.body as SecurityGroup) ? found.key : undefined;
}
