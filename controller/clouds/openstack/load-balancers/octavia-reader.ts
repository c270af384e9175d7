import type { Clock } from '../../../../common/process/clock.ts';
import {
  type Found,
  identityOf,
  isOwnedBy,
  type Owner,
  type Query,
  type Reader,
  type ReadIo,
} from '../../../engine/resource.ts';
import { inParallel } from '../../parallel.ts';
import type { OpenStackClient } from '../client.ts';
import { minorOf } from './features.ts';
import type { Listener, LoadBalancer, Member, Pool } from './octavia-answer.ts';
import type { OctaviaCalls } from './octavia-calls.ts';
import { foundAll, octaviaKinds, originOf } from './resources.ts';
import { isMarked, ownerTagsOf } from './tags.ts';

export interface OctaviaReaderParts {
  readonly client: OpenStackClient;
  readonly calls: OctaviaCalls;
  readonly clock: Clock;
  /** The server that each of these addresses belongs to; none for an address that several have. */
  serversOf(addresses: readonly string[], io: ReadIo): Promise<ReadonlyMap<string, string>>;
  readonly providerIDOf: (serverId: string) => string;
}

export interface OctaviaReader extends Reader {
  /** Of the API; undefined before the first read, and where it is not told. */
  minor(): number | undefined;
  /** All members of a pool were just sent: they are not read for its next version. */
  sent(pool: string, members: readonly Member[]): void;
}

const callsAtOnce = 8;

/** Members as they were read at a version of their pool. */
interface Kept {
  /** Undefined: they were sent, and the pool was not read since. */
  readonly version: string | undefined;
  readonly members: readonly Member[];
  readonly untilMs: number;
}

/**
 * What a version is worth: another change in the same second has the same one, another hand may have changed the pool
 * right after us, and a replica may lag.
 */
const keptMs = { once: 3_600_000, again: 86_400_000 };

