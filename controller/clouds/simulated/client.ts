import { oneOfIn } from '../answer-values.ts';
import { unlessNotFound } from '../not-found.ts';
import type { SimulatedConfig } from './config.ts';
import { itemFields } from './load-balancer-answer.ts';
import { itemsOf, type Page, pageOf, type Transport } from './transport.ts';

/** How many ids one call may filter by, and how many instances a page may hold. */
export const maxPerCall = 1000;

/** The API's calls about instances. Each is one read, and throws only a CloudError. */
export interface SimulatedClient {
  /** Whether the region is there and the credential is good for it. */
  region(signal?: AbortSignal): Promise<void>;
  /** One page; not validated beyond its frame. */
  page(pageToken: string | undefined, limit: number, signal?: AbortSignal): Promise<Page>;
  /** Those of at most `maxPerCall` ids that exist. */
  lookup(ids: readonly string[], signal?: AbortSignal): Promise<readonly unknown[]>;
  named(name: string, signal?: AbortSignal): Promise<readonly unknown[]>;
  /**
   * Undefined only when the API says that this very instance does not exist; every other 404 is thrown as `Invalid`.
   */
  get(id: string, signal?: AbortSignal): Promise<unknown | undefined>;
}

/** Well below what servers take as a request line. */
const maxQueryLength = 1500;

export function createSimulatedClient(config: SimulatedConfig, call: Transport): SimulatedClient {
  return {
    async region(signal) {
      const operation = 'regions.get';
      oneOfIn(itemFields(await call({ operation, path: '/', signal }), 'answer', operation), 'region', [config.region]);
    },
    async page(pageToken, limit, signal) {
      const operation = 'instances.list';
      const query = pageToken === undefined ? '' : `&pageToken=${encodeURIComponent(pageToken)}`;
      return pageOf(await call({ operation, path: `/instances?limit=${limit}${query}`, signal }), operation);
    },
    async lookup(ids, signal) {
      const operation = 'instances.lookup';
      const query = `/instances?ids=${ids.join(',')}`;
      const request = query.length <= maxQueryLength ? { path: query } : { path: '/instances:lookup', body: { ids } };
      return itemsOf(await call({ operation, ...request, signal }), operation);
    },
    async named(name, signal) {
      const operation = 'instances.find';
      return itemsOf(await call({ operation, path: `/instances?name=${encodeURIComponent(name)}`, signal }), operation);
    },
    get: (id, signal) => unlessNotFound(call({ operation: 'instances.get', path: `/instances/${id}`, signal })),
  };
}
