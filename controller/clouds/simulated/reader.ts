import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Lookup } from '../cloud.ts';
import type { InstanceReader, Listed, Named } from '../lookup-pass.ts';
import { chunks, inParallel } from '../parallel.ts';
import { maxPerCall, type SimulatedClient } from './client.ts';
import { idOf, nameOf, readInstance } from './instance-answer.ts';

/** At most so many requests of one lookup are under way at once. */
const width = 8;
/** Up to so many names are searched for one by one; more are picked from one list of the region. */
const maxNameSearches = 3;

type Unknown = Extract<Lookup, { state: 'unknown' }>;

/**
 * Reads this cloud: a filter by ids reads a thousand instances per call, and an id that it leaves out is a suspect; a
 * request for that very id is the proof. A failure affects only the ids of its call.
 */
export function simulatedReader(client: SimulatedClient, region: string): InstanceReader {
  async function filter(ids: readonly string[], signal?: AbortSignal): Promise<[string, Listed][]> {
    try {
      const asked = new Set(ids);
      const answers = new Map<string, Listed>();
      let unreadable = false;
      for (const item of await client.lookup(ids, signal)) {
        const id = idOf(item);
        if (id === undefined) unreadable = true;
        else if (asked.has(id)) answers.set(id, read(item, 'list', 'instances.lookup'));
      }
      // The unreadable item may be any of those that the answer leaves out, so nothing is concluded about them.
      const rest: Listed = unreadable
        ? unknown('Invalid', 'instances.lookup', 'id: an item of the answer has none')
        : { state: 'missing' };
      return ids.map((id) => [id, answers.get(id) ?? rest]);
    } catch (error) {
      const answer = failed(error, 'instances.lookup');
      return ids.map((id) => [id, answer]);
    }
  }

  async function proof(id: string, signal?: AbortSignal): Promise<[string, Lookup]> {
    try {
      const item = await client.get(id, signal);
      if (item === undefined) return [id, { state: 'absent' }];
      if (idOf(item) !== id) {
        return [id, unknown('Invalid', 'instances.get', `id: ${JSON.stringify(idOf(item))}, expected ${id}`)];
      }
      return [id, read(item, 'id', 'instances.get')];
    } catch (error) {
      return [id, failed(error, 'instances.get')];
    }
  }

  async function search(name: string, signal?: AbortSignal): Promise<[string, Named]> {
    try {
      return [name, pick(name, await client.named(name, signal), 'instances.find')];
    } catch (error) {
      return [name, failed(error, 'instances.find')];
    }
  }

  async function searchList(names: readonly string[], signal?: AbortSignal): Promise<[string, Named][]> {
    try {
      const byName = new Map<string, unknown[]>(names.map((name) => [name, []]));
      for (const item of await client.list(signal)) byName.get(nameOf(item) ?? '')?.push(item);
      return [...byName].map(([name, hits]) => [name, pick(name, hits, 'instances.list')]);
    } catch (error) {
      const answer = failed(error, 'instances.list');
      return names.map((name) => [name, answer]);
    }
  }

  /**
   * One live instance of that name is a hit. A terminated one may have a successor of the same name, so it says
   * nothing.
   */
  function pick(name: string, items: readonly unknown[], operation: string): Named {
    const hits = items
      .filter((item) => nameOf(item) === name)
      .map((item) => read(item, 'list', operation))
      .filter(({ state }) => state !== 'gone');
    if (hits.length === 0) return unknown('NotFound', operation, `no instance is named ${JSON.stringify(name)}`);
    if (hits.length > 1)
      return unknown('Conflict', operation, `${hits.length} instances are named ${JSON.stringify(name)}`);
    return hits[0]!;
  }

  function read(item: unknown, request: 'list' | 'id', operation: string): Named {
    try {
      const shown = readInstance(item, region, operation);
      return shown.state === 'found' ? { ...shown, request } : shown;
    } catch (error) {
      return failed(error, operation);
    }
  }

  return {
    async list(ids, signal) {
      const runs = await inParallel(width, chunks(ids, maxPerCall), (run) => filter(run, signal));
      return new Map(runs.flat());
    },
    async get(ids, signal) {
      return new Map(await inParallel(width, ids, (id) => proof(id, signal)));
    },
    async byName(names, signal) {
      if (names.length > maxNameSearches) return new Map(await searchList(names, signal));
      return new Map(await inParallel(width, names, (name) => search(name, signal)));
    },
  };
}

function unknown(kind: CloudError['kind'], operation: string, message: string): Unknown {
  return { state: 'unknown', error: new CloudError({ kind, cloud: 'simulated', operation, message }) };
}

function failed(error: unknown, operation: string): Unknown {
  if (isCloudError(error)) return { state: 'unknown', error };
  return unknown('Unavailable', operation, error instanceof Error ? error.message : String(error));
}
