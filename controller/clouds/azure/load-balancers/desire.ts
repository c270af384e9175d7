import { type Desire, type Found, nameOf, type Refusal, type Want } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import { prefix } from '../annotations.ts';
import type { BalancerPlace } from '../config.ts';
import type { AddressBook } from './address-book.ts';
import {
  addressName,
  type Balancer,
  type BalancerSpec,
  frontendSlot,
  kindNames,
  type PoolSpec,
  type PublicAddress,
} from './balancer.ts';
import { baseName, classicTags, frontendName, publicAddressName } from './names.ts';
import { currentPlacement, type Placement, placementOf, unsupported } from './placement.ts';
import type { PublicAddressSpec } from './public-addresses.ts';
import { aggregated } from './ranges.ts';
import { classicRules, rulesOf } from './rules.ts';
import { allowRule, denyRule, type RuleSpec, shareKey } from './security-group.ts';
import { type Settings, settingsOf } from './settings.ts';

export interface DesireOptions {
  readonly place: BalancerPlace;
  readonly book: AddressBook;
  idOf(resourceGroup: string, name: string): string;
}

/** What serves a Service. Pure but for the addresses that the book has. */
export function desireOf(input: DesireInput, options: DesireOptions): Desire {
  const { place, book } = options;
  const { desired, own } = input;
  const { owner, service, clusterName, families } = desired;
  const settings = settingsOf(desired);
  const base = baseName(owner.service);
  const ofKind = (kind: string) => own().filter((one) => one.kind === kind);
  const balancers = ofKind(kindNames.balancer) as readonly Found<Balancer>[];
  const documentOf = (isInternal: boolean) =>
    book.spelled(`${place.name ?? clusterName}${isInternal ? '-internal' : ''}`);
  const standing = balancers.find(({ body }) => body.document === documentOf(settings.isInternal)) ?? balancers[0];

  const problems = [...settings.problems, ...fieldsOf(desired)];
  const refusals: Refusal[] = problems.map(unsupported);
  const remarks: string[] = [];
  const served = desired.ports.filter(isServed);
  refusals.push(...desired.ports.filter((port) => !isServed(port)).map(portRefusal));
  if (families.includes('IPv6')) refusals.push(unsupported('spec.ipFamilies: "IPv6", expected IPv4 alone'));
  if (desired.retain && settings.isInternal) remarks.push('nothing of an internal load balancer is retained');

  const placed = placementOf({ input, settings, standing, ...options });
  if (!('from' in placed)) refusals.push(placed);
  const isMoved = !('from' in placed) && placed.reason === 'AddressWouldChange';
  // The rest of what is asked for is done where the address stays.
  const placement =
    'from' in placed ? placed : isMoved && standing ? currentPlacement(input, standing.body) : undefined;
  // What cannot be read changes nothing, and nothing goes.
  if (problems.length > 0 || served.length === 0 || placement === undefined) {
    const wants = [...asTheyStand(own()), ...asTheyStand([{ kind: kindNames.balancer, key: 'main' }])];
    return { wants: [...new Map(wants.map((want) => [nameOf(want), want])).values()], refusals, remarks };
  }

  const isInternal = placement.from === 'subnet';
  const document = isMoved && standing ? standing.body.document : documentOf(isInternal);
  const name = isMoved && standing ? standing.body.name : frontendName(base, isInternal ? settings.subnet : undefined);
  const unused = withoutEffect(placement, ofKind(kindNames.address)[0]?.body as PublicAddress | undefined, settings);
  remarks.push(...unused.map((one) => `${prefix}${one} has no effect`));
  const isForAllPorts = settings.isForAllPorts && isInternal;
  const subnet = isInternal ? settings.subnet : undefined;
  const parts = { base, subnet, desired, settings: { ...settings, isForAllPorts }, ports: served };
  const pool = {
    ...{ name: clusterName, virtualNetwork: place.virtualNetwork },
    members: membersOf(desired, standing?.body.members ?? [], book),
  };
  const frontend = { document, pool, frontend: { name, ...frontendOf(placement, standing?.body) } };
  const spec: BalancerSpec = { ...frontend, ...rulesOf(parts, place.disableOutboundSnat) };
  const classic: BalancerSpec = { ...frontend, ...classicRules(parts, place.disableOutboundSnat) };
  const main: Want<BalancerSpec> = {
    ...{ kind: kindNames.balancer, key: 'main', slot: frontendSlot(document, name), carriesAddress: true },
    ...{ needs: isInternal ? [] : [addressName], spec, asGood: [classic], summary: `frontend ${name}` },
  };
  if (standing?.body.isOfInterfaces)
    remarks.push(`backend pool ${clusterName} has network interfaces in it: scale sets say which nodes join`);
  const rules =
    place.securityGroup && !settings.isWithoutSecurityRules ? firewallOf(document, isInternal, settings, served) : [];
  if (place.securityGroup === undefined && !settings.isWithoutSecurityRules) {
    const hasSources = settings.ranges.length + settings.serviceTags.length > 0;
    const message = 'azure.json names no securityGroupName: traffic is what the security group of the nodes allows';
    if (hasSources) refusals.push(unsupported(`source ranges: ${message}`));
    else remarks.push(message);
  }
  const shares = rules.map((rule): Want<RuleSpec> => {
    const one = { kind: kindNames.rule, key: shareKey(document, rule.name), needs: [nameOf(main)] };
    return { ...one, spec: rule, summary: `security rule ${rule.name}` };
  });
  return { wants: [...addressWants(), main, ...shares], refusals, remarks };

  function addressWants(): readonly Want[] {
    if (placement === undefined || placement.from === 'subnet') return [];
    const { from } = placement;
    const one = { kind: kindNames.address, key: 'main' };
    if (from === 'existing') {
      const { id, shown } = placement;
      return [{ ...one, use: { id, allowed: true }, spec: undefined, summary: `public address ${shown}` }];
    }
    const standingAddress = ofKind(kindNames.address)[0]?.body as PublicAddress | undefined;
    const { publicPrefix, publicTags, ipTags, label } = settings;
    const usual = publicAddressName(clusterName, base, publicPrefix?.split('/').at(-1));
    const address: PublicAddressSpec = {
      name: standingAddress?.name ?? usual,
      resourceGroup: standingAddress?.resourceGroup ?? settings.resourceGroup ?? place.resourceGroup,
      tags: {
        ...{ ...publicTags, [classicTags.service]: service, [classicTags.cluster]: clusterName },
        ...(label ? { [classicTags.label]: service } : {}),
      },
      label,
      properties: {
        ...(ipTags.length === 0 ? {} : { ipTags: [...ipTags] }),
        ...(publicPrefix === undefined ? {} : { publicIPPrefix: { id: publicPrefix } }),
      },
    };
    const slot = `public address ${options.idOf(address.resourceGroup, address.name)}`;
    const want: Want<PublicAddressSpec> = { ...one, slot, spec: address, summary: `public address ${address.name}` };
    return [{ ...want, carriesAddress: true }];
  }
}

