import { CloudError } from '../../../../common/cloud-error.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { findGroup, type NetworkFacts } from '../security-groups/network-facts.ts';
import { isLeft } from './left.ts';
import type { LoadBalancer, Pieces, TargetGroup } from './observed.ts';

/** @throws CloudError `Conflict` where it is not there any more */
export function loadBalancerFor({ own, hosts }: Pieces, on: string | undefined): LoadBalancer {
  const one = on === undefined ? own : [own, ...hosts].find((each) => each?.arn === on);
  if (one) return one;
  throw new CloudError({ ...about('load balancer'), kind: 'Conflict', message: `${on ?? 'it'} is not there any more` });
}

/** @throws CloudError `Conflict` where it is not there any more */
export function groupOf({ groups }: Pieces, name: string): TargetGroup {
  // A plan made before the cluster's id was known has another hash at the end.
  const group = groups.find((one) => one.name === name);
  if (group) return group;
  throw new CloudError({ ...about('target group'), kind: 'Conflict', message: `${name} is not there any more` });
}

/** @param ref its id, or the name that an earlier step gave it */
export function securityGroupId(network: NetworkFacts, ref: string): string {
  const group = findGroup(network, ref);
  if (group) return group.id;
  if (ref.startsWith('sg-')) return ref;
  throw new CloudError({ ...about('security group'), kind: 'Conflict', message: `${ref} is not there any more` });
}

export function withGroup(pieces: Pieces, group: TargetGroup): Pieces {
  const others = pieces.groups.filter(({ arn }) => arn !== group.arn);
  return { ...pieces, groups: [...others, group] };
}

export function withLoadBalancer(pieces: Pieces, one: LoadBalancer): Pieces {
  if (pieces.own?.arn === one.arn) return { ...pieces, own: one };
  return { ...pieces, hosts: pieces.hosts.map((host) => (host.arn === one.arn ? one : host)) };
}

/** One that nobody asks for and that has nothing of ours is none of our business. */
export function dropUnusedHosts(pieces: Pieces): Pieces {
  const { subject, hosts, groups } = pieces;
  const after = groups.map((group) => ({
    ...group,
    loadBalancers: group.loadBalancers.filter((arn) =>
      [pieces.own, ...hosts].some(
        (one) => one?.arn === arn && one.listeners.some((listener) => listener.group === group.arn),
      ),
    ),
  }));
  const used = new Set(after.flatMap(({ loadBalancers }) => loadBalancers));
  const stays = (host: LoadBalancer) =>
    host.arn === subject?.attachTo || used.has(host.arn) || (subject && isLeft(host, subject.owner.cluster));
  return { ...pieces, groups: after, hosts: hosts.filter(stays) };
}

export function without(tags: Tags, gone: readonly string[]): Tags {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !gone.includes(key)));
}

function about(operation: string) {
  return { cloud: 'aws', operation };
}
