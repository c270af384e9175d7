import type { AnswerFields } from '../answer-fields.ts';
import { oneOfIn } from '../answer-values.ts';
import type { JsonApi } from '../json-api.ts';
import type { SimulatedConfig } from './config.ts';
import { everyPage } from './pages.ts';

/** The API's calls about instances. Each only reads, and throws only a CloudError; no item is looked at. */
export interface SimulatedClient {
  /** Whether the region is there and the credential is good for it. */
  region(signal?: AbortSignal): Promise<void>;
  /** Whether there is any. */
  any(signal?: AbortSignal): Promise<boolean>;
  /** Those of the region, from every page. */
  list(signal?: AbortSignal): Promise<readonly unknown[]>;
  /** Those of the ids of one batch that exist. */
  lookup(ids: readonly string[], signal?: AbortSignal): Promise<readonly unknown[]>;
  named(name: string, signal?: AbortSignal): Promise<readonly unknown[]>;
  /** Throws `NotFound` only when the API says that this very instance does not exist; for every other 404 `Invalid`. */
  get(id: string, signal?: AbortSignal): Promise<unknown>;
}

/** Well below what servers take as a request line. */
const maxQueryLength = 1500;
const all = { operation: 'instances.list', path: '/instances' };

export function createSimulatedClient({ region }: SimulatedConfig, api: JsonApi): SimulatedClient {
  return {
    async region(signal) {
      oneOfIn(await api.call({ operation: 'regions.get', path: '/', signal }), 'region', [region]);
    },
    async any(signal) {
      return itemsOf(await api.call({ ...all, query: [['limit', '1']], signal })).length > 0;
    },
    async list(signal) {
      return (await everyPage(api, { ...all, query: [['limit', '1000']], signal })).flatMap(itemsOf);
    },
    async lookup(ids, signal) {
      const operation = 'instances.lookup';
      const joined = ids.join(',');
      if (joined.length > maxQueryLength) {
        const request = { method: 'POST', path: '/instances:lookup', body: { ids } } as const;
        return itemsOf(await api.call({ operation, ...request, signal }));
      }
      return itemsOf(await api.call({ operation, path: '/instances', query: [['ids', joined]], signal }));
    },
    async named(name, signal) {
      return itemsOf(
        await api.call({ operation: 'instances.find', path: '/instances', query: [['name', name]], signal }),
      );
    },
    async get(id, signal) {
      // An empty answer is an object without an id, not an absence.
      return (await api.call({ operation: 'instances.get', path: `/instances/${id}`, signal })).json();
    },
  };
}

/** One that cannot be read shall not hide the others. */
function itemsOf(answer: AnswerFields): readonly unknown[] {
  const { items } = answer.json();
  if (!Array.isArray(items)) throw answer.wrong('items', 'a list');
  return items;
}
