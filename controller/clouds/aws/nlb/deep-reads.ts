import type { LoadBalancerRef } from '../../load-balancers.ts';
import { inParallel } from '../../parallel.ts';
import type { ClusterTags } from '../cluster-tags.ts';
import { isClassicControllers, ownedBy, type Tags } from '../load-balancer-tags.ts';
import type { UsersOfGroups } from '../security-groups/group-users.ts';
import type { NetworkFacts } from '../security-groups/network-facts.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import type { ReadOptions } from '../service-calls.ts';
import type { Kept } from './kept.ts';
import { isLeft, leftTag } from './left.ts';
import {
  assemble,
  type LoadBalancer,
  type NlbObserved,
  type Subject,
  type Target,
  type TargetGroup,
} from './observed.ts';
import { callsAtOnce, type NlbQueries, unlessGone } from './queries.ts';

/** What lists show. */
export interface Found {
  readonly all: readonly LoadBalancer[];
  readonly groups: readonly TargetGroup[];
  readonly cluster: ClusterTags;
  readonly options: ReadOptions;
  /** Security groups, where they have been read just now. */
  readonly early?: NetworkFacts;
}

export interface WantedSubject {
  readonly subject: Subject;
  readonly adopt: LoadBalancerRef['adopt'];
  /** ARNs of load balancers that were asked for. */
  readonly asked?: readonly string[];
  /** ARNs of those that it has ended a moment ago. */
  readonly ended?: readonly string[] | undefined;
}

/** Reads that go below what lists show. */
export interface DeepReads {
  /** What is ours of each of these, put together. */
  deepen(wanted: readonly WantedSubject[], found: Found): Promise<readonly (NlbObserved | undefined)[]>;
  /** With its listeners and, if it is ours, its attributes; undefined when it goes meanwhile. */
  complete(
    one: LoadBalancer,
    wish: { readonly ours: boolean; readonly groups: readonly TargetGroup[]; readonly options: ReadOptions },
  ): Promise<LoadBalancer | undefined>;
  /** With its targets and attributes; undefined when it goes meanwhile. */
  completeGroup(group: TargetGroup, options: ReadOptions): Promise<TargetGroup | undefined>;
}

export interface DeepReadParts {
  readonly queries: NlbQueries;
  readonly network: NetworkReads;
  readonly users: UsersOfGroups;
  readonly kept: Kept;
}

