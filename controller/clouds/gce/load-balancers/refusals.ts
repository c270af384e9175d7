import type { Found, Refusal } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { DesiredLoadBalancer, DesiredPort, IpFamily } from '../../load-balancers.ts';
import { unsupported } from '../../served-ports.ts';
import { checkSources, type DesireOptions, isOfFamily, maxWithoutSubsets } from './desire-specs.ts';
import { firewallPath } from './firewall.ts';
import { loadBalancerIn, nameFor, ownNames } from './names.ts';
import type { Firewall, Project } from './project.ts';
import type { Settings } from './settings.ts';
import { subnetProblem } from './subnet.ts';

/** What keeps all of it as it is. */
export function fieldsOf({ attach, address }: DesiredLoadBalancer, settings: Settings): string[] {
  const name = 'networking.gke.io/load-balancer-ip-addresses';
  return [
    ...(attach === undefined ? [] : [`mooring.dev/load-balancer-id: ${JSON.stringify(attach.id)}, expected none`]),
    ...(address !== undefined && settings.addresses.length > 0
      ? [`${name}: ${JSON.stringify(settings.addresses.join())}, expected it or spec.loadBalancerIP, not both`]
      : []),
  ];
}

/** Of equal priorities the one that denies wins, so that a rule of ours lets in nothing beside it. */
export function denialOf(loadBalancer: string, project: Project): string[] {
  const names = (['IPv4', 'IPv6'] as const).map((family) => nameFor(family, ownNames.denial(loadBalancer)));
  return names.filter((name) => project.at(firewallPath(name)) !== undefined).map(expectedNone);
}

/** Rules that the classic controller has made for others, and that deny what comes to one of these addresses. */
export function denialsTo(ips: readonly string[], loadBalancer: string, project: Project): string[] {
  return [...project.all()].flatMap(({ path, name, wire }) => {
    const { denied, destinationRanges } = wire as Firewall;
    const isOfOthers = path.startsWith(firewallPath('')) && loadBalancerIn(name) !== loadBalancer;
    if (!isOfOthers || !denied?.length) return [];
    const to = (destinationRanges ?? []).map((range) => canonical(range.replace(/\/(32|128)$/, '')));
    return to.some((ip) => ips.includes(ip)) ? [expectedNone(name)] : [];
  });
}

const expectedNone = (rule: string) =>
  `firewall rule ${rule}: expected none: it denies what this Service serves; delete it`;

/** Families that can be served. */
export function familiesOf(
  { families, sourceRanges }: DesiredLoadBalancer,
  { isInternal, hasService, tier, subnet }: Settings,
  subnets: readonly Found[],
  options: DesireOptions,
): { readonly served: readonly IpFamily[]; readonly refusals: readonly Refusal[] } {
  const whyNot = () => {
    if (!families.includes('IPv6')) return undefined;
    if (!hasService) return 'expected IPv4, or the annotation cloud.google.com/l4-rbs: a target pool has no IPv6';
    if (tier === 'STANDARD') return 'expected cloud.google.com/network-tier: Premium with it';
    options.project.needSubnets();
    return subnetProblem(subnet ?? options.subnet, isInternal ? 'INTERNAL' : 'EXTERNAL', subnets);
  };
  const why = whyNot();
  const others = sourceRanges.filter((range) => !families.some((family) => isOfFamily(range, family)));
  const problems = [
    why !== undefined && `spec.ipFamilies: IPv6, ${why}`,
    others.length > 0 && `spec.loadBalancerSourceRanges: ${others.join()}, expected ${families.join(' and ')} ranges`,
  ].filter((problem) => problem !== false);
  const served = families.filter((family) => family === 'IPv4' || why === undefined);
  return { served, refusals: problems.map(unsupported) };
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

export function remarksOf(
  { ports, families, members, sessionAffinity }: DesiredLoadBalancer,
  { isInternal }: Settings,
  { project }: DesireOptions,
): readonly string[] {
  const opened = ports.map(({ port, protocol }) => `${protocol.toLowerCase()}:${port}`).join();
  const isTooWide = isInternal && sessionAffinity !== undefined && members.length > maxWithoutSubsets;
  return [
    // They are in a project of others.
    project.isShared &&
      `firewall rules of the network's project are not changed: let in ${opened} to the nodes there, and health ` +
        `checks from ${families.flatMap((family) => checkSources[family]).join(', ')}`,
    isTooWide &&
      `spec.sessionAffinity: ClientIP, so ${maxWithoutSubsets} of ${members.length} members get traffic: ` +
        'subsetting, which serves by more, excludes it',
  ].filter((remark) => remark !== false);
}
