import { nameOf, type Want } from '../../../engine/resource.ts';
import { accessTo, whyNotOwn } from '../../access.ts';
import { ownerTags } from '../../load-balancers.ts';
import { slotOf } from '../load-balancer-view.ts';
import { foundOf } from '../standing.ts';
import { isSameSet, type NetworkSpec } from './balancer-spec.ts';
import { type Context, movedTo, ownName, serves } from './desire-context.ts';
import { firewallOf, hostWants, keepAll, partsOn } from './desire-parts.ts';
import { specOf, summaryOf } from './desire-spec.ts';
import type { NetworkLoadBalancer } from './network-load-balancer.ts';
import { networkKinds } from './resources.ts';

export function ownWants(given: Context, hosts: readonly NetworkLoadBalancer[]): readonly Want[] {
  const context = movedTo(given, given.standing.balancer);
  const { input, settings, standing, listeners, refusals } = context;
  const { desired } = input;
  const { balancer } = standing;
  const [host] = hosts.filter((one) => serves(input, one));
  if (balancer === undefined && host !== undefined && !desired.mayChangeAddress) {
    const what = `load balancer ${host.name} (${host.arn}) serves ${desired.service}`;
    const message = `${what} and is not provably its own; one of its own has another address`;
    refusals.push({ reason: 'AddressWouldChange', message });
    const { may } = accessTo({ what: `load balancer ${host.arn}`, consent: host.tags[ownerTags.consent] }, desired);
    return hostWants(given, host, may === 'use');
  }
  if (balancer === undefined) {
    // Something else than what was meant is not made.
    if (settings.refusals.length > 0 || listeners.length === 0) return keepAll(input);
    const inTheWay = foundOf(input, networkKinds.balancer).find(
      (one) => one.slots?.includes(slotOf(desired.name)) && !input.own().includes(one),
    );
    if (inTheWay !== undefined) {
      const why = whyNotOwn(desired, inTheWay.retained);
      const message = `load balancer ${inTheWay.id} has the name ${desired.name}, and ${why}`;
      refusals.push({ reason: 'ForeignLoadBalancer', message });
      return keepAll(input);
    }
  }
  const firewall = firewallOf(context, balancer, false);
  refusals.push(...firewall.refusals);
  if (balancer === undefined && firewall.refusals.length > 0) return keepAll(input);
  const spec = specOf(context, firewall);
  const { groups = [] } = firewall;
  // The nodes admit the groups that it gets before it loses those that it has.
  const isMoving = balancer !== undefined && groups.length > 0 && !isSameSet(groups, balancer.securityGroups);
  const want: Want<NetworkSpec> = {
    kind: networkKinds.balancer,
    key: 'main',
    slot: slotOf(desired.name),
    spec,
    carriesAddress: balancer?.state !== 'failed',
    needs: firewall.wants.filter(({ kind }) => isMoving || kind !== networkKinds.rule).map(nameOf),
    summary: summaryOf(spec, listeners),
  };
  const isRead = foundOf(input, networkKinds.attributes).some(({ id }) => id === balancer?.arn);
  const attributes: Want = {
    kind: networkKinds.attributes,
    key: 'main',
    within: ownName,
    spec: spec.attributes,
    summary: `attributes of ${desired.name}`,
  };
  return [
    ...firewall.wants,
    want,
    ...(balancer === undefined || isRead ? [attributes] : []),
    ...partsOn(context, ownName, balancer, listeners),
  ];
}
