import { createHash } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import { annotations, names } from '../../../common/well-known.ts';
import { isConflict, isNotFound, type KubeApi } from '../../kube/api.ts';
import { leaseBody } from '../../kube/lease.ts';

/** The Lease on which every replica announces its report URL in an annotation. It has no holder. */
export const replicasLease = names.replicasLease;
const prefix = annotations.replica;

const announceMs = 60_000;
/** After this long without a change, the announcement counts as that of a dead replica. */
const deadMs = 180_000;
/**
 * An announcement older than this when it is first observed is ignored until it changes. The limit is generous, because
 * it compares two clocks.
 */
const tooOldMs = 600_000;
const maxReplicas = 32;

export interface ReplicaDirectoryOptions {
  /** Not fenced: every replica announces itself, whether it leads or not. */
  readonly api: KubeApi;
  /** Fenced: the leader removes announcements of dead replicas. */
  readonly fencedApi: KubeApi;
  readonly clock: Clock;
  /** Unique to this process: different for every replica and every start. */
  readonly identity: string;
  /** The report URL of this replica: `https://host:port`. */
  readonly url: string;
  /** That Mooring is installed in. */
  readonly namespace: string;
}

export interface ReplicaDirectory {
  /** Announces this replica, at most once a minute. Safe to repeat. @throws KubeError */
  announce(): Promise<void>;
  /** Removes the announcement. Safe to repeat. @throws KubeError */
  withdraw(): Promise<void>;
  /**
   * For the leader: returns the sorted URLs of live replicas, including this one, and removes the announcements of dead
   * ones. @throws KubeError
   */
  collect(): Promise<readonly string[]>;
}

interface LeaseObject {
  readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> };
}

function annotationOf(identity: string): string {
  const plain = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(identity);
  return prefix + (plain ? identity : createHash('sha256').update(identity).digest('hex').slice(0, 40));
}

/** An announcement as first observed, by the monotonic clock of this process. */
interface ObservedAnnouncement {
  readonly value: string;
  readonly since: number;
  readonly isCurrent: boolean;
}

/** Parses an announcement: the URL of the replica, and the time of the write by its own clock. */
function announcement(value: string): { readonly url: string; readonly writtenAt: number } | undefined {
  const [url = '', time = '', ...rest] = value.split(' ');
  const writtenAt = Date.parse(time);
  const usable = rest.length === 0 && url.length <= 512 && URL.canParse(url) && new URL(url).protocol === 'https:';
  return usable && !Number.isNaN(writtenAt) ? { url, writtenAt } : undefined;
}

/**
 * The directory of the replicas' report URLs, which the leader publishes for agents. A replica counts as alive while
 * its announcement keeps changing, by the monotonic clock of this process, because the replicas' clocks may differ.
 */
export function createReplicaDirectory(options: ReplicaDirectoryOptions): ReplicaDirectory {
  const { api, fencedApi, clock, url, namespace } = options;
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${replicasLease}`;
  const ownKey = annotationOf(options.identity);
  const observedByKey = new Map<string, ObservedAnnouncement>();
  let announcedAt: number | undefined;

  async function write(value: string | null): Promise<void> {
    const annotations = { [ownKey]: value };
    try {
      await api.call({ verb: 'patch', patch: 'merge', path, body: { metadata: { annotations } } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (value !== null) await create({ [ownKey]: value });
    }
  }

  async function create(annotations: Readonly<Record<string, string>>): Promise<void> {
    const body = leaseBody({ namespace, name: replicasLease }, undefined, undefined, annotations);
    try {
      await api.call({ verb: 'update', path, body });
    } catch (error) {
      if (!isConflict(error)) throw error;
      await api.call({ verb: 'patch', patch: 'merge', path, body: { metadata: { annotations } } });
    }
  }

  function observe(key: string, value: string): ObservedAnnouncement {
    const now = clock.monotonic();
    const known = observedByKey.get(key);
    if (known?.value === value) return known;
    const parsed = announcement(value);
    const isTooOld = !parsed || clock.now() - parsed.writtenAt > tooOldMs;
    // An announcement that changes while we observe it is of a live replica, whatever its timestamp.
    const observed = { value, since: now, isCurrent: known !== undefined || !isTooOld };
    observedByKey.set(key, observed);
    return observed;
  }

  async function read(): Promise<LeaseObject | undefined> {
    try {
      return await api.call<LeaseObject>({ verb: 'get', path });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  return {
    async announce() {
      const now = clock.monotonic();
      if (announcedAt !== undefined && now - announcedAt < announceMs) return;
      await write(`${url} ${new Date(clock.now()).toISOString()}`);
      announcedAt = now;
    },
    async withdraw() {
      announcedAt = undefined;
      await write(null);
    },
    async collect() {
      const lease = await read();
      const urls = new Set([url]);
      const dead: Record<string, null> = {};
      const entries = Object.entries(lease?.metadata.annotations ?? {}).filter(([key]) => key.startsWith(prefix));
      for (const key of observedByKey.keys())
        if (!entries.some(([present]) => present === key)) observedByKey.delete(key);
      for (const [key, value] of entries) {
        if (key === ownKey) continue;
        const parsed = announcement(value);
        const { since, isCurrent } = observe(key, value);
        if (clock.monotonic() - since >= deadMs) dead[key] = null;
        else if (isCurrent && parsed && urls.size < maxReplicas) urls.add(parsed.url);
      }
      if (lease && Object.keys(dead).length > 0) {
        const { resourceVersion } = lease.metadata;
        const body = { metadata: { resourceVersion, annotations: dead } };
        await fencedApi.call({ verb: 'patch', patch: 'merge', path, body }).catch((error: unknown) => {
          // A replica announced itself at the same time. The next pass repeats this.
          if (!isConflict(error)) throw error;
        });
      }
      return [...urls].sort();
    },
  };
}
