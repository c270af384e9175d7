import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { ReadIo, WriteIo } from '../../../engine/resource.ts';
import type { Urgency } from '../../urgency.ts';
import type { OpenStackClient, Query } from '../client.ts';
import { faultOf, isThingNotFound } from '../fault.ts';
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
  /**
   * One mutating call. Not repeated. `NotFound` is Octavia's own word, `Stale`: Octavia works on the load balancer, or
   * that is in ERROR.
   */
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
      try {
        return await client.change({ ...request, ...(body && { body }), ...(query && { query }) });
      } catch (error) {
        throw explained(error, operation);
      }
    },
    list: (what, query, io, urgency = 'need') => all(what, `/lbaas/${what}`, query, io, urgency),
    async membersOf(pool, io) {
      try {
        return await all('members', `/lbaas/pools/${pool}/members`, [], io, 'need');
      } catch (error) {
        // Deleted since it was listed.
        if (isThingNotFound(error)) return [];
        throw error;
      }
    },
    async get(what, id, { signal }) {
      const path = `/lbaas/${what}/${id}`;
      const operation = operationOf('GET', path);
      try {
        const read = readers[what] as (json: unknown, operation: string) => Item<typeof what>;
        return read(await client.get({ service, path, operation, signal }), operation);
      } catch (error) {
        if (isThingNotFound(error)) return undefined;
        throw error;
      }
    },
  };
}

/** What Octavia's refusal means for what is sent next. */
function explained(error: unknown, operation: string): unknown {
  if (!isCloudError(error)) return error;
  const { status, message = '' } = faultOf(error) ?? {};
  const as = (kind: CloudError['kind']) =>
    new CloudError({ kind, cloud: 'openstack', operation, message: `${status} ${message}`, cause: error.cause });
  if (status === 404 && !isThingNotFound(error)) return as('Unavailable');
  // Of the provider: it does not have what is asked for.
  if (status === 501) return as('Invalid');
  if (status !== 409) return error;
  if (/immutable|invalid state/i.test(message)) return as('Stale');
  return /already/i.test(message) ? as('Taken') : error;
}