export function createDeepReads({ queries, network, users, kept }: DeepReadParts): DeepReads {
  async function unlessProvedGone<Answer>(
    arn: string,
    options: ReadOptions,
    run: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const answer = await unlessGone(undefined, run);
    if (answer === undefined) await queries.proveGone(arn, options);
    return answer;
  }

  async function complete(
    one: LoadBalancer,
    wish: { readonly ours: boolean; readonly groups: readonly TargetGroup[]; readonly options: ReadOptions },
  ): Promise<LoadBalancer | undefined> {
    const { ours, groups, options } = wish;
    const urgency = options.urgency ?? 'need';
    // Whether its guests are still there decides whether it goes.
    const mayKeep = ours && (urgency === 'refresh' || one.tags[leftTag] === undefined);
    const known = mayKeep ? kept.balancer(one.arn, groups, urgency) : undefined;
    if (known) return { ...one, listeners: known.listeners, attributes: known.attributes };
    return unlessProvedGone(one.arn, options, async () => {
      const [its, said] = await Promise.all([
        one.type === 'network' ? queries.listeners(one.arn, options) : [],
        ours ? queries.attributes(one.arn, options) : {},
      ]);
      const whole = { ...one, listeners: its, attributes: said };
      if (ours) kept.keepBalancer(whole);
      return whole;
    });
  }

  /** @param unprobed nobody looks whether its targets serve: all that there is to know of them is who they are */
  async function stateOf(
    group: TargetGroup,
    options: ReadOptions,
    unprobed: boolean,
  ): Promise<TargetGroup | undefined> {
    const known = kept.group(group.arn, options.urgency ?? 'need', unprobed);
    return unlessProvedGone(group.arn, options, async () => {
      const [targets, attributes] = await Promise.all([
        known.targets ?? queries.targets(group.arn, options),
        known.attributes ?? queries.groupAttributes(group.arn, options),
      ]);
      const whole = { ...group, targets, attributes };
      if (targets.length === 0) kept.keepGroup(whole);
      return whole;
    });
  }

  /** Says whose each target is. */
  async function withProviderIds(groups: readonly TargetGroup[], options: ReadOptions): Promise<TargetGroup[]> {
    const isNew = ({ targets }: TargetGroup) => targets.some(({ providerID }) => providerID === '');
    const ids = (type: string) => [
      ...new Set(
        groups
          .filter((group) => group.targetType === type && isNew(group))
          .flatMap(({ targets }) => targets.map(({ id }) => id)),
      ),
    ];
    const [byAddress, seen] = await Promise.all([
      queries.instancesByAddress(ids('ip'), options),
      network.instances(ids('instance'), options),
    ]);
    const providerID = (id: string, type: string) => {
      if (type === 'ip') return byAddress.get(id) ?? `aws:////${id}`;
      return `aws:///${seen.get(id)?.zone ?? ''}/${id}`;
    };
    const lists = new Map<string, readonly Target[]>();
    return groups.map((group) => {
      if (!isNew(group)) return group;
      const targets = group.targets.map((target) => ({
        ...target,
        providerID: providerID(target.id, group.targetType),
      }));
      // Many target groups have the same targets; held once, they take little.
      const key = targets.map(({ id, healthy }) => `${id} ${healthy}`).join();
      const shared = lists.get(key) ?? targets;
      lists.set(key, shared);
      const named = { ...group, targets: shared };
      kept.keepGroup(named);
      return named;
    });
  }

  /** Reads what is ours more deeply, and puts it together, for each of these. */
  async function deepen(
    refs: readonly WantedSubject[],
    { all, groups, cluster, options, early }: Found,
  ): Promise<readonly (NlbObserved | undefined)[]> {
    const plans = refs.map(({ subject, adopt, asked = [], ended: before = [] }) => {
      const { owner, name, service, attachTo } = subject;
      const isAdopted = ({ tags }: { readonly tags: Tags }) =>
        adopt !== undefined && isClassicControllers(tags, service, cluster);
      const tagged = all.filter(({ tags }) => ownedBy(tags, owner));
      const adoptedOne = all.find(
        (one) => one.name === name && isAdopted(one) && adopt?.addresses.includes(one.hostname),
      );
      const own = tagged.find((one) => one.name === name) ?? tagged[0] ?? adoptedOne;
      const adopting = own !== undefined && own === adoptedOne && tagged.length === 0;
      const ours = groups.filter(
        (group) =>
          ownedBy(group.tags, owner) ||
          (own !== undefined && isAdopted(group) && group.loadBalancers.includes(own.arn)),
      );
      const bound = new Set(ours.flatMap(({ loadBalancers: arns }) => arns));
      const isGuests = (one: LoadBalancer) =>
        one.arn === attachTo || bound.has(one.arn) || (asked.includes(one.arn) && isLeft(one, owner.cluster));
      const hosts = all.filter((one) => one !== own && isGuests(one));
      const ended = [...asked, ...before].filter((arn) => !all.some((one) => one.arn === arn));
      const foreign = all.find((one) => one !== own && one.name === name && !hosts.includes(one));
      return { subject, own, hosts, foreign, ours, ended, adopting };
    });
    const completed = new Map<string, LoadBalancer | undefined>();
    const wanted = new Map<string, { readonly one: LoadBalancer; readonly ours: boolean }>(
      plans.flatMap(({ own, hosts }) => [
        ...(own ? [[own.arn, { one: own, ours: true }] as const] : []),
        ...hosts.map((one) => [one.arn, { one, ours: false }] as const),
      ]),
    );
    const completedGroups = new Map<string, TargetGroup>();
    const wantedGroups = [...new Set(plans.flatMap(({ ours }) => ours))];
    await Promise.all([
      inParallel(callsAtOnce, [...wanted.values()], async ({ one, ours }) => {
        completed.set(one.arn, await complete(one, { ours, groups, options }));
      }),
      inParallel(callsAtOnce, wantedGroups, async (group) => {
        const whole = await stateOf(group, options, isUnprobed(group, all));
        if (whole) completedGroups.set(group.arn, whole);
      }),
    ]);
    const named = await withProviderIds([...completedGroups.values()], options);
    const byArn = new Map(named.map((group) => [group.arn, group]));
    const instances = named.flatMap(({ targets }) => targets.map(({ providerID }) => idIn(providerID)));
    const ids = [...new Set(instances)].filter((id) => id.startsWith('i-'));
    const facts = {
      ...(early ? { ...early, instances: await network.instances(ids, options) } : await network.facts(ids, options)),
      users: users.known(),
    };
    const groupless = [...completed.values()].some((one) => one && one.securityGroups.length === 0);
    const subnets = groupless ? await network.subnets(options) : [];
    return plans.map(({ subject, own, hosts, foreign, ours, ended, adopting }) =>
      assemble({
        subject,
        own: own && completed.get(own.arn),
        hosts: hosts.flatMap(({ arn }) => completed.get(arn) ?? []),
        foreign,
        groups: ours.flatMap(({ arn }) => byArn.get(arn) ?? []),
        ended,
        network: facts,
        subnets,
        adopted: adopting,
        cluster,
      }),
    );
  }

  return {
    deepen,
    complete,
    async completeGroup(group, options) {
      const whole = await stateOf(group, options, false);
      return whole && (await withProviderIds([whole], options))[0];
    },
  };
}

/** AWS probes no targets until a load balancer that forwards to them is up. */
function isUnprobed({ loadBalancers }: TargetGroup, all: readonly LoadBalancer[]): boolean {
  return loadBalancers.every((arn) => all.some((one) => one.arn === arn && one.state === 'provisioning'));
}

/** Of a providerID that was put together here. */
function idIn(providerID: string): string {
  return providerID.slice(providerID.lastIndexOf('/') + 1);
}
