import type { ReadIo, WriteIo } from '../../../engine/resource.ts';
import { unlessNotFound } from '../../not-found.ts';
import type { Urgency } from '../../urgency.ts';
import type { OpenStackClient, Query } from '../client.ts';
import type { JsonObject } from '../json.ts';
import { readListener, readLoadBalancer, readMember, readMonitor, readPool } from './octavia-answer.ts';

const readers = {
  loadbalancers: readLoadBalancer,
  listeners: readListener,
  pools: readPool,
  healthmonitors: readMonitor,
  members: readMember,
} as const;
type Collection = keyof typeof readers;
type Item<C extends Collection> = ReturnType<(typeof readers)[C]>;

/** The calls to Octavia. All throw a CloudError. */
export interface OctaviaCalls {
  /** One mutating call. Not repeated. */
  send(
    method: 'POST' | 'PUT' | 'DELETE',
    path: string,
    io: WriteIo,
    body?: JsonObject,
    query?: Query,
  ): Promise<unknown>;
  /** Everything of a collection that fits the query. */
  list<C extends Collection>(what: C, query: Query, io: ReadIo, urgency?: Urgency): Promise<Item<C>[]>;
  membersOf(pool: string, io: ReadIo): Promise<Item<'members'>[]>;
  /** Undefined where Octavia says that this very one does not exist. */
  get<C extends 'loadbalancers' | 'healthmonitors'>(what: C, id: string, io: ReadIo): Promise<Item<C> | undefined>;
}

const idForm = /[0-9a-f]{8}-[0-9a-f-]{27}/g;
/** For metrics and errors. */
const operationOf = (method: string, path: string) => `${method} ${path.replace(idForm, '{id}')}`;

export function createOctaviaCalls(client: OpenStackClient): OctaviaCalls {
  const service = 'load-balancer';

  async function all<C extends Collection>(what: C, path: string, query: Query, { signal }: ReadIo, urgency: Urgency) {
    const operation = operationOf('GET', path);
    const request = { service, path, operation, query: [['limit', '1000'], ...query], urgency, signal } as const;
    const { items, failure } = await client.list(request, what);
    if (failure !== undefined) throw failure;
    const read = readers[what] as (json: unknown, operation: string) => Item<C>;
    return items.map((item) => read(item, operation));
  }

  return {
    async send(method, path, { permit, signal }, body, query) {
      const whole = `/lbaas/${path}`;
      const operation = operationOf(method, whole);
      const request = { service, method, path: whole, operation, urgency: 'change', permit, signal } as const;
      return client.change({ ...request, ...(body && { body }), ...(query && { query }) });
    },
    list: (what, query, io, urgency = 'need') => all(what, `/lbaas/${what}`, query, io, urgency),
    async membersOf(pool, io) {
      // It may have been deleted since it was listed.
      return (await unlessNotFound(all('members', `/lbaas/pools/${pool}/members`, [], io, 'need'))) ?? [];
    },
    async get(what, id, { signal }) {
      const path = `/lbaas/${what}/${id}`;
      const operation = operationOf('GET', path);
      const read = readers[what] as (json: unknown, operation: string) => Item<typeof what>;
      const answer = await unlessNotFound(client.get({ service, path, operation, signal }));
      return answer === undefined ? undefined : read(answer, operation);
    },
  };
}
