import { type Desire, type Found, nameOf, type Refusal, type Want } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer, DesiredPort, IpFamily } from '../../load-balancers.ts';
import { servedPorts } from '../../served-ports.ts';
import { prefix } from '../annotations.ts';
import type { BalancerPlace } from '../config.ts';
import { readVmId } from '../resource-id.ts';
import type { AddressBook } from './address-book.ts';
import {
  addressName,
  type Balancer,
  type BalancerSpec,
  frontendSlot,
  kindNames,
  type PoolSpec,
  type PublicAddress,
  shownAddress,
} from './balancer.ts';
import { foreignPool } from './balancer-document.ts';
import {
  baseName,
  classicTags,
  familyOf,
  frontendName,
  poolName,
  publicAddressName,
  type Side,
  type SideKey,
  sidesOf,
} from './names.ts';
import { currentPlacement, type Placement, placementOf, unsupported } from './placement.ts';
import { type InterfacePoolSpec, isFilledByOthers, poolKey } from './pool.ts';
import { addressSlot, type PublicAddressSpec } from './public-addresses.ts';
import { aggregated, isForEveryone } from './ranges.ts';
import { classicRules, lacksNodePort, rulesOf } from './rules.ts';
import { allowRule, denyRule, type RuleShare, type RuleSpec, shareKey } from './security-group.ts';
import { type Settings, settingsOf } from './settings.ts';

export interface DesireOptions {
  readonly place: BalancerPlace;
  readonly book: AddressBook;
  idOf(resourceGroup: string, name: string): string;
}

/** What serves a Service: a frontend for each address family. Pure but for what the book has. */
export function desireOf(input: DesireInput, options: DesireOptions): Desire {
  const { place, book } = options;
  const { desired, own } = input;
  const { owner, clusterName } = desired;
  const families = servedFamilies(input);
  const settings = settingsOf({ ...desired, families });
  const problems = [...settings.problems, ...fieldsOf(desired)];
  const refusals: Refusal[] = problems.map(unsupported);
  const remarks: string[] = [];
  const { served, refusals: unserved } = servedPorts(desired, false);
  refusals.push(...unserved);
  if (desired.retain && settings.isInternal) remarks.push('nothing of an internal load balancer is retained');
  const sides = sidesOf(families);
  const documentOf = (isInternal: boolean) =>
    book.spelled(`${place.name ?? clusterName}${isInternal ? '-internal' : ''}`);
  const foreign = sides.flatMap(({ family }): Refusal[] => {
    const [document, name] = [documentOf(settings.isInternal), poolName(clusterName, family)];
    const holder = book.poolOf(document, name)?.holder;
    if (holder === undefined || holder === owner.cluster) return [];
    return [{ reason: 'ForeignLoadBalancer', message: foreignPool(document, { name }, holder) }];
  });
  refusals.push(...foreign);
  const standing = standingFamily(input);
  const isOtherFamily = standing !== undefined && standing !== sides[0]?.family;
  if (isOtherFamily) {
    // Names and addresses would have to change places.
    const expected = standing === 'IPv4' ? 'IPv4, or IPv4 and IPv6,' : 'IPv6 alone';
    refusals.push(unsupported(`spec.ipFamilies: ${desired.families.join()}, expected ${expected} as it stands`));
  }
  if (place.securityGroup === undefined && !settings.isWithoutSecurityRules) {
    const hasSources = isRestricted(settings);
    const message = 'azure.json names no securityGroupName: traffic is what the security group of the nodes allows';
    if (hasSources) refusals.push(unsupported(`source ranges: ${message}`));
    else remarks.push(message);
  }
  // What cannot be read changes nothing, and nothing goes.
  const isUnread = problems.length > 0 || foreign.length > 0 || isOtherFamily || served.length === 0;
  const done = sides.map((side) =>
    isUnread ? { stays: side } : sideOf(side, { ...options, input, settings, served, documentOf }),
  );
  const wants = done.flatMap((one): readonly Want[] => {
    if ('wants' in one) return one.wants;
    const isKept = (found: Found) => found.kind !== kindNames.pool && (isUnread || isOfSide(found, one.stays));
    const none = { kind: kindNames.balancer, key: one.stays.key, body: { document: documentOf(settings.isInternal) } };
    return asTheyStand([none, ...own().filter(isKept)]);
  });
  const all = new Map(wants.map((want) => [nameOf(want), want]));
  return {
    wants: [...all.values()],
    refusals: [...refusals, ...done.flatMap((one) => ('refusals' in one ? one.refusals : []))],
    remarks: [...remarks, ...new Set(done.flatMap((one) => ('remarks' in one ? (one.remarks ?? []) : [])))],
  };
}