function asTheyStand(found: readonly { readonly kind: string; readonly key?: string | undefined }[]): readonly Want[] {
  return found.map(({ kind, key = '' }) => ({ kind, key, asItStands: true, spec: undefined, summary: kind }));
}

/** Annotations that say nothing for what is served. */
function withoutEffect(
  { from }: Placement,
  address: PublicAddress | undefined,
  { publicPrefix, publicTags, ipTags, label, resourceGroup, probe, hasPath }: Settings,
): readonly string[] {
  const given = {
    'dns-label-name': label,
    'pip-tags': Object.keys(publicTags)[0],
    'pip-ip-tags': ipTags[0],
    'pip-prefix-id': publicPrefix,
  };
  const unused = from === 'own' ? [] : Object.entries(given).flatMap(([name, value]) => (value ? [name] : []));
  const isElsewhere = from === 'own' && (resourceGroup ?? address?.resourceGroup) !== address?.resourceGroup;
  if (isElsewhere && address !== undefined)
    unused.push(`load-balancer-resource-group on ${address.name}, which stands,`);
  const isOfPath = probe.protocol === 'Http' || probe.protocol === 'Https';
  if (hasPath && !isOfPath) unused.push('load-balancer-health-probe-request-path without http or https');
  return unused;
}

function frontendOf(placement: Placement, standing: Balancer | undefined): Omit<BalancerSpec['frontend'], 'name'> {
  if (placement.from !== 'subnet') return { publicAddress: addressName };
  const { subnet, ip } = placement;
  // It keeps the address that it got.
  const isIn = standing?.subnet === subnet.toLowerCase();
  return { subnet, privateAddress: ip ?? (isIn ? standing.privateAddress : undefined) };
}

function fieldsOf({ attach, families }: DesiredLoadBalancer): string[] {
  const fields = [
    attach && `mooring.dev/load-balancer-id: ${JSON.stringify(attach.id)}, expected none: one load balancer serves all`,
    !families.includes('IPv4') && 'spec.ipFamilies: no IPv4, expected IPv4',
  ];
  return fields.filter((one) => typeof one === 'string');
}

const isServed = ({ protocol }: DesiredPort) => protocol !== 'SCTP';

function portRefusal({ port, protocol }: DesiredPort): Refusal {
  return { ...unsupported(`spec.ports: ${protocol} ${port}, expected TCP or UDP`), ports: [{ port, protocol }] };
}

/** Those that are known by their providerID alone stay, and are not added. */
function membersOf(
  { members }: DesiredLoadBalancer,
  standing: readonly string[],
  book: AddressBook,
): PoolSpec['members'] {
  return members.flatMap(({ node, providerID, addresses }) => {
    const known = standing.find((ip) => addresses.length === 0 && book.providerIDOf(ip) === providerID);
    const address = known ?? addresses.find((one) => !one.includes(':'));
    return address === undefined ? [] : [{ node, address: canonical(address) }];
  });
}

/** As the classic controller writes rules: traffic from the virtual network is allowed by the cloud's own rules. */
function firewallOf(
  document: string,
  isInternal: boolean,
  { ranges, serviceTags, deniesOthers }: Settings,
  served: readonly DesiredPort[],
): readonly RuleSpec[] {
  const isForAll = ranges.length === 0 ? !isInternal : ranges.some((range) => range.endsWith('/0'));
  const all = [...serviceTags, ...(serviceTags.length === 0 && isForAll ? ['Internet'] : [])];
  const sources = [...all.map((tag) => [tag]), ...(ranges.length === 0 ? [] : [aggregated(ranges)])];
  const rules = (['TCP', 'UDP'] as const).flatMap((protocol) => {
    const ports = served.filter((one) => one.protocol === protocol).map(({ port }) => port);
    const wire = protocol === 'TCP' ? 'Tcp' : 'Udp';
    return ports.length === 0 ? [] : sources.map((some) => allowRule(document, wire, some, ports));
  });
  return deniesOthers ? [...rules, denyRule(document)] : rules;
}
