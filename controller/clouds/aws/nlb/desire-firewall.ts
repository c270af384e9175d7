import type { Refusal, ResourceName, Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';
import { desireFront, desireTraffic, trafficResource } from '../security-groups/desire-front.ts';
import { desireNodeRules, isOpenFrom } from '../security-groups/desire-node-rules.ts';
import { frontRules } from '../security-groups/front-rules.ts';
import { frontKeys, groupKinds } from '../security-groups/group-resources.ts';
import { type DesireParts, keep, ownOf, type Standing } from '../standing.ts';
import type { DesiredListener } from './desired-listeners.ts';
import { securityGroupName } from './names.ts';
import type { NetworkLoadBalancer } from './network-load-balancer.ts';
import type { NlbSettings } from './settings.ts';

const frontResource: ResourceName = `${groupKinds.front}/${frontKeys.network}`;
const everybody = { IPv4: '0.0.0.0/0', IPv6: '::/0' } as const;

export interface FirewallContext {
  readonly input: DesireInput;
  readonly settings: NlbSettings;
  readonly listeners: readonly DesiredListener[];
  readonly standing: Standing<NetworkLoadBalancer>;
  readonly parts: DesireParts;
  /** Its own, or that of others that it uses; undefined = still to be made. */
  readonly on: NetworkLoadBalancer | undefined;
  /** Others made it: it keeps its groups. */
  readonly isAttached: boolean;
  /** Ids of instances that are members, or are to be. */
  readonly instances: readonly string[];
  /** Target groups: by these it shows whose its rules on the nodes are. */
  readonly needs: readonly ResourceName[];
}

export interface Firewall {
  readonly wants: readonly Want[];
  readonly refusals: readonly Refusal[];
  /** That the load balancer is to carry: ids, or names of resources; undefined = as it stands. */
  readonly groups: readonly string[] | undefined;
}

/**
 * What lets clients reach the load balancer, and it the nodes. One that was made without security groups can never get
 * any: then the nodes' own groups decide who reaches them. Pure.
 */
export function desireFirewall(context: FirewallContext): Firewall {
  const { input, settings, listeners, standing, parts, on, isAttached, instances } = context;
  const { desired } = input;
  const { front, traffic, groups: all } = standing;
  const refusals: Refusal[] = [];
  const wants: Want[] = [];
  const carriedNow = on?.securityGroups ?? [];
  const hasGroups = on === undefined ? parts.config.managedNlbSecurityGroups : carriedNow.length > 0;
  const facts = { ...parts.view.facts(instances), groups: all };
  const keepFront = () =>
    wants.push(
      ...ownOf(input, groupKinds.front)
        .filter(({ id }) => id === front?.id)
        .map(keep),
    );

  const groups = groupsOf();
  // Its own goes when the load balancer carries others.
  if (front !== undefined && carriedNow.includes(front.id) && !wants.some(({ key }) => key === frontKeys.network))
    keepFront();
  const isManaged = groups?.some((one) => [traffic, trafficResource, front?.id, frontResource].includes(one));
  // Groups of persons, and of other Services: each Service is let in from there to ports of its own.
  const client = isAttached ? carriedNow[0] : isManaged ? undefined : groups?.[0];
  // Connections of these come from the load balancer's own addresses, like its probes.
  const hiding = listeners.filter(({ group }) => group.attributes['preserve_client_ip.enabled'] === 'false');
  const isBare = on === undefined ? !hasGroups : carriedNow.length === 0;
  if (isBare && desired.sourceRanges.length > 0 && (hiding.length > 0 || desired.families.includes('IPv6'))) {
    const hidden = `${keys.targetGroupAttributes}, ${keys.targetType}, or IPv6`;
    const seen = `members see other addresses than those of clients (${hidden})`;
    const why = `${seen}, and this load balancer has no security group, see NLBSecurityGroupMode`;
    refusals.push({ reason: 'Unsupported', message: `spec.loadBalancerSourceRanges: ${why}` });
  }
  const rules = desireNodeRules({
    input,
    facts,
    instances,
    traffic,
    front: front?.id,
    needs: context.needs,
    groups: isAttached ? [] : (groups ?? []),
    carried: isAttached ? [] : carriedNow,
    clients: client !== undefined ? [client] : isBare ? clientsOf(desired) : [],
    checks: client !== undefined ? [client] : subnetCidrs(),
    ports: listeners.flatMap(({ protocol, group }) =>
      protocolsOf(protocol).map((one) => ({ protocol: one, port: group.nodePort })),
    ),
    health: healthPorts(),
    isAdopted: standing.isAdopted,
    isDisabled: parts.config.disableSecurityGroupIngress,
  });
  return { wants: [...wants, ...rules.wants], refusals: [...refusals, ...rules.refusals], groups };

  function groupsOf(): readonly string[] | undefined {
    if (isAttached || !hasGroups) return isAttached ? undefined : [];
    if (on !== undefined && settings.unclear.has(keys.securityGroups)) return carriedNow;
    if (settings.securityGroups.length > 0) return settings.securityGroups;
    // Those that a person gave it, where this controller gives none.
    if (!parts.config.managedNlbSecurityGroups && front === undefined) return carriedNow;
    const name = front?.name ?? securityGroupName(desired.clusterName, desired.service, desired.owner.service);
    const ports = listeners.flatMap(({ port, protocol }) =>
      protocolsOf(protocol).map((one) => ({ protocol: one, port })),
    );
    const rules = frontRules(ports, clientsOf(desired));
    const own = desireFront(desired, standing, { name, key: frontKeys.network, rules, tags: settings.tags });
    if ('refusal' in own) {
      refusals.push(own.refusal);
      return carriedNow;
    }
    wants.push(own.want);
    // What reaches the nodes already needs no group more.
    const isOpen = front !== undefined && carriedNow.includes(front.id) && isOpenFrom(front.id, instances, facts);
    if (isOpen && !(traffic !== undefined && carriedNow.includes(traffic))) return carriedNow;
    wants.push(desireTraffic(desired));
    return [front?.id ?? frontResource, traffic ?? trafficResource];
  }

  function subnetCidrs(): readonly string[] {
    const its = (parts.lastSubnets() ?? []).filter(({ id }) => on?.places.some(({ subnet }) => subnet === id));
    const isDual = desired.families.includes('IPv6');
    return its.flatMap(({ cidrs, ipv6Cidrs }) => (isDual ? [...cidrs, ...ipv6Cidrs] : cidrs));
  }

  function healthPorts() {
    const probed = listeners.map(({ group }) =>
      group.health.port === 'traffic-port' ? group.nodePort : Number(group.health.port),
    );
    return [...new Set([...probed, ...hiding.map(({ group }) => group.nodePort)])];
  }
}

function clientsOf({ sourceRanges, families }: DesiredLoadBalancer): readonly string[] {
  return sourceRanges.length > 0 ? sourceRanges : families.map((family) => everybody[family]);
}

function protocolsOf(protocol: DesiredListener['protocol']): readonly ('tcp' | 'udp')[] {
  if (protocol === 'TCP_UDP') return ['tcp', 'udp'];
  return [protocol === 'UDP' ? 'udp' : 'tcp'];
}