/** With the second one that the Service has given up, while its address stays without consent. */
function servedFamilies({ desired, own }: DesireInput): readonly IpFamily[] {
  const { families, mayChangeAddress } = desired;
  const isSecond = ({ kind, key }: Found) => kind === kindNames.balancer && key === 'IPv6';
  const isKept = !mayChangeAddress && !families.includes('IPv6') && own().some(isSecond);
  return isKept ? [...families, 'IPv6'] : families;
}

/** Of what has the names without a suffix; undefined: nothing that is known has them. */
function standingFamily({ own, found }: DesireInput): IpFamily | undefined {
  const first = own().filter(({ key }) => key === 'main');
  const balancers = first.filter(({ kind }) => kind === kindNames.balancer) as readonly Found<Balancer>[];
  const [ip] = [
    ...balancers.flatMap((one) => shownAddress(one, found(kindNames.address)) ?? []),
    ...first.flatMap(({ kind, address }) => (kind === kindNames.address ? (address ?? []) : [])),
  ];
  return ip === undefined ? undefined : familyOf(ip);
}

interface SideOptions extends DesireOptions {
  readonly input: DesireInput;
  readonly settings: Settings;
  readonly served: readonly DesiredPort[];
  documentOf(isInternal: boolean): string;
}

/** One address family of a Service; `stays`: it goes on as it is. */
function sideOf(
  side: Side,
  options: SideOptions,
): Desire | { readonly stays: Side; readonly refusals: readonly Refusal[] } {
  const { input, settings, place, book, served, documentOf } = options;
  const { desired, own } = input;
  const { owner, service, clusterName } = desired;
  const { family, key, suffix } = side;
  const ofSide = (kind: string) => own().filter((one) => one.kind === kind && one.key === key);
  const balancers = ofSide(kindNames.balancer) as readonly Found<Balancer>[];
  const standing = balancers.find(({ body }) => body.document === documentOf(settings.isInternal)) ?? balancers[0];
  const refusals: Refusal[] = [];
  const remarks: string[] = [];
  const placed = placementOf({ family, standing, ...options });
  if (!('from' in placed)) refusals.push(placed);
  const isMoved = !('from' in placed) && placed.reason === 'AddressWouldChange';
  // The rest of what is asked for is done where the address stays.
  const placement =
    'from' in placed ? placed : isMoved && standing ? currentPlacement(input, standing.body) : undefined;
  if (placement === undefined) return { stays: side, refusals };

  const isInternal = placement.from === 'subnet';
  const document = isMoved && standing ? standing.body.document : documentOf(isInternal);
  const subnet = isInternal ? settings.subnet : undefined;
  const base = baseName(owner.service);
  const name = isMoved && standing ? standing.body.name : frontendName(base, subnet, suffix);
  const standingAddress = ofSide(kindNames.address)[0] as Found<PublicAddress> | undefined;
  const unused = withoutEffect(placement, standingAddress?.body, settings, family);
  remarks.push(...unused.map((one) => `${prefix}${one} has no effect`));
  const isGuarded = place.securityGroup !== undefined && !settings.isWithoutSecurityRules;
  const {
    ports: some,
    refusals: unserved,
    isUnseen,
    ...flags
  } = portsOf(side, isInternal, isGuarded, settings, served);
  refusals.push(...unserved);
  // What stands goes on, with the nodes of the day.
  const ports = isUnseen && standing === undefined ? [] : some;
  if (ports.length === 0) return { stays: side, refusals };
  const naming = { base, subnet, suffix };
  const parts = { naming, desired, settings: { ...settings, ...flags }, ports };
  for (const { port } of ports.filter((one) => lacksNodePort(parts, one)))
    remarks.push(`port ${port} has no node port: the usual health check is its probe`);
  const pool = poolOf();
  const frontend = { document, pool, frontend: { name, family, ...frontendOf(placement, standing?.body, key) } };
  const spec: BalancerSpec = { ...frontend, ...rulesOf(parts, place.disableOutboundSnat) };
  const classic: BalancerSpec = { ...frontend, ...classicRules(parts, place.disableOutboundSnat) };
  const main: Want<BalancerSpec> = {
    kind: kindNames.balancer,
    key,
    slot: frontendSlot(document, name),
    carriesAddress: true,
    needs: isInternal ? [] : [addressName(key)],
    spec,
    alsoAccepted: [classic],
    summary: `frontend ${name}`,
  };
  const shares = (isGuarded && !isUnseen ? firewallOf({ document, family }, isInternal, settings, ports) : []).map(
    (rule): Want<RuleSpec> => {
      const one = { kind: kindNames.rule, key: shareKey(document, rule.name), needs: [nameOf(main)] };
      return { ...one, spec: rule, summary: `security rule ${rule.name}` };
    },
  );
  return { wants: [...addressWants(), main, ...poolWants(), ...shares], refusals, remarks };

  function poolOf(): PoolSpec {
    const own = poolName(clusterName, family);
    const isOthers = isFilledByOthers(place, document);
    const kind = book.poolOf(document, own)?.kind ?? place.poolMembers;
    if (kind !== place.poolMembers && !isOthers) {
      const setting = 'loadBalancerBackendPoolConfigurationType';
      remarks.push(`backend pool ${own} of ${document} keeps its ${kind}: ${setting} is for new ones`);
    }
    return {
      name: own,
      kind: isOthers ? 'others' : kind,
      virtualNetwork: place.virtualNetwork,
      members: kind === 'addresses' ? membersOf(desired, family, standing?.body.members ?? [], book) : [],
    };
  }

  function poolWants(): readonly Want[] {
    if (pool.kind !== 'interfaces') return [];
    const spec = interfacesOf(desired, { document, name: pool.name }, family, place, book);
    const one = { kind: kindNames.pool, key: poolKey(document, pool.name), needs: [nameOf(main)] };
    for (const id of [...(spec.vms ?? []), ...spec.sets]) {
      const why = book.refusalOf(id);
      if (why !== undefined) remarks.push(`${id.split('/').at(-1)} is not in backend pool ${pool.name}: it ${why}`);
    }
    return [{ ...one, spec, summary: `backend pool ${pool.name} of ${document}` }];
  }

  function addressWants(): readonly Want[] {
    if (placement === undefined || placement.from === 'subnet') return [];
    const { from } = placement;
    const one = { kind: kindNames.address, key };
    if (from === 'existing') {
      const { id, shown } = placement;
      return [{ ...one, use: { id, allowed: true }, spec: undefined, summary: `public address ${shown}` }];
    }
    const { publicTags, ipTags, label } = settings;
    const { publicPrefix } = settings.sides[family];
    const usual = publicAddressName(clusterName, base, publicPrefix?.split('/').at(-1), suffix);
    const address: PublicAddressSpec = {
      name: standingAddress?.body.name ?? usual,
      resourceGroup: standingAddress?.body.resourceGroup ?? settings.resourceGroup ?? place.addressGroup,
      family,
      tags: {
        ...publicTags,
        [classicTags.service]: service,
        [classicTags.cluster]: clusterName,
        ...(label ? { [classicTags.label]: service } : {}),
      },
      label,
      properties: {
        ipTags: ipTags.length === 0 ? undefined : ipTags,
        publicIPPrefix: publicPrefix === undefined ? undefined : { id: publicPrefix },
      },
    };
    const slot = addressSlot(options.idOf(address.resourceGroup, address.name));
    const want: Want<PublicAddressSpec> = { ...one, slot, spec: address, summary: `public address ${address.name}` };
    return [{ ...want, carriesAddress: true }];
  }
}

