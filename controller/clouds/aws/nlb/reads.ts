import { DescribeInstancesCommand } from '@aws-sdk/client-ec2';
import {
  DescribeListenersCommand,
  DescribeLoadBalancerAttributesCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  DescribeTargetGroupAttributesCommand,
  DescribeTargetGroupsCommand,
  DescribeTargetHealthCommand,
  type LoadBalancer as ElbLoadBalancer,
  type TargetGroup as ElbTargetGroup,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { LoadBalancerRef, Owner } from '../../load-balancers.ts';
import { ownerTags } from '../../load-balancers.ts';
import { chunks, inParallel } from '../../lookup-pass.ts';
import type { ClusterTags } from '../cluster-tags.ts';
import { tagMap } from '../cluster-tags.ts';
import { isClassicControllers, ownedBy, ownerIn, type Tags } from '../load-balancer-tags.ts';
import type { AwsParts } from '../parts.ts';
import type { UsersOfGroups } from '../security-groups/group-users.ts';
import type { NetworkFacts } from '../security-groups/network-facts.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import type { ReadOptions } from '../service-calls.ts';
import { listenerOf, loadBalancerOf, targetGroupOf, targetsOf } from './answers.ts';
import { createKept, type Kept } from './kept.ts';
import { partNameForm, targetGroupPrefix } from './names.ts';
import {
  assemble,
  type LoadBalancer,
  type NlbObserved,
  type Subject,
  type Target,
  type TargetGroup,
} from './observed.ts';

/** As many as one call of DescribeTags takes. */
const arnsPerCall = 20;
const pageSize = 400;
const callsAtOnce = 4;
/** As this controller and the classic one name what they make for Services. */
const nameForm = /^a[0-9a-f]{31}$/;

export interface NlbReads {
  observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<NlbObserved | undefined>;
  observeAll(
    cluster: string,
    signal?: AbortSignal,
    adoptable?: readonly LoadBalancerRef[],
  ): Promise<readonly NlbObserved[]>;
  /** One by its name; undefined = there is none. */
  named(name: string, options?: ReadOptions): Promise<LoadBalancer | undefined>;
  /** One target group by its name, complete; undefined = there is none. */
  groupNamed(name: string, options?: ReadOptions): Promise<TargetGroup | undefined>;
  /** The listeners of one load balancer, with their tags. */
  listeners(arn: string, options?: ReadOptions): Promise<LoadBalancer['listeners']>;
  /** What a look at everything need not ask for again. */
  readonly kept: Kept;
  /** The cluster as the tags know it, once it was found out. */
  cluster(): ClusterTags | undefined;
  awaitCluster(signal?: AbortSignal): Promise<ClusterTags>;
  /** One page of each kind, to prove that they may be read. */
  probe(options?: ReadOptions): Promise<void>;
}

export function createNlbReads(parts: AwsParts, network: NetworkReads, users: UsersOfGroups): NlbReads {
  const { region } = parts;
  const arnForm = new RegExp(
    `^arn:[\\w-]+:elasticloadbalancing:${region}:\\d{12}:loadbalancer/(net|app|gwy)/[\\w-]+/\\w+$`,
  );
  const kept = createKept(parts.context.clock, parts.context.random);
  let known: ClusterTags | undefined;

  async function awaitCluster(signal?: AbortSignal): Promise<ClusterTags> {
    known = await parts.cluster(signal);
    return known;
  }

  async function loadBalancers(
    wish: { readonly Names?: string[]; readonly LoadBalancerArns?: string[] },
    options: ReadOptions,
  ): Promise<ElbLoadBalancer[]> {
    const single = wish.Names !== undefined || wish.LoadBalancerArns !== undefined;
    return unlessGone([], () =>
      pages('DescribeLoadBalancers', async (Marker) => {
        const command = new DescribeLoadBalancersCommand({
          ...wish,
          ...(single ? {} : { PageSize: pageSize }),
          ...Marker,
        });
        const answer = await parts.elbv2().read('DescribeLoadBalancers', command, options);
        return { items: answer.LoadBalancers ?? [], next: answer.NextMarker };
      }),
    );
  }

  async function targetGroups(wish: { readonly Names?: string[] }, options: ReadOptions): Promise<ElbTargetGroup[]> {
    return unlessGone([], () =>
      pages('DescribeTargetGroups', async (Marker) => {
        const command = new DescribeTargetGroupsCommand({
          ...wish,
          ...(wish.Names ? {} : { PageSize: pageSize }),
          ...Marker,
        });
        const answer = await parts.elbv2().read('DescribeTargetGroups', command, options);
        return { items: answer.TargetGroups ?? [], next: answer.NextMarker };
      }),
    );
  }

  /** Tags by ARN; of what is gone by now, nothing. */
  async function tagsOf(arns: readonly string[], options: ReadOptions): Promise<Map<string, Tags>> {
    const found = new Map<string, Tags>();
    const ask = async (some: readonly string[]): Promise<void> => {
      try {
        const command = new DescribeTagsCommand({ ResourceArns: [...some] });
        const { TagDescriptions } = await parts.elbv2().read('DescribeTags', command, options);
        for (const { ResourceArn = '', Tags } of TagDescriptions ?? []) found.set(ResourceArn, tagMap(Tags));
        const missing = some.find((arn) => !found.has(arn));
        if (missing !== undefined) throw incomplete('DescribeTags', `nothing is said about ${missing}`);
      } catch (error) {
        if (!isGone(error)) throw error;
        // One that has gone spoils the answer for all; alone it says so itself.
        if (some.length > 1) await inParallel(callsAtOnce, some, (arn) => ask([arn]));
      }
    };
    await inParallel(callsAtOnce, chunks([...new Set(arns)], arnsPerCall), ask);
    return found;
  }

  async function listeners(arn: string, options: ReadOptions = {}): Promise<LoadBalancer['listeners']> {
    const answers = await pages('DescribeListeners', async (Marker) => {
      const command = new DescribeListenersCommand({ LoadBalancerArn: arn, ...Marker });
      const answer = await parts.elbv2().read('DescribeListeners', command, options);
      return { items: answer.Listeners ?? [], next: answer.NextMarker };
    });
    const tags = await tagsOf(
      answers.map(({ ListenerArn = '' }) => ListenerArn),
      options,
    );
    return answers.flatMap((answer) => {
      const its = tags.get(answer.ListenerArn ?? '');
      return its ? [listenerOf(answer, its)] : [];
    });
  }

  async function attributes(arn: string, options: ReadOptions): Promise<Tags> {
    const command = new DescribeLoadBalancerAttributesCommand({ LoadBalancerArn: arn });
    const answer = await parts.elbv2().read('DescribeLoadBalancerAttributes', command, options);
    return tagMap(answer.Attributes);
  }

  /** With its listeners and, if it is ours, its attributes; undefined when it goes meanwhile. */
  async function complete(
    one: LoadBalancer,
    wish: { readonly ours: boolean; readonly groups: readonly TargetGroup[]; readonly options: ReadOptions },
  ): Promise<LoadBalancer | undefined> {
    const { ours, groups, options } = wish;
    const known = ours && options.urgency === 'refresh' ? kept.balancer(one.arn, groups) : undefined;
    if (known) return { ...one, listeners: known.listeners, attributes: known.attributes };
    return unlessGone(undefined, async () => {
      const [its, said] = await Promise.all([
        one.type === 'network' ? listeners(one.arn, options) : [],
        ours ? attributes(one.arn, options) : {},
      ]);
      const whole = { ...one, listeners: its, attributes: said };
      if (ours) kept.keepBalancer(whole);
      return whole;
    });
  }

  async function completeGroup(group: TargetGroup, options: ReadOptions): Promise<TargetGroup | undefined> {
    const known = options.urgency === 'refresh' ? kept.group(group.arn) : undefined;
    if (known) return { ...group, targets: known.targets, attributes: known.attributes };
    return unlessGone(undefined, async () => {
      const TargetGroupArn = group.arn;
      const elbv2 = parts.elbv2();
      const [health, said] = await Promise.all([
        elbv2.read('DescribeTargetHealth', new DescribeTargetHealthCommand({ TargetGroupArn }), options),
        elbv2.read(
          'DescribeTargetGroupAttributes',
          new DescribeTargetGroupAttributesCommand({ TargetGroupArn }),
          options,
        ),
      ]);
      const targets = targetsOf(health.TargetHealthDescriptions).map((one): Target => ({ ...one, providerID: '' }));
      const whole = { ...group, targets, attributes: tagMap(said.Attributes) };
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
      instancesByAddress(ids('ip'), options),
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

  async function instancesByAddress(addresses: readonly string[], options: ReadOptions): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    if (addresses.length === 0) return found;
    const vpc = await network.vpc(options);
    const kinds = [
      ['private-ip-address', addresses.filter((one) => !one.includes(':'))],
      ['network-interface.ipv6-addresses.ipv6-address', addresses.filter((one) => one.includes(':'))],
    ] as const;
    const asked = kinds.flatMap(([Name, all]) => chunks(all, 200).map((Values) => ({ Name, Values: [...Values] })));
    await inParallel(callsAtOnce, asked, async (filter) => {
      const Filters = [{ Name: 'vpc-id', Values: [vpc] }, filter];
      const reservations = await pages('DescribeInstances', async (Marker) => {
        const NextToken = 'Marker' in Marker ? { NextToken: Marker.Marker } : {};
        const command = new DescribeInstancesCommand({ Filters, MaxResults: 1000, ...NextToken });
        const answer = await parts.ec2.read('DescribeInstances', command, options);
        return { items: answer.Reservations ?? [], next: answer.NextToken };
      });
      for (const { InstanceId, Placement, NetworkInterfaces } of reservations.flatMap((one) => one.Instances ?? [])) {
        for (const { PrivateIpAddresses, Ipv6Addresses } of NetworkInterfaces ?? []) {
          const its = [
            ...(PrivateIpAddresses ?? []).map(({ PrivateIpAddress }) => PrivateIpAddress),
            ...(Ipv6Addresses ?? []).map(({ Ipv6Address }) => Ipv6Address),
          ];
          for (const address of its)
            if (address !== undefined) found.set(address, `aws:///${Placement?.AvailabilityZone ?? ''}/${InstanceId}`);
        }
      }
    });
    return found;
  }

  interface Found {
    readonly all: readonly LoadBalancer[];
    readonly groups: readonly TargetGroup[];
    readonly cluster: ClusterTags;
    readonly options: ReadOptions;
    /** Security groups, where they have been read just now. */
    readonly early?: NetworkFacts;
  }

  /** Reads what is ours more deeply, and puts it together, for each of these. */
  async function deepen(
    refs: readonly { readonly subject: Subject; readonly adopt: LoadBalancerRef['adopt'] }[],
    { all, groups, cluster, options, early }: Found,
  ): Promise<readonly (NlbObserved | undefined)[]> {
    const plans = refs.map(({ subject, adopt }) => {
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
      const hosts = all.filter((one) => one !== own && (one.arn === attachTo || bound.has(one.arn)));
      const foreign = all.find((one) => one !== own && one.name === name && !hosts.includes(one));
      return { subject, own, hosts, foreign, ours, adopting };
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
        const whole = await completeGroup(group, options);
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
    return plans.map(({ subject, own, hosts, foreign, ours, adopting }) =>
      assemble({
        subject,
        own: own && completed.get(own.arn),
        hosts: hosts.flatMap(({ arn }) => completed.get(arn) ?? []),
        foreign,
        groups: ours.flatMap(({ arn }) => byArn.get(arn) ?? []),
        network: facts,
        subnets,
        adopted: adopting,
        cluster,
      }),
    );
  }

  return {
    kept,
    cluster: () => known,
    awaitCluster,
    listeners,

    async observe(ref, signal) {
      const options: ReadOptions = { signal };
      const { owner, name, service, id, attachTo } = ref;
      const arns = [...new Set([id, attachTo])].filter((arn) => arn !== undefined && arnForm.test(arn)) as string[];
      const [cluster, byArn, byName, listed] = await Promise.all([
        awaitCluster(signal),
        Promise.all(arns.map((arn) => loadBalancers({ LoadBalancerArns: [arn] }, options))),
        loadBalancers({ Names: [name] }, options),
        targetGroups({}, options),
      ]);
      const answers = new Map([...byArn.flat(), ...byName].map((answer) => [answer.LoadBalancerArn ?? '', answer]));
      const prefix = targetGroupPrefix(service);
      const candidates = listed.filter(({ TargetGroupName }) => TargetGroupName?.startsWith(prefix));
      const groupTags = await tagsOf(
        [...candidates.map(({ TargetGroupArn = '' }) => TargetGroupArn), ...answers.keys()],
        options,
      );
      const groups = candidates.flatMap((answer) => {
        const tags = groupTags.get(answer.TargetGroupArn ?? '');
        return tags ? [targetGroupOf(answer, tags)] : [];
      });
      // Ours on a load balancer that nobody names any more.
      const elsewhere = groups
        .filter(({ tags }) => ownedBy(tags, owner))
        .flatMap(({ loadBalancers: its }) => its)
        .filter((arn) => !answers.has(arn));
      const more = (
        await Promise.all([...new Set(elsewhere)].map((arn) => loadBalancers({ LoadBalancerArns: [arn] }, options)))
      ).flat();
      const moreTags = await tagsOf(
        more.map(({ LoadBalancerArn = '' }) => LoadBalancerArn),
        options,
      );
      for (const answer of more) answers.set(answer.LoadBalancerArn ?? '', answer);
      const all = [...answers].flatMap(([arn, answer]) => {
        const tags = groupTags.get(arn) ?? moreTags.get(arn);
        return tags ? [loadBalancerOf(answer, tags)] : [];
      });
      if (byName.length === 0) users.left(name);
      const subject: Subject = { owner, name, service, attachTo };
      const [observed] = await deepen([{ subject, adopt: ref.adopt }], { all, groups, cluster, options });
      return observed;
    },

    async observeAll(cluster, signal, adoptable = []) {
      const options: ReadOptions = { urgency: 'refresh', signal };
      const [clusterTags, balancers, listed] = await Promise.all([
        awaitCluster(signal),
        loadBalancers({}, options),
        targetGroups({}, options),
      ]);
      users.listed(
        'nlb',
        balancers.map(({ LoadBalancerName: name = '', SecurityGroups: groups = [] }) => ({ name, groups })),
      );
      const refs = new Map(adoptable.map((ref) => [ref.name, ref]));
      const candidates = balancers.filter(
        ({ Type, LoadBalancerName = '' }) =>
          Type === 'network' && (nameForm.test(LoadBalancerName) || refs.has(LoadBalancerName)),
      );
      const candidateGroups = listed.filter(({ TargetGroupName = '' }) => partNameForm.test(TargetGroupName));
      const tags = await tagsOf(
        [
          ...candidates.map(({ LoadBalancerArn = '' }) => LoadBalancerArn),
          ...candidateGroups.map(({ TargetGroupArn = '' }) => TargetGroupArn),
        ],
        options,
      );
      const groups = candidateGroups.flatMap((answer) => {
        const its = tags.get(answer.TargetGroupArn ?? '');
        return its ? [targetGroupOf(answer, its)] : [];
      });
      const bound = new Set(
        groups.filter((group) => ownerIn(group.tags, cluster)).flatMap(({ loadBalancers: arns }) => arns),
      );
      const others = balancers.filter(
        ({ LoadBalancerArn = '' }) => bound.has(LoadBalancerArn) && !tags.has(LoadBalancerArn),
      );
      const otherTags = await tagsOf(
        others.map(({ LoadBalancerArn = '' }) => LoadBalancerArn),
        options,
      );
      const all = [...candidates, ...others].flatMap((answer) => {
        const arn = answer.LoadBalancerArn ?? '';
        const its = tags.get(arn) ?? otherTags.get(arn);
        return its ? [loadBalancerOf(answer, its)] : [];
      });
      const owners = new Map<string, Owner>();
      const services = new Map<string, string>();
      const note = (its: Tags) => {
        const owner = ownerIn(its, cluster);
        if (!owner) return;
        owners.set(owner.service, owner);
        const service = its[ownerTags.serviceName];
        if (service !== undefined) services.set(owner.service, service);
      };
      for (const { tags: its } of [...all, ...groups]) note(its);
      const early = await network.facts([], options);
      for (const { name, tags: its } of early.groups.values()) if (partNameForm.test(name)) note(its);
      const subjects = [...owners.values()].map((owner) => {
        const adoptRef = adoptable.find((ref) => ref.owner.service === owner.service);
        const own = all.find(({ tags: its }) => ownedBy(its, owner));
        const name = adoptRef?.name ?? own?.name ?? defaultName(owner);
        const service = services.get(owner.service) ?? adoptRef?.service ?? '';
        return { subject: { owner, name, service, attachTo: undefined }, adopt: adoptRef?.adopt };
      });
      const adopted = adoptable
        .filter(({ owner, adopt }) => adopt !== undefined && !owners.has(owner.service))
        .map(({ owner, name, service, attachTo, adopt }) => ({ subject: { owner, name, service, attachTo }, adopt }));
      const observed = await deepen([...subjects, ...adopted], { all, groups, cluster: clusterTags, options, early });
      kept.retain(new Set([...balancers.map((one) => one.LoadBalancerArn ?? ''), ...groups.map(({ arn }) => arn)]));
      const retained = all
        .filter(({ tags: its }) => its[ownerTags.cluster] === cluster && its[ownerTags.service] === undefined)
        .map((one) =>
          assemble({
            ...{ subject: undefined, own: undefined, hosts: [], foreign: one, groups: [] },
            ...{ network: early, subnets: [], adopted: false, cluster: clusterTags },
          }),
        );
      return [...observed, ...retained].filter(
        (one) => one !== undefined && (one.owner !== undefined || one.retained),
      ) as NlbObserved[];
    },

    async named(name, options = {}) {
      const [answer] = await loadBalancers({ Names: [name] }, options);
      if (!answer) return undefined;
      const tags = await tagsOf([answer.LoadBalancerArn ?? ''], options);
      const its = tags.get(answer.LoadBalancerArn ?? '');
      return its && complete(loadBalancerOf(answer, its), { ours: true, groups: [], options });
    },

    async groupNamed(name, options = {}) {
      const [answer] = await targetGroups({ Names: [name] }, options);
      if (!answer) return undefined;
      const its = (await tagsOf([answer.TargetGroupArn ?? ''], options)).get(answer.TargetGroupArn ?? '');
      const whole = its && (await completeGroup(targetGroupOf(answer, its), options));
      return whole && (await withProviderIds([whole], options))[0];
    },

    async probe(options = {}) {
      const elbv2 = parts.elbv2();
      await elbv2.read('DescribeLoadBalancers', new DescribeLoadBalancersCommand({ PageSize: 1 }), options);
      await elbv2.read('DescribeTargetGroups', new DescribeTargetGroupsCommand({ PageSize: 1 }), options);
    },
  };
}

function defaultName({ service }: Owner): string {
  return `a${service.replaceAll('-', '')}`.slice(0, 32);
}

/** Of a providerID that was put together here. */
function idIn(providerID: string): string {
  return providerID.slice(providerID.lastIndexOf('/') + 1);
}

function isGone(error: unknown): boolean {
  return isCloudError(error) && error.kind === 'NotFound';
}

async function unlessGone<Answer>(otherwise: Answer, run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    if (isGone(error)) return otherwise;
    throw error;
  }
}

async function pages<Item>(
  operation: string,
  page: (marker: {
    readonly Marker?: string;
  }) => Promise<{ readonly items: readonly Item[]; readonly next: string | undefined }>,
): Promise<Item[]> {
  const items: Item[] = [];
  const markers = new Set<string>();
  for (let marker: string | undefined; ; ) {
    const answer = await page(marker === undefined ? {} : { Marker: marker });
    items.push(...answer.items);
    marker = answer.next || undefined;
    if (marker === undefined) return items;
    if (markers.has(marker)) throw incomplete(operation, 'the pages go in a circle');
    markers.add(marker);
  }
}

function incomplete(operation: string, message: string): CloudError {
  return new CloudError({ kind: 'Unavailable', cloud: 'aws', operation, message });
}
