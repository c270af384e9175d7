import type { LoadBalancerRef, ObservedMember, Owner } from '../../load-balancers.ts';
import { ownerTags } from '../../load-balancers.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import type { FloatingIp, LoadBalancer, NodePort, Pool, SecurityGroup } from './answer.ts';
import { type List, listings } from './listings.ts';
import type { Memory } from './memory.ts';
import { classicName, markIn, serviceIn } from './names.ts';
import type { NetworkFacts } from './network-facts.ts';
import { assemble, carriesPieces, givenUp, type OctaviaObserved, ourPools, type Subject } from './observed.ts';
import { isOurGroup } from './plan-security-group.ts';
import { type PoolReads, withMonitors } from './pool-reads.ts';
import { ownedBy, ownerIn, tag, tagValue } from './tags.ts';

export interface ReadAllParts {
  readonly list: List;
  readonly pools: PoolReads;
  readonly memory: Memory;
  readonly config: LoadBalancerConfig;
  network(): Promise<NetworkFacts>;
  knowMinor(signal?: AbortSignal): Promise<unknown>;
}

/** Everything of a cluster in four lists, with those of monitors and groups where there may be any that are not known, and the members of pools that have changed. */
export function readAll({ list, pools: inside, memory, config, network, knowMinor }: ReadAllParts) {
  async function readInside(pools: readonly Pool[], ours: ReadonlySet<string>, signal?: AbortSignal): Promise<Pool[]> {
    const [filled, monitors] = await Promise.all([
      inside.withMembers(pools, ours, false, signal),
      list(listings.monitors, [], signal, 'refresh'),
    ]);
    return withMonitors(filled, monitors);
  }

  return async function observeAll(
    cluster: string,
    signal?: AbortSignal,
    adoptable: readonly LoadBalancerRef[] = [],
  ): Promise<readonly OctaviaObserved[]> {
    const stamp = memory.stamp();
    const mayHaveGroups = config.manageSecurityGroups || adoptable.length > 0 || memory.mayHaveGroups();
    const [bare, listeners, pools, floating, groups, facts] = await Promise.all([
      list(listings.loadBalancers, [], signal, 'refresh'),
      list(listings.listeners, [], signal, 'refresh'),
      list(listings.pools, [], signal, 'refresh'),
      list(listings.floatingIps, [], signal, 'refresh'),
      mayHaveGroups ? list(listings.groups, [], signal, 'refresh') : [],
      network(),
      knowMinor(signal),
    ]);
    const listenersOf = Map.groupBy(listeners, ({ loadBalancerId }) => loadBalancerId);
    const poolsOf = Map.groupBy(pools, ({ loadBalancerId }) => loadBalancerId);
    const loadBalancers = bare.map((one): LoadBalancer => {
      const pieces = { listeners: listenersOf.get(one.id) ?? [], pools: poolsOf.get(one.id) ?? [] };
      return { ...memory.timed(one), ...pieces };
    });
    const shares = sharesOf({ cluster, loadBalancers, floating, groups, adoptable });
    const ours = new Set<string>();
    for (const { subject, balancers } of shares) {
      for (const one of balancers) {
        const isOwn = !carriesPieces(one, subject) || ownedBy(one.tags, subject.owner);
        for (const { id } of ourPools(one, subject, isOwn)) ours.add(id);
      }
    }
    const needsPorts =
      config.manageSecurityGroups || groups.some((one) => markIn(one.description)?.cluster === cluster);
    const ports = needsPorts ? await list(listings.ports, [], signal, 'refresh') : undefined;
    const filled = inside.asKnown(pools, ours) ?? (await readInside(pools, ours, signal));
    inside.keepInside(filled);
    inside.keep(ours);
    const complete = await inside.withProviderIds(filled, ports, signal);
    const completeOf = Map.groupBy(complete, ({ loadBalancerId }) => loadBalancerId);
    const { noFailover } = memory;
    const common = { ports: ofServers(ports), network: facts, noFailover, full: [], named: undefined, assumed: false };
    const shared = memberLists();
    const observed: OctaviaObserved[] = [];
    for (const { subject, balancers, floatingIps, group } of shares) {
      const vips = new Set(balancers.map(({ vipPortId }) => vipPortId));
      const found = {
        ...common,
        group,
        restMs: memory.restOf(subject.owner),
        loadBalancers: balancers.map((each) => ({ ...each, pools: completeOf.get(each.id) ?? [] })),
        floatingIps: [
          ...new Set([...floatingIps, ...floating.filter(({ portId }) => portId !== undefined && vips.has(portId))]),
        ],
      };
      const one = assemble(subject, found, config);
      if (one?.owner === undefined) continue;
      const same = { ...one, members: shared(one.members) };
      observed.push(same);
      memory.remember(subject, same, false);
    }
    memory.looked('everybody', stamp);
    if (mayHaveGroups) {
      const marks = groups.map(({ description }) => markIn(description));
      memory.sawGroups(marks.flatMap((mark) => (mark?.cluster === cluster ? (mark.service ?? []) : [])));
    }
    const keptOnes = loadBalancers.filter(({ tags }) => isKept(tags, cluster));
    const vips = new Set(loadBalancers.map(({ vipPortId }) => vipPortId));
    const keptAlone = floating.filter(
      ({ description, portId }) => isRetained(description, cluster) && (portId === undefined || !vips.has(portId)),
    );
    const kept = [...keptOnes, ...keptAlone].map((one) =>
      givenUp(one, cluster, { ...common, restMs: 0, floatingIps: [], group: undefined }),
    );
    return [...observed, ...kept];
  };
}

