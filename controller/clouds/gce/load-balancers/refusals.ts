import type { Refusal } from '../../../engine/resource.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import { checkSources, type DesireOptions } from './desire-specs.ts';
import type { Settings } from './settings.ts';

export const unsupported = (message: string): Refusal => ({ reason: 'Unsupported', message });

/** What keeps all of it as it is. */
export function fieldsOf({ attach, address }: DesiredLoadBalancer, settings: Settings): string[] {
  const name = 'networking.gke.io/load-balancer-ip-addresses';
  return [
    ...(attach === undefined ? [] : [`mooring.dev/load-balancer-id: ${JSON.stringify(attach.id)}, expected none`]),
    ...(address !== undefined && settings.address !== undefined
      ? [`${name}: ${JSON.stringify(settings.address)}, expected it or spec.loadBalancerIP, not both`]
      : []),
  ];
}

export function familiesOf({ families, sourceRanges }: DesiredLoadBalancer): Refusal[] {
  if (families.includes('IPv6')) return [unsupported('spec.ipFamilies: IPv6, expected IPv4 alone')];
  const others = sourceRanges.filter((range) => range.includes(':'));
  return others.length === 0
    ? []
    : [unsupported(`spec.loadBalancerSourceRanges: ${others.join()}, expected IPv4 ranges`)];
}

/** A target pool takes one protocol, that of the first port. */
export function portsOf({ ports }: DesiredLoadBalancer, { hasService }: Settings) {
  const first = ports.find(({ protocol }) => protocol !== 'SCTP')?.protocol;
  const isServed = ({ protocol }: DesiredPort) => protocol !== 'SCTP' && (hasService || protocol === first);
  const refusals = ports
    .filter((port) => !isServed(port))
    .map(({ port, protocol }): Refusal => {
      const expected = protocol === 'SCTP' ? 'TCP or UDP' : `${first}, or the annotation cloud.google.com/l4-rbs`;
      return { ...unsupported(`spec.ports: ${protocol} ${port}, expected ${expected}`), ports: [{ port, protocol }] };
    });
  return { served: ports.filter(isServed), refusals };
}

/** Of a Shared VPC: firewall rules are in a project of others. */
export function remarksOf({ ports }: DesiredLoadBalancer, { project }: DesireOptions): readonly string[] {
  if (!project.isShared) return [];
  const opened = ports.map(({ port, protocol }) => `${protocol.toLowerCase()}:${port}`).join();
  return [
    `firewall rules of the network's project are not changed: let in ${opened} to the nodes there, and health checks ` +
      `from ${checkSources.join(', ')}`,
  ];
}
