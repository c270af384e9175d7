import { aws } from '../../../common/provider-id/aws.ts';
import { everyService, type Found, type Query, type Reader, type ReadIo } from '../../engine/resource.ts';
import type { ClassicLoadBalancer } from './classic/classic-load-balancer.ts';
import { type ClassicQueries, carrierOf as classicCarrier } from './classic/queries.ts';
import { classicKinds, isClassic, showBalancer } from './classic/resources.ts';
import { ownerIn } from './load-balancer-tags.ts';
import { type LoadBalancerView, slotOf } from './load-balancer-view.ts';
import { carrierOf as networkCarrier } from './nlb/balancer-kinds.ts';
import type { NetworkLoadBalancer, Target, TargetGroup } from './nlb/network-load-balancer.ts';
import { type NlbQueries, unlessGone } from './nlb/queries.ts';
import { networkKinds, showDetail, showListener, showNetworkBalancer, showTargetGroup } from './nlb/resources.ts';
import { findNetwork, listNetwork } from './nlb/search.ts';
import type { AwsParts } from './parts.ts';
import { type BalancerType, type Carriers, typeOfId } from './security-groups/carriers.ts';
import type { NetworkReads } from './security-groups/network-reads.ts';
import type { ReadOptions } from './service-calls.ts';

/** Each costs calls of its own, and only a person changes them behind us. */
const attributesMaxAgeMs = 3_600_000;
/** Targets are read again with each audit, unless there are so many that one call a second would not be enough. */
const msPerTargetGroup = 1000;

export interface LoadBalancerReaderParts {
  readonly parts: Pick<AwsParts, 'cluster' | 'region'>;
  readonly reads: NetworkReads;
  readonly carriers: Carriers;
  readonly view: LoadBalancerView;
  readonly classic: ClassicQueries;
  readonly network: NlbQueries;
  /** Of an instance. */
  providerIdOf(id: string): string;
  readonly toRead: ToRead;
}

/** What reads must search for, because Services named it since the last complete read. */
export interface ToRead {
  /** ARNs of load balancers that others made. */
  readonly hosts: Set<string>;
  /** Types of load balancers, by UID of the Service. */
  readonly types: Map<string, Set<BalancerType>>;
}

const groupKinds = [classicKinds.front, classicKinds.traffic, classicKinds.rule, classicKinds.others];