/** Azure has no floating IP for internal addresses of IPv6: traffic goes to node ports, and rules see the nodes. */
function portsOf(
  { family }: Side,
  isInternal: boolean,
  isGuarded: boolean,
  settings: Settings,
  all: readonly DesiredPort[],
) {
  const isInternalSix = isInternal && family === 'IPv6';
  const hasFloatingIp = settings.hasFloatingIp && !isInternalSix;
  const { served, refusals } = servedPorts({ ports: all }, !hasFloatingIp);
  const isForAllPorts = settings.isForAllPorts && isInternal;
  const allPorts = `${prefix}load-balancer-enable-high-availability-ports`;
  if (isForAllPorts && !hasFloatingIp)
    refusals.push(unsupported(`${allPorts}: "true", expected false without floating IP, as for ${family}`));
  const isUnseen = isInternalSix && isGuarded && isRestricted(settings);
  if (isUnseen) {
    const what = 'source ranges, service tags and deny-all';
    const message = `${what}: expected none for an internal address of IPv6: rules see the addresses of nodes`;
    refusals.push({ ...unsupported(message), ports: served.map(({ port, protocol }) => ({ port, protocol })) });
  }
  return { ports: served, refusals, isUnseen, hasFloatingIp, isForAllPorts: isForAllPorts && hasFloatingIp };
}

/** Rules of the security group are of the family of their address. */
function isOfSide({ kind, key, body }: Found, side: Side): boolean {
  return kind === kindNames.rule ? familyOf((body as RuleShare).ip) === side.family : key === side.key;
}

/** Their bodies name their documents. */
function asTheyStand(found: readonly Pick<Found, 'kind' | 'key' | 'body'>[]): readonly Want[] {
  return found.map(({ kind, key = '', body }) => ({ kind, key, leaveUnchanged: true, spec: body, summary: kind }));
}

