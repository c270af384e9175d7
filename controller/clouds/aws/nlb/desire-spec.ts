import type { Refusal } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { keys } from '../load-balancer-annotations.ts';
import { foundOf, ownOf } from '../standing.ts';
import { addressChange, lostSubnets, type NetworkSpec } from './balancer-spec.ts';
import type { Context } from './desire-context.ts';
import type { Firewall } from './desire-firewall.ts';
import type { DesiredListener } from './desired-listeners.ts';
import { isNetwork, type Listener } from './network-load-balancer.ts';
import { networkKinds } from './resources.ts';

/** As asked for, but for another address without consent, or where nothing certain comes in its place. */
export function specOf(context: Context, firewall: Firewall): NetworkSpec {
  const { input, settings, standing, listeners, refusals } = context;
  const { service, name, families, mayChangeAddress } = input.desired;
  const { balancer } = standing;
  const { scheme, unclear, subnets, eips, privateAddresses, crossZone, accessLog, tags } = settings;
  const attributes: Record<string, string> = {};
  if (!unclear.has(keys.crossZone)) attributes['load_balancing.cross_zone.enabled'] = String(crossZone);
  if (!unclear.has(keys.accessLogEnabled)) {
    attributes['access_logs.s3.enabled'] = String(accessLog !== undefined);
    if (accessLog) attributes['access_logs.s3.bucket'] = accessLog.bucket;
    if (accessLog) attributes['access_logs.s3.prefix'] = accessLog.prefix;
  }
  const spec: NetworkSpec = {
    name,
    service,
    tags,
    attributes,
    groups: firewall.groups,
    scheme: unclear.has(keys.scheme) || unclear.has(keys.internal) ? undefined : scheme,
    addressType: families.includes('IPv6') ? 'dualstack' : 'ipv4',
    place: unclear.has(keys.subnets) ? undefined : { subnets, eips, privateAddresses },
  };
  if (balancer === undefined) return spec;
  const other = addressChange(balancer, spec);
  const lost = spec.place === undefined ? [] : lostSubnets(balancer, spec.place);
  const inTheWay = other === undefined ? undefined : guestsRefusal(input);
  const isCertain =
    settings.refusals.length === 0 && listeners.length > 0 && firewall.refusals.length === 0 && inTheWay === undefined;
  if ((other === undefined && lost.length === 0) || (mayChangeAddress && isCertain)) return spec;
  if (!mayChangeAddress && balancer.state !== 'failed') {
    const why = other ?? `its addresses in ${lost.join(', ')} would go, see ${keys.subnets}`;
    refusals.push({ reason: 'AddressWouldChange', message: `load balancer ${name} (${balancer.arn}): ${why}` });
  } else if (inTheWay !== undefined) refusals.push(inTheWay);
  return { ...spec, scheme: undefined, place: undefined };
}

/** Why its own load balancer cannot be replaced: others have listeners on it. Until they have gone, it serves. */
export function guestsRefusal(input: DesireInput): Refusal | undefined {
  const own = ownOf<unknown>(input, networkKinds.balancer).find(({ body }) => isNetwork(body));
  if (own === undefined) return undefined;
  const mine = new Set(ownOf(input, networkKinds.listener).map(({ id }) => id));
  const guests = foundOf<Listener>(input, networkKinds.listener).filter(
    ({ id, within }) => within === own.id && !mine.has(id),
  );
  if (guests.length === 0) return undefined;
  const listeners = guests.map(({ body: { protocol, port } }) => `${protocol} ${port}`).join(', ');
  return { reason: 'Conflict', message: `load balancer ${own.id} stays: listeners ${listeners} belong to others` };
}

export function summaryOf(
  { name, service, scheme = 'internet-facing' }: NetworkSpec,
  listeners: readonly DesiredListener[],
): string {
  const ports = listeners.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
  return `${scheme} network load balancer ${name} for ${service}: ${ports}`;
}