export function subjectOf({ owner, service, name, attachTo, address, adopt, id }: LoadBalancerRef): Subject {
  return { owner, service, name, attachTo, address, adopt, id };
}

export function ofServers(ports: readonly NodePort[] | undefined): readonly NodePort[] {
  return (ports ?? []).filter(({ serverId }) => serverId !== '');
}

/** Whether the description of a floating IP says that it was kept when its Service went. */
function isRetained(description: string, cluster: string): boolean {
  const mark = markIn(description);
  return mark?.cluster === cluster && mark.service === undefined && mark.keptFor !== undefined;
}

function isKept(tags: readonly string[], cluster: string): boolean {
  const isOurs = tags.includes(tag(ownerTags.cluster, cluster)) && !ownerIn(tags, cluster);
  return isOurs && tagValue(tags, ownerTags.retained) !== undefined;
}

/** What may be of one Service. */
interface Share {
  readonly subject: Subject;
  readonly balancers: LoadBalancer[];
  /** By their mark. */
  readonly floatingIps: FloatingIp[];
  group: SecurityGroup | undefined;
}

interface Listed {
  readonly cluster: string;
  readonly loadBalancers: readonly LoadBalancer[];
  readonly floating: readonly FloatingIp[];
  readonly groups: readonly SecurityGroup[];
  readonly adoptable: readonly LoadBalancerRef[];
}

/** Everybody of this cluster who has anything, and who may take over what the classic controller made. */
function sharesOf({ cluster, loadBalancers, floating, groups, adoptable }: Listed): Share[] {
  const shares = new Map<string, Share>();
  const add = (subject: Subject): Share => {
    const share = shares.get(subject.owner.service) ?? { subject, balancers: [], floatingIps: [], group: undefined };
    shares.set(subject.owner.service, share);
    return share;
  };
  const shareOf = (owner: Owner, service: string) =>
    add({ owner, service, name: '', attachTo: undefined, address: undefined, adopt: undefined, id: undefined });
  const byName = Map.groupBy(loadBalancers, ({ name }) => name);
  for (const ref of adoptable) {
    const share = add(subjectOf(ref));
    const names = ref.adopt
      ? [ref.name, classicName({ service: ref.service, clusterName: ref.adopt.clusterName })]
      : [];
    share.balancers.push(...names.flatMap((name) => byName.get(name) ?? []));
    share.group = groups.find((one) => isOurGroup(one, share.subject));
  }
  for (const one of loadBalancers) {
    const service = tagValue(one.tags, ownerTags.serviceName) ?? '';
    const owner = ownerIn(one.tags, cluster);
    const mine = owner && shareOf(owner, service);
    const others = [...one.listeners, ...one.pools].flatMap(({ tags }) => ownerIn(tags, cluster) ?? []);
    for (const share of new Set([...(mine ? [mine] : []), ...others.map((each) => shareOf(each, ''))])) {
      if (!share.balancers.includes(one)) share.balancers.push(one);
    }
  }
  for (const one of floating) {
    const mark = markIn(one.description);
    if (mark?.cluster !== cluster || !mark.service) continue;
    shareOf({ cluster, service: mark.service }, serviceIn(one.description) ?? '').floatingIps.push(one);
  }
  for (const one of groups) {
    const mark = markIn(one.description);
    if (mark?.cluster !== cluster || !mark.service) continue;
    shareOf({ cluster, service: mark.service }, serviceIn(one.description) ?? '').group = one;
  }
  return [...shares.values()];
}

/** The same array for equal lists. */
function memberLists(): (members: readonly ObservedMember[]) => readonly ObservedMember[] {
  const known = new Map<string, readonly ObservedMember[]>();
  return (members) => {
    const key = members.map(({ providerID, draining, healthy }) => `${providerID} ${draining} ${healthy}`).join('\n');
    const found = known.get(key);
    if (found) return found;
    known.set(key, members);
    return members;
  };
}
