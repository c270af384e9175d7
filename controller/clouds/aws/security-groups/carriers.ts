import { isCloudError } from '../../../../common/cloud-error.ts';
import type { Clock } from '../../../../common/process/clock.ts';
import type { Tags } from '../load-balancer-tags.ts';
import type { ReadOptions } from '../service-calls.ts';

export type BalancerType = 'classic' | 'network';

/** A load balancer of any owner, as a list or an answer to our own call shows it. */
export interface Carrier {
  readonly name: string;
  /** Host name of a classic one, ARN of a network one. */
  readonly id: string;
  readonly hostname: string;
  /** Ids of its security groups. */
  readonly groups: readonly string[];
  /** Undefined: not read, since its name says that it is of others. */
  readonly tags: Tags | undefined;
  /** The port that a classic one probes; undefined = not known. Those of network ones are in their target groups. */
  readonly probes?: number | undefined;
}

export type Carriers = ReturnType<typeof createCarriers>;

/** For how long a read may still show what was deleted. */
const shownForMs = 60_000;
/** No read takes longer, its retries included. */
const longestReadMs = 900_000;

/** Lists the load balancers of one type, without their tags. Throws a CloudError. */
export interface CarrierList {
  carriers(options: ReadOptions): Promise<readonly Carrier[]>;
}

/**
 * Which load balancers there are, and which security groups they carry: as the last lists showed, with what this
 * process has made and removed since.
 */
export function createCarriers(clock: Pick<Clock, 'monotonic'>, lists: readonly CarrierList[]) {
  let known = new Map<string, Carrier>();
  let isComplete = false;
  /** Groups by name, of what a list may not show yet. */
  const joined = new Map<string, readonly string[]>();
  /** When we deleted what reads may still show, by id. */
  const removedAt = new Map<string, number>();

  const all = () => [...known.values()];

  const nowMs = () => clock.monotonic();
  const wasRemoved = (id: string, beganAtMs: number) =>
    beganAtMs < (removedAt.get(id) ?? Number.NEGATIVE_INFINITY) + shownForMs;

  /** A complete list of both types; one without tags keeps what is known. */
  function listed(carriers: readonly Carrier[], beganAtMs: number): void {
    for (const [id, atMs] of removedAt) if (nowMs() - atMs > longestReadMs) removedAt.delete(id);
    const there = carriers.filter(({ id }) => !wasRemoved(id, beganAtMs));
    const before = known;
    known = new Map(
      there.map((one) => {
        const last = one.tags === undefined ? before.get(one.id) : undefined;
        return [one.id, { ...one, tags: one.tags ?? last?.tags, probes: one.probes ?? last?.probes }];
      }),
    );
    isComplete = true;
  }

  return {
    /** Monotonic milliseconds, for when a read begins. */
    nowMs,
    listed,
    all,
    /** What a read of these names, and of these types, shows. */
    seen(
      { names, types }: { readonly names: readonly string[]; readonly types: ReadonlySet<BalancerType> },
      shown: readonly Carrier[],
      beganAtMs: number,
    ): void {
      for (const name of names) if (!shown.some((one) => one.name === name)) joined.delete(name);
      for (const one of all()) {
        const wasAsked = names.includes(one.name) && types.has(typeOfId(one.id));
        if (wasAsked && !shown.some(({ id }) => id === one.id)) known.delete(one.id);
      }
      for (const one of shown) if (!wasRemoved(one.id, beganAtMs)) known.set(one.id, one);
    },
    /** One as the answer to our own call shows it. */
    take(carrier: Carrier): void {
      removedAt.delete(carrier.id);
      known.set(carrier.id, carrier);
    },
    /** We have deleted it: reads that began before, or within a minute, do not bring it back. */
    removed({ id, name }: Pick<Carrier, 'id' | 'name'>): void {
      removedAt.set(id, nowMs());
      known.delete(id);
      joined.delete(name);
    },
    /** Names of those that carry a group; undefined until they have been listed. */
    of(group: string): readonly string[] | undefined {
      if (!isComplete) return undefined;
      const named = [...all().map(({ name, groups }) => [name, groups] as const), ...joined];
      return [...new Set(named.flatMap(([name, groups]) => (groups.includes(group) ? [name] : [])))];
    },
    /** Makes a load balancer that will carry these groups, or has it carry them: its use of them counts from before. */
    async carrying<Made>(name: string, groups: readonly string[], make: () => Promise<Made>): Promise<Made> {
      const before = joined.get(name);
      joined.set(name, groups);
      try {
        return await make();
      } catch (error) {
        const mayHaveHappened = isCloudError(error) && (error.kind === 'Timeout' || error.kind === 'Unavailable');
        if (!mayHaveHappened && before === undefined) joined.delete(name);
        else if (!mayHaveHappened) joined.set(name, before!);
        throw error;
      }
    },
    /** Lists them. Throws a CloudError. */
    async read(options: ReadOptions): Promise<void> {
      const beganAtMs = nowMs();
      const read = await Promise.all(lists.map((list) => list.carriers(options)));
      listed(read.flat(), beganAtMs);
    },
  };
}

/** Network ones have an ARN, classic ones go by their names. */
export function typeOfId(id: string): BalancerType {
  return id.startsWith('arn:') ? 'network' : 'classic';
}
