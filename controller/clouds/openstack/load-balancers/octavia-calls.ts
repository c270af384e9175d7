import type { ReadIo, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { unlessNotFound } from '../../not-found.ts';
import type { Urgency } from '../../urgency.ts';
import type { OpenStackClient, Query } from '../client.ts';
import type { JsonObject } from '../json.ts';
import { readListener, readLoadBalancer, readMember, readMonitor, readPool } from './octavia-answer.ts';

/** A collection of Octavia as its paths name it, the word that its answers have for one, and how one is read. */
const collections = {
  loadbalancers: { word: 'loadbalancer', read: readLoadBalancer },
  listeners: { word: 'listener', read: readListener },
  pools: { word: 'pool', read: readPool },
  healthmonitors: { word: 'healthmonitor', read: readMonitor },
  members: { word: 'member', read: readMember },
} as const;
type Collections = typeof collections;
type Collection = keyof Collections;
type Item<C extends Collection> = ReturnType<Collections[C]['read']>;

/** The calls to Octavia. All throw a CloudError. */
export interface OctaviaCalls {
  /** One mutating call. Not repeated. */
  send(
    method: 'POST' | 'PUT' | 'DELETE',
    path: string,
    io: WriteIo,
    body?: JsonObject,
    query?: Query,
  ): Promise<AnswerFields>;
  /** Everything of a collection that fits the query. */
  list<C extends Collection>(what: C, query: Query, io: ReadIo, urgency?: Urgency): Promise<Item<C>[]>;
  membersOf(pool: string, io: ReadIo): Promise<Item<'members'>[]>;
  /** Undefined where Octavia says that this very one does not exist. */
  get<C extends 'loadbalancers' | 'healthmonitors'>(what: C, id: string, io: ReadIo): Promise<Item<C> | undefined>;
}

export function createOctaviaCalls(client: OpenStackClient): OctaviaCalls {
  const service = 'load-balancer';
  const readerOf = <C extends Collection>(what: C) => collections[what].read as (item: AnswerFields) => Item<C>;

  async function all<C extends Collection>(what: C, path: string, query: Query, { signal }: ReadIo, urgency: Urgency) {
    const request = { service, path, query: [['limit', '1000'], ...query], urgency, signal } as const;
    return (await client.list(request, what)).map(readerOf(what));
  }

  return {
    send(method, path, { permit, signal }, body, query) {
      const request = { service, method, path: `/lbaas/${path}`, urgency: 'change', permit, signal } as const;
      return client.change({ ...request, ...(body && { body }), ...(query && { query }) });
    },
    list: (what, query, io, urgency = 'need') => all(what, `/lbaas/${what}`, query, io, urgency),
    async membersOf(pool, io) {
      // It may have been deleted since it was listed.
      return (await unlessNotFound(all('members', `/lbaas/pools/${pool}/members`, [], io, 'need'))) ?? [];
    },
    async get(what, id, { signal }) {
      const answer = await unlessNotFound(client.get({ service, path: `/lbaas/${what}/${id}`, signal }));
      return answer && readerOf(what)(answer.object(collections[what].word));
    },
  };
}
