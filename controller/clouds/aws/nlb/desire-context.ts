import { aws } from '../../../../common/provider-id/aws.ts';
import type { Found, Refusal, ResourceName, Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { type DesireParts, foundOf, ownOf, type Standing } from '../standing.ts';
import type { DesiredListener } from './desired-listeners.ts';
import { targetGroupName } from './names.ts';
import {
  isNetwork,
  type Listener,
  type NetworkLoadBalancer,
  type TargetGroup,
  type TargetList,
} from './network-load-balancer.ts';
import { networkKinds } from './resources.ts';
import type { NlbSettings } from './settings.ts';

export const ownName: ResourceName = `${networkKinds.balancer}/main`;
export const hostName: ResourceName = `${networkKinds.balancer}/host`;

/** Everything that is needed to tell what serves one Service. */
export interface Context {
  readonly input: DesireInput;
  readonly settings: NlbSettings;
  readonly standing: Standing<NetworkLoadBalancer>;
  readonly listeners: readonly DesiredListener[];
  readonly parts: DesireParts;
  readonly refusals: Refusal[];
}

/** Network load balancers of others: those with listeners of this Service first. */
export function hostsOf(input: DesireInput): readonly NetworkLoadBalancer[] {
  const own = new Set(ownOf(input, networkKinds.balancer).map(({ id }) => id));
  const others = foundOf<unknown>(input, networkKinds.balancer).flatMap(({ body }) =>
    isNetwork(body) && !own.has(body.arn) ? [body] : [],
  );
  return [...others.filter((one) => serves(input, one)), ...others.filter((one) => !serves(input, one))];
}

export function serves(input: DesireInput, { arn }: NetworkLoadBalancer): boolean {
  return ownOf(input, networkKinds.listener).some(({ within }) => within === arn);
}

export function ownListeners(input: DesireInput, { arn }: NetworkLoadBalancer): readonly Found<Listener>[] {
  return ownOf<Listener>(input, networkKinds.listener).filter(({ within }) => within === arn);
}

/** Ids of instances that serve the Service on any port. */
export function targetInstances(input: DesireInput): readonly string[] {
  const targets = ownOf<TargetList>(input, networkKinds.targets).flatMap(({ body }) => body.targets);
  return [...new Set(targets.flatMap(({ providerID }) => aws.parse(providerID)?.instanceId ?? []))];
}

/** A target group serves one load balancer: a Service that moves from another one has a second one here. */
export function movedTo(context: Context, on: NetworkLoadBalancer | undefined): Context {
  const { input, parts } = context;
  const groups = new Map(ownOf<TargetGroup>(input, networkKinds.targetGroup).map(({ id, body }) => [id, body.name]));
  const here = new Set<string>();
  const elsewhere = new Set<string>();
  for (const { within, body } of ownOf<Listener>(input, networkKinds.listener))
    (within === on?.arn ? here : elsewhere).add(groups.get(body.group ?? '') ?? '');
  const clusterId = `${parts.view.marks?.tags.id ?? ''} moved`;
  const listeners = context.listeners.map((one): DesiredListener => {
    const name = targetGroupName(clusterId, input.desired.service, one.group);
    const isSecond = here.has(name) || elsewhere.has(one.group.name);
    return isSecond ? { ...one, group: { ...one.group, name } } : one;
  });
  return { ...context, listeners };
}

export function useOf({ arn: id, name }: NetworkLoadBalancer): Want {
  const use = { id, allowed: true };
  return { kind: networkKinds.balancer, key: 'host', use, spec: undefined, summary: `load balancer ${name}` };
}
