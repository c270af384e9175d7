import type { Version } from '../../../engine/driver.ts';
import type { ReadIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { unlessNotFound } from '../../not-found.ts';
import type { Permit } from '../../permit.ts';
import { type ArmClient, versions } from '../client.ts';
import { groupPath } from '../resource-id.ts';
import type { Json } from './json.ts';

export interface ArmPlace {
  readonly subscription: string;
  readonly resourceGroup: string;
  /** `loadBalancers` */
  readonly type: string;
}

/** A read in between shows what is written as if it were done: only its state tells. */
const longestMs = 20 * 60_000;

type Named = Version<Json> & { readonly name: string };

/** Network resources of one type in one resource group, each written as a whole under its etag. Throws CloudErrors. */
export interface ArmDocuments {
  all(io: ReadIo): Promise<readonly Named[]>;
  read(name: string, io: ReadIo): Promise<Version<Json> | undefined>;
  /** Resolves with the state at the end of the operation: it adds addresses and another etag. */
  write(name: string, json: Json, version: string | undefined, permit: Permit): Promise<Version<Json>>;
  /** @param version undefined: any */
  remove(name: string, version: string | undefined, permit: Permit): Promise<void>;
  idOf(name: string): string;
}

export function createArmDocuments(client: ArmClient, place: ArmPlace): ArmDocuments {
  const { subscription, resourceGroup, type } = place;
  const version = versions.network;
  const list = groupPath(subscription, resourceGroup, `Microsoft.Network/${type}`);
  const pathOf = (name: string) => `${list}/${encodeURIComponent(name)}`;
  const request = (verb: string, name: string) => ({
    operation: `${verb} ${type}/{name}`,
    path: pathOf(name),
    version,
  });
  const documentOf = (fields: AnswerFields): Named => {
    // Named where it is wrong.
    fields.object('properties');
    fields.text('id');
    return { name: fields.text('name'), doc: fields.json(), version: fields.text('etag') };
  };

  async function read(name: string, { signal }: ReadIo): Promise<Version<Json> | undefined> {
    const fields = await unlessNotFound(client.get({ ...request('GET', name), signal }));
    return fields && documentOf(fields);
  }

  return {
    async all({ signal }) {
      const fields = await client.list({ operation: `GET ${type}`, path: list, version, urgency: 'refresh', signal });
      return fields.map(documentOf);
    },
    read,
    async write(name, body, etag, permit) {
      return documentOf(await client.write({ ...request('PUT', name), body, etag, permit, longestMs }));
    },
    remove: (name, etag, permit) => client.remove({ ...request('DELETE', name), etag, permit, longestMs }),
    idOf: (name) => `${list}/${name}`,
  };
}
