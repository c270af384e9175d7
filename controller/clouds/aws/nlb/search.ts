import type { TargetGroup as ElbTargetGroup } from '@aws-sdk/client-elastic-load-balancing-v2';
import type { Query } from '../../../engine/resource.ts';
import { ownerTags } from '../../load-balancers.ts';
import { ownerIn } from '../load-balancer-tags.ts';
import type { ReadOptions } from '../service-calls.ts';
import { loadBalancerOf, targetGroupOf } from './answers.ts';
import { carrierOf as networkCarrier } from './balancer-kinds.ts';
import { partNameForm } from './names.ts';
import type { TargetGroup } from './network-load-balancer.ts';
import type { NlbQueries } from './queries.ts';
import { networkKinds, targetGroupSlot } from './resources.ts';

/** As this controller and the classic one name load balancers of Services. */
const nameForm = /^a[0-9a-z]{1,31}$/;

/** Network load balancers, and target groups, with the tags of those whose names may be of a Service. */
export async function listNetwork(
  network: NlbQueries,
  { cluster, hosts: asked }: { readonly cluster: string; readonly hosts: ReadonlySet<string> },
  options: ReadOptions,
) {
  const [balancers, listed] = await Promise.all([
    network.loadBalancers({}, options),
    network.targetGroups({}, options),
  ]);
  const named = balancers.filter(
    ({ Type, LoadBalancerName = '', LoadBalancerArn = '' }) =>
      asked.has(LoadBalancerArn) || (Type === 'network' && nameForm.test(LoadBalancerName)),
  );
  const namedGroups = listed.filter(({ TargetGroupName = '' }) => partNameForm.test(TargetGroupName));
  const arns = [
    ...named.map(({ LoadBalancerArn = '' }) => LoadBalancerArn),
    ...namedGroups.map(({ TargetGroupArn = '' }) => TargetGroupArn),
  ];
  const tags = new Map(await network.tagsOf(arns, options));
  const shown = namedGroups.flatMap((answer) => {
    const its = tags.get(answer.TargetGroupArn ?? '');
    return its ? [targetGroupOf(answer, its)] : [];
  });
  // Others have made them, and Services of this cluster have parts on them.
  const bound = new Set(
    shown.flatMap((group) => (ownerIn(group.tags, cluster) === undefined ? [] : group.loadBalancers)),
  );
  const hosts = balancers.filter(
    ({ LoadBalancerArn = '' }) => bound.has(LoadBalancerArn) && !tags.has(LoadBalancerArn),
  );
  for (const [arn, its] of await network.tagsOf(
    hosts.map(({ LoadBalancerArn = '' }) => LoadBalancerArn),
    options,
  ))
    tags.set(arn, its);
  const all = [...named, ...hosts].flatMap((answer) => {
    const its = tags.get(answer.LoadBalancerArn ?? '');
    return its ? [loadBalancerOf(answer, its)] : [];
  });
  const known = new Map(all.map((one) => [one.arn, networkCarrier(one)]));
  const others = balancers.map(
    ({ LoadBalancerName: name = '', LoadBalancerArn: id = '', DNSName = '', SecurityGroups }) => ({
      name,
      id,
      hostname: DNSName,
      groups: SecurityGroups ?? [],
      tags: undefined,
      ...known.get(id),
    }),
  );
  return { all, groups: shown, used: usedBy(listed), others };
}

/** ARNs of the target groups of each load balancer, those of persons too. */
function usedBy(listed: readonly ElbTargetGroup[]): ReadonlyMap<string, readonly string[]> {
  const used = new Map<string, string[]>();
  for (const { TargetGroupArn = '', LoadBalancerArns = [] } of listed)
    for (const arn of LoadBalancerArns) used.set(arn, [...(used.get(arn) ?? []), TargetGroupArn]);
  return used;
}

/**
 * By the ids that are known and by name; target groups of this Service, and of those that may be its own. `shared`:
 * ARNs of load balancers that other target groups forward to.
 */
export async function findNetwork(
  network: NlbQueries,
  /** All target groups, as listed last. */
  lastListed: () => readonly TargetGroup[],
  { owner, ids, slots }: Pick<Query, 'owner' | 'ids' | 'slots'>,
  arns: readonly string[],
  names: readonly string[],
  options: ReadOptions,
) {
  const [byArn, listed] = await Promise.all([
    Promise.all(arns.map((arn) => network.loadBalancers({ LoadBalancerArns: [arn] }, options))),
    network.targetGroups({}, options),
  ]);
  const answers = new Map(byArn.flat().map((answer) => [answer.LoadBalancerArn ?? '', answer]));
  // A name is given once.
  const missing = names.filter((name) => ![...answers.values()].some((one) => one.LoadBalancerName === name));
  for (const name of missing)
    for (const answer of await network.loadBalancers({ Names: [name] }, options))
      answers.set(answer.LoadBalancerArn ?? '', answer);
  const desired = new Set(ids.flatMap(({ kind, id }) => (kind === networkKinds.targetGroup ? [id] : [])));
  const listedBefore = new Map(lastListed().map(({ arn, tags }) => [arn, ownerIn(tags, owner.cluster)]));
  /** What was made since the last list, and what may be its own: regions hold thousands of such names. */
  const mayBeIts = (arn: string, on: readonly string[]) => {
    const its = listedBefore.get(arn);
    if (its !== undefined) return its.service === owner.service;
    return !listedBefore.has(arn) || on.some((one) => answers.has(one));
  };
  const candidates = listed.filter(
    ({ TargetGroupName = '', TargetGroupArn = '', LoadBalancerArns = [] }) =>
      desired.has(TargetGroupArn) ||
      slots.includes(targetGroupSlot(TargetGroupName)) ||
      (partNameForm.test(TargetGroupName) && mayBeIts(TargetGroupArn, LoadBalancerArns)),
  );
  const tags = new Map(
    await network.tagsOf([...candidates.map(({ TargetGroupArn = '' }) => TargetGroupArn), ...answers.keys()], options),
  );
  const shown = candidates.flatMap((answer) => {
    const its = tags.get(answer.TargetGroupArn ?? '');
    return its ? [targetGroupOf(answer, its)] : [];
  });
  // Its own on a load balancer that was not asked for.
  const elsewhere = shown
    .filter((group) => group.tags[ownerTags.service] === owner.service)
    .flatMap(({ loadBalancers }) => loadBalancers)
    .filter((arn) => !answers.has(arn));
  for (const arn of new Set(elsewhere))
    for (const answer of await network.loadBalancers({ LoadBalancerArns: [arn] }, options)) answers.set(arn, answer);
  const more = [...answers.keys()].filter((arn) => !tags.has(arn));
  for (const [arn, its] of await network.tagsOf(more, options)) tags.set(arn, its);
  const all = [...answers].flatMap(([arn, answer]) => {
    const its = tags.get(arn);
    return its ? [loadBalancerOf(answer, its)] : [];
  });
  const own = new Set(
    shown.flatMap(({ arn, tags: its }) => (ownerIn(its, owner.cluster)?.service === owner.service ? [arn] : [])),
  );
  const ofOthers = listed.filter(({ TargetGroupArn = '' }) => !own.has(TargetGroupArn));
  return {
    all,
    groups: shown,
    used: usedBy(listed),
    shared: new Set(ofOthers.flatMap(({ LoadBalancerArns = [] }) => LoadBalancerArns)),
  };
}
