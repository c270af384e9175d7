import { CloudError } from '../../../../common/cloud-error.ts';
import type { ReadIo, WriteIo } from '../../../engine/resource.ts';
import type { Urgency } from '../../urgency.ts';
import type { ChangeRequest, OpenStackClient, Query } from '../client.ts';
import { type JsonObject, objectOf, objectsOf } from '../json.ts';

/** A collection of Neutron as its paths name it, and the word that its answers have for one. */
const words = {
  floatingips: 'floatingip',
  'security-groups': 'security_group',
  'security-group-rules': 'security_group_rule',
  ports: 'port',
  networks: 'network',
  subnets: 'subnet',
} as const;

export type Collection = keyof typeof words;

export interface NeutronRequest {
  readonly method: ChangeRequest['method'];
  readonly collection: Collection;
  readonly id?: string;
  /** What stands under the word for one; of a list several are made. */
  readonly fields?: JsonObject | readonly JsonObject[];
  /** Only if nothing has changed since this revision: otherwise `Stale`. */
  readonly revision?: number | undefined;
}

/** Calls to Neutron. All throw a CloudError. */
export interface Neutron {
  /** All pages. */
  list(
    collection: Collection,
    query: Query,
    fields: readonly string[],
    io: ReadIo,
    urgency?: Urgency,
  ): Promise<readonly JsonObject[]>;
  get(collection: Collection, id: string, io: ReadIo): Promise<JsonObject>;
  /** One mutating call; answers what was made or changed. */
  change(request: NeutronRequest, io: Pick<WriteIo, 'permit' | 'signal'>): Promise<readonly JsonObject[]>;
}

export function createNeutron(client: OpenStackClient): Neutron {
  return {
    async list(collection, query, fields, { signal }, urgency = 'need') {
      const operation = `GET /${collection}`;
      const asked: Query = [['limit', '1000'], ...query, ...fields.map((name) => ['fields', name] as const)];
      const request = { service: 'network', path: `/${collection}`, operation, query: asked, urgency, signal } as const;
      const { items, failure } = await client.list(request, collection.replaceAll('-', '_'));
      if (failure !== undefined) throw failure;
      return objectsOf(items);
    },
    async get(collection, id, { signal }) {
      const operation = `GET /${collection}/{id}`;
      const path = `/${collection}/${id}`;
      const answer = await client.get({ service: 'network', path, operation, urgency: 'change', signal });
      return only(objectOf(answer)?.[words[collection]], operation);
    },
    async change({ method, collection, id, fields, revision }, { permit, signal }) {
      const word = words[collection];
      const isList = Array.isArray(fields);
      const operation = `${method} /${collection}${id === undefined ? '' : '/{id}'}`;
      const request: ChangeRequest = {
        service: 'network',
        method,
        path: `/${collection}${id === undefined ? '' : `/${id}`}`,
        operation,
        ...(fields !== undefined && { body: { [isList ? `${word}s` : word]: fields } }),
        ...(revision !== undefined && { headers: { 'if-match': `revision_number=${revision}` } }),
        urgency: 'change',
        permit,
        signal,
      };
      const answer = objectOf(await client.change(request));
      if (method === 'DELETE') return [];
      return isList ? objectsOf(answer?.[`${word}s`]) : [only(answer?.[word], operation)];
    },
  };
}

function only(value: unknown, operation: string): JsonObject {
  const item = objectOf(value);
  if (item !== undefined) return item;
  throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message: 'the answer has no usable object' });
}

/** @throws CloudError `Invalid` where the answer has no id */
export function idOf(item: JsonObject, operation: string): string {
  const id = item['id'];
  if (typeof id === 'string' && id !== '') return id;
  throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message: 'the answer has no usable id' });
}
