import type { Found, Want } from '../../../engine/resource.ts';
import type { DesiredLoadBalancer, IpFamily } from '../../load-balancers.ts';
import type { AddressSpec } from './address.ts';
import { type RuleSpec, type Scheme, subnetOf } from './forwarding-rule.ts';
import { ipOf, isPool, kindNames } from './found.ts';
import { describe, familyOf } from './names.ts';
import type { Address, BackendService, ForwardingRule, Shown, TargetPool } from './project.ts';
import type { Settings } from './settings.ts';

/** What has the address of one family. */
export interface Front {
  readonly rule: Found<Shown<ForwardingRule>> | undefined;
  /** Holds the address while the rule is replaced. */
  readonly held: Found<Shown<Address>> | undefined;
}

/** The resources of one Service. */
export interface Standing {
  readonly fronts: Readonly<Record<IpFamily, Front>>;
  readonly backend: Found<Shown<BackendService & TargetPool>> | undefined;
  readonly all: readonly Found[];
}

export function standingOf(all: readonly Found[]): Standing {
  const standing = all.filter(({ status }) => status !== 'deleting') as readonly Found<Shown>[];
  const of = (kind: string, family: IpFamily) =>
    standing.find((one) => one.kind === kind && familyOf(one.body.name) === family) as never;
  const front = (family: IpFamily): Front => ({
    rule: of(kindNames.rule, family),
    held: of(kindNames.address, family),
  });
  return { fronts: { IPv4: front('IPv4'), IPv6: front('IPv6') }, backend: of(kindNames.backend, 'IPv4'), all };
}

/** Where its address is. */
function placeOf({ rule, held }: Front) {
  const wire = rule?.body.wire ?? held?.body.wire ?? {};
  const scheme = rule?.body.wire.loadBalancingScheme ?? held?.body.wire.addressType;
  return { scheme: scheme as Scheme | undefined, tier: wire.networkTier, subnet: subnetOf(wire) };
}

/** What decides about the address, as the forwarding rules that stand have it. */
export function currentSettings(settings: Settings, { fronts, backend }: Standing): Settings {
  const places = [placeOf(fronts.IPv4), placeOf(fronts.IPv6)];
  const isInternal = places.some(({ scheme }) => scheme === 'INTERNAL');
  const hasService = backend === undefined ? isInternal : !isPool(backend.body);
  const globalAccess = isInternal && settings.globalAccess;
  const subnet = places.find((place) => place.subnet !== undefined)?.subnet;
  return { ...settings, isInternal, hasService, globalAccess, tier: undefined, subnet, addresses: [] };
}

/** The address that the Service has, unless it asks for one elsewhere. */
export function keptIp(front: Front, spec: Omit<RuleSpec, 'ip'>, asked: string | undefined): string | undefined {
  const { body } = front.rule ?? front.held ?? {};
  const ip = body && ipOf(body);
  if (asked !== undefined && asked !== ip) return undefined;
  const { scheme, tier, subnet } = placeOf(front);
  const isSame = (found: unknown, desired: unknown) => found == null || desired === undefined || found === desired;
  return scheme === spec.scheme && isSame(tier, spec.tier) && isSame(subnet, spec.subnet) ? ip : undefined;
}

export function holdOf(
  { owner, service }: DesiredLoadBalancer,
  { name, scheme }: Omit<RuleSpec, 'ip'>,
  ip: string,
  { body }: Found<Shown<ForwardingRule>>,
): Want<AddressSpec> {
  const path = body.path.replace('/forwardingRules/', '/addresses/');
  const { networkTier, subnetwork } = body.wire;
  const place = { tier: networkTier ?? null, subnet: subnetwork ?? null };
  const spec: AddressSpec = { name, description: describe(owner, service), ip, scheme, ...place };
  return { kind: kindNames.address, key: path, slot: path, spec, summary: `address ${ip}` };
}