/** Load balancers of both types with the security groups of the VPC, since each shows whose the other is. */
export function createLoadBalancerReader(given: LoadBalancerReaderParts): Reader {
  const { parts, reads, carriers, view, classic, network } = given;
  const arnForm = new RegExp(
    `^arn:[\\w-]+:elasticloadbalancing:${parts.region}:\\d{12}:loadbalancer/(net|app|gwy)/[\\w-]+/\\w+$`,
  );
  /** As listed last. */
  let groups: readonly TargetGroup[] = [];
  let lists = new Map<string, readonly Target[]>();
  /** What was read of a load balancer beside a list. */
  const inside = new WeakMap<Found, readonly Found[]>();

  async function setMarks(cluster: string, signal: AbortSignal | undefined): Promise<void> {
    view.setMarks({ cluster, tags: await parts.cluster(signal) });
  }

  /** Ours, or of the classic controller of this cluster. */
  const mayBeOurs = ({ tags }: Pick<NetworkLoadBalancer, 'tags'>) =>
    ownerIn(tags, view.cluster) !== undefined || view.marks?.tags.owns(tags) === true;

  /** What planning has to know of members, and of subnets, from where those of others probe members, too. */
  async function readAround(
    classics: readonly ClassicLoadBalancer[],
    networks: readonly NetworkLoadBalancer[],
    withSubnets: boolean,
    options: ReadOptions,
  ): Promise<void> {
    const own = classics.filter(mayBeOurs);
    const isNeeded = withSubnets && (own.length > 0 || networks.length > 0);
    const ids = new Set(own.flatMap(({ instances }) => instances));
    const vpc = isNeeded ? await reads.vpc(options) : undefined;
    const known = new Map(reads.lastSubnets()?.map(({ id, ipv6Cidrs }) => [id, ipv6Cidrs.length]));
    const isKnown = networks.every(({ vpcId, addressType, places }) => {
      const fewest = addressType === 'dualstack' ? 1 : 0;
      return vpcId !== vpc || places.every(({ subnet }) => (known.get(subnet) ?? -1) >= fewest);
    });
    // A plan for a classic load balancer chooses among all subnets, so they are read now. One for a network load
    // balancer needs the IPv6 ranges of its own subnets alone.
    const maxAgeMs = own.length === 0 && isKnown ? attributesMaxAgeMs : undefined;
    await Promise.all([reads.instances([...ids], options), isNeeded ? reads.subnets(options, maxAgeMs) : undefined]);
  }

  function noteGroups(next: readonly TargetGroup[], isComplete: boolean): void {
    const arns = new Set(next.map(({ arn }) => arn));
    groups = isComplete ? next : [...groups.filter(({ arn }) => !arns.has(arn)), ...next];
    view.noteTargetGroups(next, isComplete);
  }

  /**
   * Those that are not ours have no details of their own, but parts of ours.
   *
   * @param used ARNs of target groups, by that of the load balancer that they are on
   * @param guests ARNs of those that are to be deleted and that target groups of others forward to
   */
  async function showAll(
    balancers: readonly NetworkLoadBalancer[],
    used: ReadonlyMap<string, readonly string[]>,
    guests: ReadonlySet<string>,
    removing: boolean,
    io: ReadIo,
  ): Promise<Found[]> {
    const shown = balancers.map((one) => showNetworkBalancer(one, view, used.get(one.arn)));
    await Promise.all(
      shown.map(async (found) => {
        // A listener of others keeps it from being deleted; its attributes do not matter then.
        if (guests.has(found.id) || (found.owner === undefined && !found.adoptable))
          inside.set(found, await insideOf(found, io, !removing));
      }),
    );
    return shown.flatMap((found) => [found, ...(inside.get(found) ?? [])]);
  }

  async function insideOf(
    found: Found<NetworkLoadBalancer>,
    { signal }: ReadIo,
    withAttributes = true,
  ): Promise<readonly Found[]> {
    const { arn, name, type } = found.body;
    const isOwn = withAttributes && (found.owner !== undefined || mayBeOurs(found.body));
    const read = await unlessProvedGone(arn, { signal }, async () => {
      const [listeners, attributes] = await Promise.all([
        type === 'network' ? network.listeners(arn, { signal }) : [],
        isOwn ? network.attributes(arn, { signal }) : undefined,
      ]);
      view.forwards.read(arn, listeners);
      return [
        ...listeners.map((one) => showListener(one, found.body, view)),
        ...(attributes === undefined ? [] : [showDetail(networkKinds.attributes, arn, { name, attributes })]),
      ];
    });
    return read ?? [];
  }

  async function targetsIn({ body }: Found<TargetGroup>, { signal }: ReadIo): Promise<readonly Found[]> {
    const { arn, name, targetType } = body;
    const seen = await unlessProvedGone(arn, { signal }, () => network.targets(arn, { signal }));
    if (seen === undefined) return [];
    const ids = seen.map(({ id }) => id);
    const isIp = targetType === 'ip';
    const byAddress = isIp ? await network.instancesByAddress(ids, { signal }) : undefined;
    // The nodes' security groups tell what lets the load balancer in.
    const instances = byAddress && [...byAddress.values()].flatMap((one) => aws.parse(one)?.instanceId ?? []);
    await reads.instances(instances ?? ids, { signal });
    const providerID = (id: string) => (isIp ? (byAddress?.get(id) ?? `aws:////${id}`) : given.providerIdOf(id));
    const targets = seen.map((one) => ({ ...one, providerID: providerID(one.id) }));
    // Many target groups have the same targets; held once, they take little.
    const key = targets.map(({ id, healthy }) => `${id} ${healthy}`).join();
    const shared = lists.get(key) ?? targets;
    lists.set(key, shared);
    return [showDetail(networkKinds.targets, arn, { name, targets: shared })];
  }

  async function groupAttributesOf({ body }: Found<TargetGroup>, { signal }: ReadIo): Promise<readonly Found[]> {
    const { arn, name } = body;
    const attributes = await unlessProvedGone(arn, { signal }, () => network.groupAttributes(arn, { signal }));
    return attributes === undefined ? [] : [showDetail(networkKinds.groupAttributes, arn, { name, attributes })];
  }

  async function unlessProvedGone<Answer>(
    arn: string,
    options: ReadOptions,
    run: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const answer = await unlessGone(undefined, run);
    if (answer === undefined) await network.proveGone(arn, options);
    return answer;
  }

  return {
    kinds: [classicKinds.balancer, networkKinds.targetGroup, ...groupKinds],
    async all(cluster, io) {
      const options: ReadOptions = { urgency: 'refresh', signal: io.signal };
      const beganAtMs = carriers.nowMs();
      await setMarks(cluster, io.signal);
      const [classics, listed] = await Promise.all([
        classic.list(options),
        listNetwork(network, { cluster, hosts: given.toRead.hosts }, options),
        reads.groups(options),
      ]);
      await readAround(classics, listed.all, true, options);
      carriers.listed([...classics.map(classicCarrier), ...listed.others], beganAtMs);
      noteGroups(listed.groups, true);
      lists = new Map();
      given.toRead.types.clear();
      return [
        ...classics.map((one) => showBalancer(one, view)),
        ...(await showAll(listed.all, listed.used, new Set(), false, io)),
        ...listed.groups.map((one) => showTargetGroup(one, view)),
        ...view.showGroups(),
      ];
    },
    async of({ owner, ids, slots, removing }, io) {
      const options: ReadOptions = { signal: io.signal };
      const beganAtMs = carriers.nowMs();
      await setMarks(owner.cluster, io.signal);
      const asked = slots.flatMap((slot) => (slot.startsWith(slotOf('')) ? slot.slice(slotOf('').length) : []));
      const own = [view.nameOf(owner.service)];
      const names = owner.service === everyService ? [] : [...new Set(asked.length > 0 ? asked : own)];
      const arns = ids.flatMap(({ kind, id }) => (kind === networkKinds.balancer && arnForm.test(id) ? [id] : []));
      const types = typesOf(owner.service, ids);
      const [read, networks] = await Promise.all([
        types.has('classic') ? Promise.all(names.map((name) => classic.get(name, options))) : [],
        types.has('network')
          ? findNetwork(network, () => groups, { owner, ids, slots }, arns, names, options)
          : { all: [], groups: [], used: new Map(), shared: new Set<string>() },
        reads.groups(options),
      ]);
      const classics = read.flatMap((one) => one ?? []);
      await readAround(classics, networks.all, !removing, options);
      const shown = [...classics.map(classicCarrier), ...networks.all.map(networkCarrier)];
      carriers.seen({ names, types }, shown, beganAtMs);
      noteGroups(networks.groups, false);
      return {
        found: [
          ...classics.map((one) => showBalancer(one, view)),
          ...(await showAll(networks.all, networks.used, removing ? networks.shared : new Set(), removing, io)),
          ...networks.groups.map((one) =>
            showTargetGroup(
              one,
              view,
              networks.all.some(({ arn }) => one.loadBalancers.includes(arn)),
            ),
          ),
          ...view.showGroups(),
        ],
        complete: groupKinds,
      };
    },
    detail: [
      {
        kind: classicKinds.balancer,
        parts: [classicKinds.attributes, networkKinds.attributes, networkKinds.listener],
        maxAgeMs: attributesMaxAgeMs,
        async read(container, io) {
          if (isClassic(container.body)) return classic.attributesOf(container as Found<ClassicLoadBalancer>, io);
          return inside.get(container) ?? insideOf(container as Found<NetworkLoadBalancer>, io);
        },
      },
      {
        kind: networkKinds.targetGroup,
        parts: [networkKinds.targets],
        get maxAgeMs() {
          return Math.min(attributesMaxAgeMs, groups.length * msPerTargetGroup);
        },
        read: (container, io) => targetsIn(container as Found<TargetGroup>, io),
      },
      {
        kind: networkKinds.targetGroup,
        parts: [networkKinds.groupAttributes],
        maxAgeMs: attributesMaxAgeMs,
        read: (container, io) => groupAttributesOf(container as Found<TargetGroup>, io),
      },
    ],
  };

  /** Of load balancers that a Service may have: both, unless what it has or has asked for tells. */
  function typesOf(service: string, ids: Query['ids']): ReadonlySet<BalancerType> {
    const types = new Set<BalancerType>(given.toRead.types.get(service));
    for (const { kind, id } of ids) {
      if (kind === networkKinds.targetGroup) types.add('network');
      else if (kind === classicKinds.balancer || typeOfId(id) === 'network') types.add(typeOfId(id));
    }
    if (types.size > 0 || service === everyService) return types;
    return new Set(['classic', 'network'] as const);
  }
}