/** Annotations that say nothing for what is served. */
function withoutEffect(
  { from }: Placement,
  address: PublicAddress | undefined,
  { sides, publicTags, ipTags, label, resourceGroup, probe, hasPath }: Settings,
  family: IpFamily,
): readonly string[] {
  const { publicPrefix } = sides[family];
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

function frontendOf(
  placement: Placement,
  standing: Balancer | undefined,
  key: SideKey,
): Omit<BalancerSpec['frontend'], 'name' | 'family'> {
  if (placement.from !== 'subnet') return { publicAddress: addressName(key) };
  const { subnet, ip } = placement;
  // It keeps the address that it got.
  const isIn = standing?.subnet === subnet.toLowerCase();
  return { subnet, privateAddress: ip ?? (isIn ? standing.privateAddress : undefined) };
}

function fieldsOf({ attach }: DesiredLoadBalancer): string[] {
  if (attach === undefined) return [];
  const expected = 'expected none: one load balancer serves all';
  return [`mooring.dev/load-balancer-id: ${JSON.stringify(attach.id)}, ${expected}`];
}

/** Those that are known by their providerID alone stay, and are not added; which they are is not known at first. */
function membersOf(
  { members }: DesiredLoadBalancer,
  family: IpFamily,
  standing: readonly string[],
  book: AddressBook,
): PoolSpec['members'] {
  const found = members.flatMap(({ node, providerID, addresses }) => {
    const known = standing.find((ip) => addresses.length === 0 && book.providerIDOf(ip) === providerID);
    const address = known ?? addresses.find((one) => familyOf(one) === family);
    return address === undefined ? [] : [{ node, address: canonical(address) }];
  });
  const isAnyUnknown = members.some(
    ({ providerID, addresses }) => addresses.length === 0 && !book.isAddressed(providerID),
  );
  const others = isAnyUnknown ? standing.filter((ip) => book.providerIDOf(ip) === undefined) : [];
  const left = others.filter((ip) => !found.some(({ address }) => address === ip));
  return [...found, ...left.map((address) => ({ node: '', address }))];
}

/** The VMs behind a pool, and the scale sets of the configured resource group that they are in. */
function interfacesOf(
  { members, areMembersKnown = true }: DesiredLoadBalancer,
  pool: Pick<InterfacePoolSpec, 'document' | 'name'>,
  family: IpFamily,
  { machines }: BalancerPlace,
  book: AddressBook,
): InterfacePoolSpec {
  if (!areMembersKnown) return { ...pool, vms: undefined, sets: [] };
  const present = new Set(book.vmsBehind(pool.document));
  const ids = members.flatMap(({ providerID, addresses }) => {
    const vm = readVmId(providerID.slice('azure://'.length));
    const isKnown = addresses.some((ip) => familyOf(ip) === family) || present.has(vm?.id.toLowerCase() ?? '');
    return vm !== undefined && isKnown && vm.subscription === machines.subscription ? [vm] : [];
  });
  const sets = ids.flatMap(({ id, scaleSet, resourceGroup }) => {
    const isWritten = machines.vmType !== 'standard' && resourceGroup === machines.resourceGroup;
    return scaleSet !== undefined && isWritten ? [id.toLowerCase().replace(/\/virtualmachines\/[^/]+$/, '')] : [];
  });
  return { ...pool, vms: ids.map(({ id }) => id.toLowerCase()).sort(), sets: [...new Set(sets)].sort() };
}

const isRestricted = ({ ranges, serviceTags, deniesOthers }: Settings) =>
  serviceTags.length > 0 || deniesOthers || (ranges.length > 0 && !isForEveryone(ranges));

/** As the classic controller writes rules: traffic from the virtual network is allowed by the cloud's own rules. */
function firewallOf(
  of: Pick<RuleSpec, 'document' | 'family'>,
  isInternal: boolean,
  { ranges, serviceTags, deniesOthers }: Settings,
  served: readonly DesiredPort[],
): readonly RuleSpec[] {
  const isForAll = ranges.length === 0 ? !isInternal : isForEveryone(ranges);
  const all = [...serviceTags, ...(serviceTags.length === 0 && isForAll ? ['Internet'] : [])];
  const own = ranges.filter((range) => familyOf(range) === of.family);
  const sources = [...all.map((tag) => [tag]), ...(own.length === 0 ? [] : [aggregated(own)])];
  const rules = (['TCP', 'UDP'] as const).flatMap((protocol) => {
    const ports = served.filter((one) => one.protocol === protocol).map(({ port }) => port);
    const wire = protocol === 'TCP' ? 'Tcp' : 'Udp';
    return ports.length === 0 ? [] : sources.map((some) => allowRule(of, wire, some, ports));
  });
  return deniesOthers ? [...rules, denyRule(of)] : rules;
}
