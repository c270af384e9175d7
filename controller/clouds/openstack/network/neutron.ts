import type { ReadIo, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { Urgency } from '../../urgency.ts';
import type { ChangeRequest, OpenStackClient, Query } from '../client.ts';
import type { JsonObject } from '../json.ts';

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
  ): Promise<readonly AnswerFields[]>;
  get(collection: Collection, id: string, io: ReadIo): Promise<AnswerFields>;
  /** One mutating call; answers what was made or changed. */
  change(request: NeutronRequest, io: Pick<WriteIo, 'permit' | 'signal'>): Promise<readonly AnswerFields[]>;
}

export function createNeutron(client: OpenStackClient): Neutron {
  const service = 'network';
  return {
    list(collection, query, fields, { signal }, urgency = 'need') {
      const asked: Query = [['limit', '1000'], ...query, ...fields.map((name) => ['fields', name] as const)];
      const request = { service, path: `/${collection}`, query: asked, urgency, signal } as const;
      return client.list(request, collection.replaceAll('-', '_'));
    },
    async get(collection, id, { signal }) {
      const answer = await client.get({ service, path: `/${collection}/${id}`, urgency: 'change', signal });
      return answer.object(words[collection]);
    },
    async change({ method, collection, id, fields, revision }, { permit, signal }) {
      const word = words[collection];
      const isList = Array.isArray(fields);
      const answer = await client.change({
        service,
        method,
        path: `/${collection}${id === undefined ? '' : `/${id}`}`,
        ...(fields !== undefined && { body: { [isList ? `${word}s` : word]: fields } }),
        ...(revision !== undefined && { headers: { 'if-match': `revision_number=${revision}` } }),
        urgency: 'change',
        permit,
        signal,
      });
      if (method === 'DELETE') return [];
      return isList ? answer.objects(`${word}s`) : [answer.object(word)];
    },
  };
}
