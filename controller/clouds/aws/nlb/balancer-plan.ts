import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';
import { isClassicControllers, type Tags } from '../load-balancer-tags.ts';
import { plannedCall } from '../security-groups/security-group-call.ts';
import { partNameForm } from './names.ts';
import { type LoadBalancer, ownListeners, type Pieces } from './observed.ts';
import type { Wanted } from './plan.ts';
import type { NlbSettings } from './settings.ts';
import { type NlbStep, type PlaceWish, securityGroupStep, stepOf } from './step.ts';

/** Why what is wanted has another address than this load balancer; undefined when it has not. */
export function addressChange({ settings, desired }: Wanted, own: LoadBalancer): string | undefined {
  if (settings.scheme !== own.scheme && !settings.unclear.has(keys.scheme))
    return `from ${own.scheme} to ${settings.scheme}, see ${keys.internal}`;
  const lost = lostSubnets(settings, own);
  if (lost.length > 0 && !desired.mayChangeAddress)
    return `its addresses in ${lost.join(', ')} would go, see ${keys.subnets}`;
  // It may not show them yet.
  if (own.state === 'provisioning') return undefined;
  const eips = own.places.flatMap(({ eip }) => eip ?? []);
  if (settings.eips.length > 0 && !isSameSet(settings.eips, eips))
    return `from ${eips.join(', ') || 'addresses of AWS'} to ${settings.eips.join(', ')}, see ${keys.eipAllocations}`;
  const held = own.places.flatMap(({ privateAddress }) => privateAddress ?? []);
  const wish = settings.privateAddresses;
  if (wish.length > 0 && held.length > 0 && !isSameSet(wish, held))
    return `from ${held.join(', ')} to ${wish.join(', ')}, see ${keys.privateAddresses}`;
  return undefined;
}

function lostSubnets({ subnets, unclear }: NlbSettings, own: LoadBalancer): string[] {
  if (subnets.length === 0 || unclear.has(keys.subnets) || !subnets.every((id) => id.startsWith('subnet-'))) return [];
  return own.places.map(({ subnet }) => subnet).filter((subnet) => !subnets.includes(subnet));
}

/** Subnets join those that it stands in; one that leaves takes an address with it. By name, they are looked up when it is made and not again. */
export function planSubnets({ settings, subject, desired }: Wanted, own: LoadBalancer): NlbStep[] {
  const { subnets, unclear } = settings;
  if (subnets.length === 0 || unclear.has(keys.subnets) || !subnets.every((id) => id.startsWith('subnet-'))) return [];
  const there = own.places.map(({ subnet }) => subnet);
  if (isSameSet(subnets, there) || (lostSubnets(settings, own).length > 0 && !desired.mayChangeAddress)) return [];
  const summary = `subnets of ${own.name} from ${there.join(', ')} to ${subnets.join(', ')}`;
  return [stepOf(subject, own.arn, summary, { does: 'set subnets', place: placeOf(settings) })];
}

export function planAttributes({ settings, subject }: Wanted, own: LoadBalancer | undefined): NlbStep[] {
  const { crossZone, accessLog, unclear } = settings;
  const wanted: Record<string, string> = {};
  if (!unclear.has(keys.crossZone)) wanted['load_balancing.cross_zone.enabled'] = String(crossZone);
  if (!unclear.has(keys.accessLogEnabled)) {
    wanted['access_logs.s3.enabled'] = String(accessLog !== undefined);
    if (accessLog) {
      wanted['access_logs.s3.bucket'] = accessLog.bucket;
      wanted['access_logs.s3.prefix'] = accessLog.prefix;
    }
  }
  const there = own?.attributes ?? {};
  const attributes = Object.fromEntries(
    Object.entries(wanted).filter(
      ([key, value]) => (there[key] ?? (key.endsWith('.enabled') ? 'false' : '')) !== value,
    ),
  );
  const names = Object.entries(attributes).map(([key, value]) => `${key}=${value}`);
  if (names.length === 0) return [];
  const target = own?.arn ?? subject.name;
  return [
    stepOf(subject, target, `attributes of ${subject.name}: ${names.join(', ')}`, {
      does: 'set attributes',
      attributes,
    }),
  ];
}

/** As many as one call of AddTags takes. */
const arnsPerCall = 20;

export function planTags(
  { tags, subject }: Pick<Wanted, 'tags' | 'subject'>,
  pieces: Pieces,
  own: LoadBalancer,
): NlbStep[] {
  const { groups, network, cluster } = pieces;
  const lacks = (there: Tags) => Object.entries(tags).some(([key, value]) => there[key] !== value);
  const steps: NlbStep[] = [];
  for (const id of own.securityGroups) {
    const group = network.groups.get(id);
    if (!group || !partNameForm.test(group.name) || !isClassicControllers(group.tags, subject.service, cluster))
      continue;
    steps.push(securityGroupStep(subject, plannedCall({ does: 'tag security group', group: id, tags }, group.name)));
  }
  const listeners = ownListeners(own, pieces, subject.owner);
  // Itself last: until then its parts are found by the marks of the one who made it.
  const arns = [...groups, ...listeners, own].filter((one) => lacks(one.tags)).map(({ arn }) => arn);
  for (let at = 0; at < arns.length; at += arnsPerCall) {
    const some = arns.slice(at, at + arnsPerCall);
    const summary = `tag ${own.name}${some.length > 1 ? ` and parts of it (${some.length} in all)` : ''} as of ${subject.service}`;
    steps.push(stepOf(subject, own.arn, summary, { does: 'add tags', arns: some, tags }));
  }
  return steps;
}

export function placeOf({ subnets, eips, privateAddresses }: NlbSettings): PlaceWish {
  return { subnets, eips, privateAddresses };
}

export function addressTypeOf({ families }: DesiredLoadBalancer): 'ipv4' | 'dualstack' {
  return families.includes('IPv6') ? 'dualstack' : 'ipv4';
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item) => other.includes(item));
}
