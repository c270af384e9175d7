import type { Clock } from '../../../../common/process/clock.ts';
import { ownerTags } from '../../load-balancers.ts';
import type { LoadBalancer } from './answer.ts';
import { type List, listings } from './listings.ts';
import { tag } from './tags.ts';

export interface LookParts {
  readonly clock: Clock;
  readonly list: List;
  get(id: string, signal?: AbortSignal): Promise<LoadBalancer | undefined>;
}

export interface LookFor {
  readonly id: string;
  readonly cluster: string;
  /** What was read before says nothing, monotonic milliseconds. */
  readonly sinceMs: number;
}

/**
 * Looks at load balancers that Octavia works on: each by its id, or, when many are waited for at once, all in one list. Answers undefined when there is none, which its id
 * alone proves. Throws a CloudError.
 */
export type Look = (what: LookFor, signal?: AbortSignal) => Promise<LoadBalancer | undefined>;

interface Shared {
  readonly cluster: string;
  readonly atMs: number;
  readonly answer: Promise<ReadonlyMap<string, LoadBalancer>>;
  isUnderWay: boolean;
}

/** From so many within a second on, a list costs less. */
const many = 5;
const freshMs = 1000;

export function createLooks({ clock, list, get }: LookParts): Look {
  /** By id: when it was looked at. */
  const recent = new Map<string, number>();
  let shared: Shared | undefined;

  function startList(cluster: string): Shared {
    const tags = [['tags', tag(ownerTags.cluster, cluster)]] as const;
    const answer = list(listings.loadBalancers, tags).then((all) => new Map(all.map((one) => [one.id, one])));
    const started: Shared = { cluster, atMs: clock.monotonic(), answer, isUnderWay: true };
    const ends = () => {
      started.isUnderWay = false;
    };
    answer.then(ends, () => {
      ends();
      if (shared === started) shared = undefined;
    });
    return started;
  }

  return async function look({ id, cluster, sinceMs }, signal) {
    const nowMs = clock.monotonic();
    for (const [other, atMs] of recent) if (nowMs - atMs >= freshMs) recent.delete(other);
    recent.set(id, nowMs);
    const serves = ({ atMs, isUnderWay, cluster: of }: Shared) =>
      of === cluster && atMs > sinceMs && (isUnderWay || nowMs - atMs < freshMs);
    if (shared === undefined || !serves(shared)) {
      if (recent.size < many || shared?.isUnderWay || nowMs <= sinceMs) return get(id, signal);
      shared = startList(cluster);
    }
    return (await shared.answer).get(id) ?? get(id, signal);
  };
}
