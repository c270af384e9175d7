import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Lookup } from '../cloud.ts';
import { type InstanceReader, inParallel, type Listed, type Named } from '../lookup-pass.ts';
import { cloud } from './fault.ts';

export type Seen = Extract<Lookup, { readonly state: 'found' | 'unknown' }>;

/** One kind of machines, by our ids. Reads only; each throws a CloudError. */
export interface Machines {
  /** Those of the ids that the complete list shows, and perhaps others. */
  all(ids: readonly string[], signal: AbortSignal | undefined): Promise<ReadonlyMap<string, Seen>>;
  /** All that have one of the names. */
  named(names: readonly string[], signal: AbortSignal | undefined): Promise<readonly Seen[]>;
  /** Throws `NotFound` where it does not exist, and for nothing else. */
  get(id: string, signal: AbortSignal | undefined): Promise<Seen>;
}

export const callsAtOnce = 4;

export const isDedicated = (id: string) => id.startsWith('bm-');

/** Reads instances for one pass. A failure stays with the kind of machines that it happened to; a name is looked for among all of them. */
export function createReader(servers: Machines, dedicated: Machines | undefined): InstanceReader {
  const kinds = dedicated === undefined ? [servers] : [servers, dedicated];
  const kindOf = (id: string) => (isDedicated(id) && dedicated) || servers;

  async function prove(id: string, signal: AbortSignal | undefined): Promise<Lookup> {
    try {
      const seen = await kindOf(id).get(id, signal);
      const other = seen.state === 'found' && seen.instance.id !== id;
      return other ? unknown('Invalid', `the answer is about another server than ${id}`) : seen;
    } catch (error) {
      return isCloudError(error) && error.kind === 'NotFound' ? { state: 'absent' } : failed(error);
    }
  }

  return {
    async list(ids, signal) {
      const answers = new Map<string, Listed>();
      for (const kind of kinds) {
        const some = ids.filter((id) => kindOf(id) === kind);
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
      return new Map(await inParallel(callsAtOnce, ids, async (id) => [id, await prove(id, signal)] as const));
    },
    async byName(names, signal) {
      const seen = (await Promise.all(kinds.map((kind) => kind.named(names, signal)))).flat();
      return new Map(names.map((name) => [name, pick(name, seen)]));
    },
  };
}

function pick(name: string, seen: readonly Seen[]): Named {
  const hits = seen.filter((one) => one.state === 'found' && one.instance.name === name);
  if (hits.length > 1) return unknown('Conflict', `${hits.length} servers are named ${JSON.stringify(name)}`);
  // Whose name one has that cannot be read is not known.
  const unreadable = seen.find((one) => one.state === 'unknown');
  return hits[0] ?? unreadable ?? unknown('NotFound', `no server is named ${JSON.stringify(name)}`);
}

/** What is read; `unknown` where that fails. */
export async function readable(read: () => Seen | Promise<Seen>): Promise<Seen> {
  try {
    return await read();
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): Lookup & { readonly state: 'unknown' } {
  return isCloudError(error) ? { state: 'unknown', error } : unknown('Unavailable', String(error));
}

function unknown(kind: CloudError['kind'], message: string): Lookup & { readonly state: 'unknown' } {
  return { state: 'unknown', error: new CloudError({ kind, cloud, operation: 'lookup', message }) };
}
