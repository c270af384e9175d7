import type { RoutePropertiesFormat, RouteTable, RouteTablePropertiesFormat } from '@azure/arm-network';
import { CloudError } from '../../../common/cloud-error.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { unlessNotFound } from '../not-found.ts';
import type { Permit } from '../permit.ts';
import type { Sent } from '../sent.ts';
import { type ArmClient, type OperationState, stateOf, versions } from './client.ts';
import type { RouteTablePlace } from './config.ts';
import { cloud } from './fault.ts';
import type { ReadOptions } from './network-resources.ts';
import { groupPath } from './resource-id.ts';

/** One route as Resource Manager keeps it; fields that are not read stay in it. */
export interface StoredRoute {
  readonly name: string;
  readonly properties: Readonly<RoutePropertiesFormat>;
}

/** A route table as one document. */
export interface TableDocument {
  /** Undefined: it is not there yet. */
  readonly etag: string | undefined;
  /** Of the last write: the routes of one that runs, or has failed, are shown like any others. */
  readonly state: OperationState;
  readonly routes: readonly StoredRoute[];
  /** Ids of the subnets that it is associated with. */
  readonly subnets: readonly string[];
  /** Everything that was read. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** Reads and writes the route table of a configuration. Each throws a CloudError. */
export interface RouteTableClient {
  read(options: ReadOptions): Promise<TableDocument>;
  /** Writes the document with other routes: `Stale` when it has changed since it was read. */
  write(
    document: TableDocument,
    routes: readonly StoredRoute[],
    options: { readonly permit: Permit; readonly signal: AbortSignal | undefined },
  ): Promise<void>;
}

export function createRouteTableClient(client: ArmClient, place: RouteTablePlace): RouteTableClient {
  const { subscription, resourceGroup, name, location } = place;
  const path = `${groupPath(subscription, resourceGroup, 'Microsoft.Network/routeTables')}/${encodeURIComponent(name)}`;
  const version = versions.network;

  return {
    async read(options) {
      const operation = 'GET routeTables/{name}';
      const found = await unlessNotFound(client.get({ operation, path, version, ...options }));
      if (found !== undefined) return documentOf(found);
      return { etag: undefined, state: 'done', routes: [], subnets: [], json: {} };
    },
    async write({ etag, json }, routes, { permit, signal }) {
      const operation = 'PUT routeTables/{name}';
      if (etag === undefined && location === undefined) {
        const message = `no route table ${name} is in ${resourceGroup}, and azure.json has no location to create it`;
        throw new CloudError({ kind: 'Invalid', cloud, operation, message });
      }
      const properties: Sent<RouteTablePropertiesFormat> = { ...(json['properties'] as object | undefined), routes };
      const body = { ...(etag === undefined ? ({ location } satisfies Sent<RouteTable>) : json), properties };
      await client.put({ operation, path, version, body, etag, permit, signal });
    },
  };
}

function documentOf(answer: AnswerFields): TableDocument {
  const properties = answer.object('properties');
  const routes = properties.optionalObjects('routes').map((route): StoredRoute => {
    // Named where they are wrong, and kept as they are.
    route.text('name');
    route.object('properties').text('nextHopType');
    return route.json() as unknown as StoredRoute;
  });
  const subnets = properties.optionalObjects('subnets').map((subnet) => subnet.text('id'));
  return { etag: answer.text('etag'), state: stateOf(answer), routes, subnets, json: answer.json() };
}