/** Load balancers, listeners, pools with their monitors and members: four lists, and the members of changed pools. */
export function createOctaviaReader(parts: OctaviaReaderParts): OctaviaReader {
  const { client, calls, clock } = parts;
  const kept = new Map<string, Kept>();
  let minor: number | undefined;
  const { loadBalancer, vipPort, listener, pool } = octaviaKinds;

  async function knowMinor({ signal }: ReadIo): Promise<void> {
    minor ??= minorOf(await client.versions('load-balancer', signal));
  }

  async function members(one: Pool, isFresh: boolean, io: ReadIo): Promise<readonly Member[]> {
    if (one.memberIds.length === 0) return [];
    const known = kept.get(one.id);
    const isSent = known !== undefined && known.version === undefined && one.status === 'ACTIVE';
    const ids = new Set(one.memberIds);
    const isWhole = (some: readonly Member[]) =>
      some.length === ids.size && some.every(({ id }) => id === '' || ids.has(id));
    const isCurrent = known !== undefined && (isSent || known.version === one.version) && isWhole(known.members);
    if (!isFresh && isCurrent && known.untilMs > clock.monotonic()) {
      if (isSent) kept.set(one.id, { ...known, version: one.version });
      return known.members;
    }
    const read = await calls.membersOf(one.id, io);
    const holdsMs = known?.version === one.version ? keptMs.again : keptMs.once;
    const untilMs = clock.monotonic() + holdsMs * (0.5 + 0.5 * shareOf(one.id));
    // Two answers that do not agree are not of one version.
    if (one.status === 'ACTIVE' && isWhole(read)) kept.set(one.id, { version: one.version, members: read, untilMs });
    return read;
  }

  /** What the classic controller made as a member says nothing of its server; Neutron knows whose the address is. */
  async function named(pools: readonly Pool[], io: ReadIo): Promise<Pool[]> {
    const nameless = pools.flatMap((one) => (one.members ?? []).filter(({ providerID }) => providerID === undefined));
    if (nameless.length === 0) return [...pools];
    const servers = await parts.serversOf([...new Set(nameless.map(({ address }) => address))], io);
    const withId = (member: Member): Member => {
      const server = member.providerID === undefined ? servers.get(member.address) : undefined;
      return server === undefined ? member : { ...member, providerID: parts.providerIDOf(server) };
    };
    return pools.map((one) => (one.members === undefined ? one : { ...one, members: one.members.map(withId) }));
  }

  /** With the contents of those that `isSelected` selects. */
  async function filled(
    pools: readonly Pool[],
    isSelected: (pool: Pool) => boolean,
    isFresh: boolean,
    monitors: (pools: readonly Pool[]) => Promise<readonly NonNullable<Pool['monitor']>[]>,
    io: ReadIo,
  ): Promise<Pool[]> {
    const checked = pools.filter((one) => isSelected(one) && one.monitorId !== undefined);
    const [some, read] = await Promise.all([
      inParallel(callsAtOnce, pools, async (one) =>
        isSelected(one) ? { ...one, members: await members(one, isFresh, io) } : one,
      ),
      checked.length > 0 ? monitors(checked) : [],
    ]);
    const byId = new Map(read.map((one) => [one.id, one]));
    return named(
      some.map((one) => ({ ...one, monitor: byId.get(one.monitorId ?? '') })),
      io,
    );
  }

  async function all(cluster: string, io: ReadIo): Promise<readonly Found[]> {
    const [balancers, listeners, pools] = await Promise.all([
      calls.list('loadbalancers', [], io, 'refresh'),
      calls.list('listeners', [], io, 'refresh'),
      calls.list('pools', [], io, 'refresh'),
      knowMinor(io),
    ]);
    const listenersOn = Map.groupBy(listeners, ({ loadBalancerId }) => loadBalancerId);
    const poolsOn = Map.groupBy(pools, ({ loadBalancerId }) => loadBalancerId);
    const whole = (one: LoadBalancer, some: readonly Pool[] = []) =>
      foundAll({ loadBalancer: one, listeners: listenersOn.get(one.id), pools: some }, cluster);
    // Those of the classic controller too, since a Service may have adopted any.
    const ours = new Set(
      balancers.flatMap((one) => {
        const isClassic = isMadeByClassic(one);
        return whole(one, poolsOn.get(one.id)).flatMap(({ kind, id, key, owner }) => {
          const isIts = isClassic && owner === undefined && key !== undefined;
          return kind === pool && (isIts || owner?.cluster === cluster) ? [id] : [];
        });
      }),
    );
    for (const id of kept.keys()) if (!ours.has(id)) kept.delete(id);
    const monitors = () => calls.list('healthmonitors', [], io, 'refresh');
    const complete = await filled(pools, ({ id }) => ours.has(id), false, monitors, io);
    const completeOn = Map.groupBy(complete, ({ loadBalancerId }) => loadBalancerId);
    return balancers.flatMap((one) => whole(one, completeOn.get(one.id)));
  }

  /** One that was found with the others by the owner's tags, or by itself. */
  async function monitorsOf(pools: readonly Pool[], owner: Owner, io: ReadIo) {
    const byTags = pools.length > 1 ? [['tags', ownerTagsOf(owner).join(',')] as const] : undefined;
    const tagged = byTags === undefined ? [] : await calls.list('healthmonitors', byTags, io);
    const known = new Set(tagged.map(({ id }) => id));
    const left = pools.filter(({ monitorId }) => !known.has(monitorId ?? ''));
    const others = await inParallel(callsAtOnce, left, ({ monitorId }) => calls.get('healthmonitors', monitorId!, io));
    return [...tagged, ...others.flatMap((one) => one ?? [])];
  }

  /** @param tagged listeners of the owner: often these are all that there are on it */
  async function on(one: LoadBalancer, tagged: readonly Listener[], { owner, removing }: Query, io: ReadIo) {
    const here = tagged.filter(({ loadBalancerId }) => loadBalancerId === one.id);
    const isAll = one.listenerIds.length === here.length;
    const isOwn = foundAll({ loadBalancer: one }).some((found) => isOwnedBy(found, owner));
    const [listeners, pools] = await Promise.all([
      isAll ? here : calls.list('listeners', [['load_balancer_id', one.id]], io),
      // What is ours on it goes with it.
      removing && isOwn ? [] : calls.list('pools', [['loadbalancer_id', one.id]], io),
    ]);
    // On one that may be taken over, too.
    const isOurs = (part: Pool | Listener, kind: 'pool' | 'listener') => {
      const origin = originOf(kind, part, one);
      return origin.isClassic || (origin.owner?.cluster === owner.cluster && origin.owner.service === owner.service);
    };
    const users = new Map(listeners.map((user) => [user.poolId, user]));
    const isSelected = (part: Pool) => {
      const user = users.get(part.id);
      return isOurs(part, 'pool') || (user !== undefined && isOurs(user, 'listener'));
    };
    const monitors = (some: readonly Pool[]) => monitorsOf(some, owner, io);
    return foundAll(
      { loadBalancer: one, listeners, pools: await filled(pools, isSelected, true, monitors, io) },
      owner.cluster,
    );
  }

  async function of(query: Query, io: ReadIo) {
    const { owner, ids, slots, search } = query;
    const tags = [['tags', ownerTagsOf(owner).join(',')]] as const;
    const names = search ? slots.flatMap((slot) => (slot.startsWith('name ') ? [slot.slice(5)] : [])) : [];
    const [tagged, named, parts] = await Promise.all([
      search ? calls.list('loadbalancers', tags, io) : [],
      Promise.all(names.map((name) => calls.list('loadbalancers', [['name', name]], io))),
      search ? calls.list('listeners', tags, io) : [],
      knowMinor(io),
    ]);
    const found = new Map([...tagged, ...named.flat()].map((one) => [one.id, one]));
    const others = [...ids.flatMap(({ kind, id }) => (kind === loadBalancer ? [id] : []))];
    const hosts = parts.map(({ loadBalancerId }) => loadBalancerId).filter((id) => id !== '');
    const missing = [...new Set([...others, ...hosts])].filter((id) => !found.has(id));
    for (const one of await Promise.all(missing.map((id) => calls.get('loadbalancers', id, io))))
      if (one !== undefined) found.set(one.id, one);
    const all = await Promise.all([...found.values()].map((one) => on(one, parts, query, io)));
    const shown = new Map(all.flat().map((one) => [identityOf(one), one]));
    return { found: [...shown.values()] };
  }

  return {
    kinds: [loadBalancer, vipPort, listener, pool],
    all,
    of,
    minor: () => minor,
    sent: (one, members) =>
      void kept.set(one, { version: undefined, members, untilMs: clock.monotonic() + keptMs.once }),
  };
}

/** It carries its own name as a tag, as the classic controller marks what it makes, and no mark of ours. */
function isMadeByClassic({ name, tags }: LoadBalancer): boolean {
  return tags.includes(name) && !isMarked(tags);
}

/** A number from 0 to 1 that stays with an id: what is read by age is not read all at once. */
function shareOf(id: string): number {
  return Number.parseInt(id.slice(0, 4), 16) / 0xffff || 0;
}
