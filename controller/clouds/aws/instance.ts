import type { Instance as Ec2Instance, InstanceNetworkInterface } from '@aws-sdk/client-ec2';
import type { Instance, NodeAddress, NodeAddressType, PowerState } from '../../../common/instance.ts';
import { aws } from '../../../common/provider-id/aws.ts';
import type { Lookup } from '../cloud.ts';
import { tagMap } from './cluster-tags.ts';
import type { IpFamily } from './config.ts';
import { invalid } from './errors.ts';

export const zoneIdLabel = 'topology.k8s.aws/zone-id';
/** Followed by the layer, counted from 1. */
export const networkLayerLabel = 'topology.k8s.aws/network-node-layer-';

export interface InstanceView {
  readonly region: string;
  readonly nodeIpFamilies: readonly IpFamily[];
  /** The zone's id (`use1-az4`), which unlike its name means the same in every account; undefined while unknown. */
  zoneId(zone: string): string | undefined;
  /** The network nodes above an instance, the widest layer first; empty while unknown. */
  networkLayers(instanceId: string): readonly string[];
}

/** One instance of a DescribeInstances answer. `terminated` is `gone`; an answer without a state is `unknown`. */
export function lookupOf(
  instance: Ec2Instance,
  view: InstanceView,
  request: 'list' | 'id',
): Exclude<Lookup, { state: 'absent' }> {
  const id = instance.InstanceId ?? '';
  const state = instance.State?.Name;
  if (state === undefined) return unreadable(id, 'State.Name is missing');
  if (state === 'terminated') return { state: 'gone', terminalState: state, incarnation: id };
  const zone = instance.Placement?.AvailabilityZone;
  if (!zone) return unreadable(id, 'Placement.AvailabilityZone is missing');
  return { state: 'found', power: powerOf(state), request, instance: describe(instance, id, zone, view) };
}

function describe(instance: Ec2Instance, id: string, zone: string, view: InstanceView): Instance {
  const zoneId = instance.Placement?.AvailabilityZoneId ?? view.zoneId(zone);
  const layers = view.networkLayers(id).map((node, at) => [`${networkLayerLabel}${at + 1}`, node] as const);
  const labels = { ...(zoneId && { [zoneIdLabel]: zoneId }), ...Object.fromEntries(layers) };
  return {
    cloud: 'aws',
    id,
    providerID: aws.print({ instanceId: id, zone }),
    incarnation: id,
    ...(instance.PrivateDnsName ? { name: instance.PrivateDnsName } : {}),
    zone,
    region: view.region,
    ...(instance.InstanceType ? { type: instance.InstanceType } : {}),
    addresses: addressesOf(instance, view.nodeIpFamilies),
    ...(Object.keys(labels).length > 0 && { labels }),
    tags: tagMap(instance.Tags),
  };
}

function powerOf(state: string): PowerState {
  if (state === 'running' || state === 'stopped') return state;
  return 'changing';
}

function unreadable(id: string, problem: string): Lookup & { state: 'unknown' } {
  return { state: 'unknown', error: invalid('DescribeInstances', `${id}: ${problem} in the answer`) };
}

/**
 * The addresses in upstream's order: family by family. IPv4: every private address of every interface in use, by device
 * index, then the public address and the DNS names (the private one also as Hostname). IPv6: the first address of each
 * interface.
 */
export function addressesOf(instance: Ec2Instance, families: readonly IpFamily[]): readonly NodeAddress[] {
  const addresses: NodeAddress[] = [];
  const add = (type: NodeAddressType, address: string | undefined) => {
    if (!address || addresses.some((known) => known.type === type && known.address === address)) return;
    addresses.push({ type, address });
  };
  const interfaces = inDeviceOrder(instance.NetworkInterfaces ?? []).filter(({ Status }) => Status === 'in-use');
  for (const family of families) {
    if (family === 'ipv6') {
      for (const { Ipv6Addresses } of interfaces) add('InternalIP', Ipv6Addresses?.[0]?.Ipv6Address);
      continue;
    }
    for (const { PrivateIpAddresses } of interfaces) {
      for (const { PrivateIpAddress } of PrivateIpAddresses ?? []) add('InternalIP', PrivateIpAddress);
    }
    add('ExternalIP', instance.PublicIpAddress);
    add('InternalDNS', instance.PrivateDnsName);
    add('Hostname', instance.PrivateDnsName);
    add('ExternalDNS', instance.PublicDnsName);
  }
  return addresses;
}

/** The primary one first: further network cards have a device 0 of their own. */
export function inDeviceOrder(interfaces: readonly InstanceNetworkInterface[]): readonly InstanceNetworkInterface[] {
  const device = ({ Attachment }: InstanceNetworkInterface) => Attachment?.DeviceIndex ?? Number.MAX_SAFE_INTEGER;
  const card = ({ Attachment }: InstanceNetworkInterface) => Attachment?.NetworkCardIndex ?? 0;
  return interfaces.toSorted((one, other) => device(one) - device(other) || card(one) - card(other));
}
