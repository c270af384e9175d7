import type { Clock } from '../../../../common/process/clock.ts';
import { inParallel } from '../../parallel.ts';
import type { OpenStackClient } from '../client.ts';
import { isThingNotFound } from '../fault.ts';
import { type LoadBalancer, type Member, type Monitor, type NodePort, type Pool, readMonitor } from './answer.ts';
import { type List, listings } from './listings.ts';
import type { Subject } from './observed.ts';
import { ownerTagsOf } from './tags.ts';

/** What is in pools and their list does not show. All throw a CloudError. */
export interface PoolReads {
  /**
   * With the members of those that are wanted: read, or known at this version of the pool.
   *
   * @param fresh read in any case, since what health checks say changes no version
   */
  withMembers(
    pools: readonly Pool[],
    wanted: ReadonlySet<string>,
    fresh: boolean,
    signal?: AbortSignal,
  ): Promise<Pool[]>;
  /** With what is known inside of those that are wanted; undefined unless that is of just these versions. */
  asKnown(pools: readonly Pool[], wanted: ReadonlySet<string>): Pool[] | undefined;
  /** Keeps what is inside of pools, for as long as they stay at these versions. */
  keepInside(pools: readonly Pool[]): void;
  withProviderIds(
    pools: readonly Pool[],
    known: readonly NodePort[] | undefined,
    signal?: AbortSignal,
  ): Promise<Pool[]>;
  monitorsOf(pools: readonly Pool[], subject: Subject, signal?: AbortSignal): Promise<Monitor[]>;
  forget(pool: string): void;
  /** The same of those that our changes have written, for every version up to when this load balancer was last written. */
  learn(loadBalancer: LoadBalancer): void;
  /** Forgets all others, and some of what has been known for long. */
  keep(pools: ReadonlySet<string>): void;
}

export const callsAtOnce = 8;

interface Inside {
  readonly version: string;
  readonly isLatest: boolean;
  /** Of its members. */
  readonly ids: string;
  readonly members: readonly Member[];
  readonly monitor: Monitor | undefined;
  /** Monotonic milliseconds. */
  readonly holdsUntilMs: number;
}

/** Somebody may have changed it unseen right before or after we did, or a replica may have lagged behind: nothing holds for ever, and it is read anew a few at a time. */
const holdsMs = { learned: 3_600_000, read: 86_400_000 };
const rereadAtOnce = 25;

function isCurrent({ version, isLatest, ids, monitor }: Inside, pool: Pool): boolean {
  if (pool.status !== 'ACTIVE' || pool.version === '') return false;
  if (ids !== idsText(pool.memberIds) || monitor?.id !== pool.monitorId) return false;
  return isLatest ? pool.version <= version : pool.version === version;
}

function idsText(ids: readonly string[]): string {
  return ids.toSorted().join(' ');
}

export interface PoolReadParts {
  readonly client: OpenStackClient;
  readonly clock: Clock;
  readonly list: List;
  readonly providerIDOf: (serverId: string) => string;
}

