import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import type { NodeAddress } from '../../common/instance.ts';
import type { Lookup } from './cloud.ts';
import type { InstanceReader, Listed, Named } from './lookup-pass.ts';
import { inParallel } from './parallel.ts';

/** The state of a machine that the cloud shows, from a complete list or a request for its id. */
export type Seen = Exclude<Lookup, { readonly state: 'absent' }>;

/** One kind of machines of a cloud, by our ids. Reads only; each throws a CloudError. */
export interface Machines {
  holds(id: string): boolean;
  /** Those of the ids that the complete list shows, and perhaps others. */
  all(ids: readonly string[], signal: AbortSignal | undefined): Promise<ReadonlyMap<string, Seen>>;
  /** All that have one of the names. */
  named(names: readonly string[], signal: AbortSignal | undefined): Promise<readonly Seen[]>;
  /** Throws `NotFound` where it does not exist, and for nothing else. `gone` is about that very id. */
  get(id: string, signal: AbortSignal | undefined): Promise<Seen>;
}

const callsAtOnce = 4;

/**
 * Reads the instances of a cloud that has one or several kinds of machines, for one pass. A failure stays with the kind
 * that it happened to; a name is searched among all kinds.
 */
export function createMachineReader(cloud: string, kinds: readonly Machines[]): InstanceReader {
  const unknown = (kind: CloudError['kind'], message: string): Lookup & { readonly state: 'unknown' } => ({
    state: 'unknown',
    error: new CloudError({ kind, cloud, operation: 'lookup', message }),
  });
  const failed = (error: unknown) =>
    isCloudError(error) ? ({ state: 'unknown', error } as const) : unknown('Unavailable', String(error));
  const noKind = (id: string) => unknown('Invalid', `${id} is the id of no machine of ${cloud}`);

  async function get(id: string, signal: AbortSignal | undefined): Promise<Lookup> {
    const kind = kinds.find(({ holds }) => holds(id));
    if (kind === undefined) return noKind(id);
    try {
      const seen = await kind.get(id, signal);
      const other = seen.state === 'found' && seen.instance.id !== id;
      return other ? unknown('Invalid', `the answer is about another machine than ${id}`) : seen;
    } catch (error) {
      return isCloudError(error) && error.kind === 'NotFound' ? { state: 'absent' } : failed(error);
    }
  }

  function pick(name: string, seen: readonly Seen[]): Named {
    const hits = seen.filter((one) => one.state === 'found' && one.instance.name === name);
    if (hits.length > 1) return unknown('Conflict', `${hits.length} machines are named ${JSON.stringify(name)}`);
    // The name of an unreadable machine is not known.
    const unreadable = seen.find((one) => one.state === 'unknown');
    return hits[0] ?? unreadable ?? unknown('NotFound', `no machine is named ${JSON.stringify(name)}`);
  }

  return {
    async list(ids, signal) {
      const answers = new Map<string, Listed>(ids.map((id) => [id, noKind(id)]));
      for (const kind of kinds) {
        const some = ids.filter(kind.holds);
        if (some.length === 0) continue;
        try {
          const seen = await kind.all(some, signal);
          for (const id of some) answers.set(id, seen.get(id) ?? { state: 'missing' });
        } catch (error) {
          for (const id of some) answers.set(id, failed(error));
        }
      }
      return answers;
    },
    async get(ids, signal) {
      return new Map(await inParallel(callsAtOnce, ids, async (id) => [id, await get(id, signal)] as const));
    },
    async byName(names, signal) {
      const seen = (await Promise.all(kinds.map((kind) => kind.named(names, signal)))).flat();
      return new Map(names.map((name) => [name, pick(name, seen)]));
    },
  };
}

/** Reads one machine; `unknown` where that fails, so that the others stay readable. */
export async function readable(read: () => Seen | Promise<Seen>): Promise<Seen> {
  try {
    return await read();
  } catch (error) {
    if (!isCloudError(error)) throw error;
    return { state: 'unknown', error };
  }
}

/** Machines by our ids, each readable apart from the others. */
export async function seenById<Item>(
  items: readonly Item[],
  idOf: (item: Item, at: number) => string,
  read: (item: Item) => Seen | Promise<Seen>,
): Promise<Map<string, Seen>> {
  const seen = items.map(async (item, at) => [idOf(item, at), await readable(() => read(item))] as const);
  return new Map(await Promise.all(seen));
}

/** Each address once, at its first place. */
export function distinctAddresses(addresses: readonly NodeAddress[]): NodeAddress[] {
  return [...new Map(addresses.map((one) => [`${one.type} ${one.address}`, one])).values()];
}
