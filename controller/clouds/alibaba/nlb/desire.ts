import { type Desire, type Found, nameOf, type Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { type DesiredPort, ownerTags } from '../../load-balancers.ts';
import { servedPorts, unsupported } from '../../served-ports.ts';
import { allAsItStands } from '../../standing.ts';
import { withoutNewListeners } from '../../unkept-source-ranges.ts';
import { prefix } from '../annotations.ts';
import {
  attachProblem,
  balancer,
  cleared,
  type DesireOptions,
  groupKeyOf,
  hostnameTag,
  mainOf,
  serversFor,
} from '../clb/desire.ts';
import { classicTags, kindNames, listenerKey, type Servers } from '../clb/found.ts';
import { marksOf } from '../clb/tags.ts';
import type { NetworkBalancerSpec } from './balancers.ts';
import { networkName, networkSlot } from './found.ts';
import type { NetworkGroupSpec, ServersSpec } from './groups.ts';
import type { NetworkListenerSpec } from './listeners.ts';
import { networkSettingsOf } from './settings.ts';

/** What serves a Service by a Network Load Balancer. Pure. */
export function desireNetwork({ desired, own }: DesireInput, options: DesireOptions): Desire {
  const { owner, service, sourceRanges, address } = desired;
  const settings = networkSettingsOf(desired, options);
  const { clusterId } = options;
  const name = settings.name ?? desired.name;
  const main = mainOf(name);
  const unread = [...settings.problems, ...attachProblem(desired)];
  const { served, refusals } = servedPorts(desired, !desired.ofPods);
  const unserved = [
    sourceRanges.length > 0 &&
      `spec.loadBalancerSourceRanges: ${sourceRanges.join(', ')}, expected none: ${prefix}security-group-ids says ` +
        'it. Until then no listener is added, because it would be open to everybody',
    address && `spec.loadBalancerIP: ${JSON.stringify(address)}, expected none, or ${prefix}zone-maps`,
  ].filter((one) => typeof one === 'string' && one !== '') as string[];
  refusals.push(...unserved.map(unsupported), ...unread.map(unsupported));
  const held = own();
  // What cannot be read changes nothing, and nothing goes.
  if (unread.length > 0 || served.length === 0)
    return { wants: allAsItStands(main, held), refusals, remarks: settings.remarks };

  const classic = { [classicTags.name]: desired.name, [classicTags.cluster]: clusterId };
  const marks = { ...marksOf(owner, service), ...classic };
  const tags = {
    ...settings.tags,
    ...marks,
    ...(settings.hostname !== undefined && { [hostnameTag]: settings.hostname }),
  };
  const { addressType, ipVersion, zones, securityGroups, isProtected, modification } = settings;
  const spec: NetworkBalancerSpec = {
    name,
    isNamed: settings.name !== undefined,
    tags: cleared(tags, held),
    addressType,
    ipVersion,
    zones,
    securityGroups,
    isProtected,
    modification,
    atCreation: { ResourceGroupId: settings.resourceGroup, BandwidthPackageId: settings.bandwidthPackage },
  };
  const isAdopted = held.some((one) => one.kind === kindNames.balancer && one.owner === undefined);
  const groupTags = { ...marks, [ownerTags.retained]: '' };
  const keyOf = (port: DesiredPort) => `${groupKeyOf(port, desired)}.${settings.protocolOf(port)}`;
  const groups = new Map(served.map((port) => [keyOf(port), port]));
  const wants: readonly Want[] = [
    { ...main, spec },
    ...[...groups].flatMap(([key, port]) => groupOf(key, port)),
    ...served.map((port) => listenerOf(port)),
  ];
  const kept = sourceRanges.length > 0 ? withoutNewListeners(wants, held, kindNames.networkListener) : wants;
  return { wants: kept, refusals, remarks: settings.remarks };

  function groupOf(key: string, port: DesiredPort): Want[] {
    const protocol = settings.protocolOf(port);
    const groupName = networkName(groupKeyOf(port, desired), protocol, service, clusterId);
    const group: Want<NetworkGroupSpec> = {
      kind: kindNames.networkGroup,
      key,
      summary: `server group ${groupName}`,
      spec: {
        name: groupName,
        tags: groupTags,
        protocol,
        fields: groupFieldsOf(protocol),
        atCreation: { ResourceGroupId: settings.resourceGroup },
      },
    };
    const there = held.find((one) => one.kind === kindNames.servers && one.key === key) as Found<Servers> | undefined;
    const servers = serversFor(port, desired, there?.body.servers ?? []);
    // A group without any shows no servers.
    if (servers.length === 0 && there === undefined) return [group];
    const spec: ServersSpec = { name: groupName, servers };
    return [
      group,
      { kind: kindNames.servers, key, within: nameOf(group), spec, summary: `servers of group ${groupName}` },
    ];
  }

  /** Health checks of what the classic controller made are left as they are. */
  function groupFieldsOf(protocol: string) {
    const { sessionAffinity, healthCheck, ofPods } = desired;
    const usual = isAdopted && sessionAffinity === undefined ? {} : { Scheduler: sessionAffinity ? 'sch' : 'wrr' };
    const asked = {
      HealthCheckEnabled: true,
      HealthCheckType: 'HTTP',
      HealthCheckConnectPort: healthCheck.port,
      HealthCheckUrl: healthCheck.path,
      HealthCheckHttpCode: ['http_2xx'],
    };
    // 0: the port that each server has.
    const asksPods = { HealthCheckType: protocol === 'UDP' ? 'UDP' : 'TCP', HealthCheckConnectPort: 0 };
    const ofMembers = ofPods ? { HealthCheckEnabled: true, ...asksPods } : asked;
    const chosen = settings.healthCheck && { ...(ofPods && { HealthCheckConnectPort: 0 }), ...settings.healthCheck };
    const check = chosen ?? (isAdopted ? undefined : ofMembers);
    return { ...usual, ...settings.groupFields, ...(check && { HealthCheckConfig: check }) };
  }

  function listenerOf(desiredPort: DesiredPort): Want<NetworkListenerSpec> {
    const { port, protocol: transport } = desiredPort;
    const protocol = settings.protocolOf(desiredPort);
    const key = listenerKey(protocol.toLowerCase(), port);
    const group = nameOf({ kind: kindNames.networkGroup, key: keyOf(desiredPort) });
    const fields = settings.listenerFieldsOf(protocol);
    const description = networkName(port, protocol, service, clusterId);
    return {
      kind: kindNames.networkListener,
      key,
      within: balancer,
      slot: networkSlot('{within}', key),
      needs: [group],
      ports: [{ port, protocol: transport }],
      summary: `port ${key}`,
      spec: { port, protocol, description, group, fields },
    };
  }
}