export function poolReads({ client, clock, list, providerIDOf }: PoolReadParts): PoolReads {
  /** By pool: what is inside at a version of it, or at every version up to one. */
  const insides = new Map<string, Inside>();

  /** Members of these pools, as many as are not known at this version. */
  async function withMembers(
    pools: readonly Pool[],
    wanted: ReadonlySet<string>,
    fresh: boolean,
    signal?: AbortSignal,
  ): Promise<Pool[]> {
    return inParallel(callsAtOnce, pools, async (pool) => {
      if (!wanted.has(pool.id)) return pool;
      if (pool.memberIds.length === 0) return { ...pool, members: [] };
      const known = insides.get(pool.id);
      if (!fresh && known && isCurrent(known, pool)) return { ...pool, members: known.members };
      let members: readonly Member[];
      try {
        members = await list(listings.members(pool.id), [], signal);
      } catch (error) {
        // Deleted since it was listed.
        if (!isThingNotFound(error)) throw error;
        members = [];
      }
      return { ...pool, members };
    });
  }

  function keep({ id, memberIds, members, monitor, version }: Pool): void {
    const ids = idsText(memberIds);
    // Two reads that do not agree are not of one version.
    if (members === undefined || ids !== idsText(members.map((one) => one.id))) return;
    const before = insides.get(id);
    const isSame = before?.members === members;
    const holdsUntilMs = isSame ? before.holdsUntilMs : clock.monotonic() + holdsMs.read;
    insides.set(id, { version, isLatest: false, ids, members, monitor, holdsUntilMs });
  }

  /** What the classic controller made as a member says nothing of its server; Neutron knows whose the address is. */
  async function withProviderIds(
    pools: readonly Pool[],
    known: readonly NodePort[] | undefined,
    signal?: AbortSignal,
  ): Promise<Pool[]> {
    const nameless = pools.some(({ members }) => members?.some(({ providerID }) => providerID === undefined));
    if (!nameless) return [...pools];
    const ports = known ?? (await list(listings.ports, [], signal));
    const servers = new Map<string, string | undefined>();
    for (const { serverId, addresses } of ports) {
      // An address that two servers have, in two networks, says nothing.
      if (serverId !== '') for (const one of addresses) servers.set(one, servers.has(one) ? undefined : serverId);
    }
    const named = (member: Member): Member => {
      const server = member.providerID === undefined ? servers.get(member.address) : undefined;
      return server === undefined ? member : { ...member, providerID: providerIDOf(server) };
    };
    return pools.map((pool) => (pool.members ? { ...pool, members: pool.members.map(named) } : pool));
  }

  /** One of several is found with the others by our tags; what carries none is read by itself. */
  async function monitorsOf(pools: readonly Pool[], { owner }: Subject, signal?: AbortSignal): Promise<Monitor[]> {
    const tagged =
      pools.length > 1 ? await list(listings.monitors, [['tags', ownerTagsOf(owner).join(',')]], signal) : [];
    const left = pools.filter(({ monitorId }) => !tagged.some(({ id }) => id === monitorId));
    const others = await inParallel(callsAtOnce, left, ({ monitorId }) => getMonitor(monitorId!, signal));
    return [...tagged, ...others.filter((monitor) => monitor !== undefined)];
  }

  async function getMonitor(id: string, signal?: AbortSignal): Promise<Monitor | undefined> {
    const operation = 'GET /lbaas/healthmonitors/{id}';
    try {
      return readMonitor(
        await client.get({ service: 'load-balancer', path: `/lbaas/healthmonitors/${id}`, operation, signal }),
        operation,
      );
    } catch (error) {
      if (isThingNotFound(error)) return undefined;
      throw error;
    }
  }

  return {
    withMembers,
    withProviderIds,
    monitorsOf,
    forget: (pool) => void insides.delete(pool),
    asKnown(pools, wanted) {
      const known = pools.map((pool) => {
        const inside = insides.get(pool.id);
        if (!wanted.has(pool.id)) return pool;
        if (inside === undefined || !isCurrent(inside, pool)) return undefined;
        return { ...pool, members: inside.members, monitor: inside.monitor };
      });
      return known.every((pool) => pool !== undefined) ? known : undefined;
    },
    keepInside(pools) {
      for (const pool of pools) if (pool.status === 'ACTIVE') keep(pool);
    },
    learn({ pools, updatedAt }) {
      const common = { version: updatedAt, isLatest: true, holdsUntilMs: clock.monotonic() + holdsMs.learned };
      for (const { id, memberIds, members, monitor } of pools) {
        // What we have not written since it was read somebody else may have.
        if (members === undefined || insides.has(id)) continue;
        insides.set(id, { ...common, ids: idsText(memberIds), members, monitor });
      }
    },
    keep(pools) {
      let old = 0;
      for (const [id, { holdsUntilMs }] of insides) {
        const isOld = holdsUntilMs <= clock.monotonic() && old < rereadAtOnce;
        if (isOld) old += 1;
        if (isOld || !pools.has(id)) insides.delete(id);
      }
    },
  };
}

export function withMonitors(pools: readonly Pool[], monitors: readonly Monitor[]): Pool[] {
  const byId = new Map(monitors.map((one) => [one.id, one]));
  return pools.map((pool) => ({
    ...pool,
    monitor: pool.monitorId === undefined ? undefined : byId.get(pool.monitorId),
  }));
}
