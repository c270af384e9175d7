import { CloudError } from '../../../../common/cloud-error.ts';
import type { OpenStackClient, Query } from '../client.ts';
import { listOf, numberOf, objectOf, textOf } from '../json.ts';
import type { ReadOptions } from './extensions.ts';

/** An item of a router's `routes`, word for word: Neutron removes by that alone. */
export interface ExtraRoute {
  readonly destination: string;
  readonly nexthop: string;
}

export interface Router {
  readonly routes: readonly ExtraRoute[];
  /** Undefined where Neutron counts no revisions. */
  readonly revision: number | undefined;
}

const fields: Query = ['id', 'routes', 'revision_number'].map((name) => ['fields', name]);

/** @throws CloudError */
export async function readRouter(
  client: OpenStackClient,
  id: string,
  { urgency, signal }: ReadOptions,
): Promise<Router> {
  const operation = 'GET /routers/{id}';
  const path = `/routers/${encodeURIComponent(id)}`;
  return routerOf(await client.get({ service: 'network', path, operation, query: fields, urgency, signal }), operation);
}

export function routerOf(body: unknown, operation: string): Router {
  const router = objectOf(objectOf(body)?.['router']);
  const routes = listOf(router?.['routes']);
  if (router === undefined || routes === undefined) {
    const message = 'the answer has no router.routes';
    throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
  }
  return {
    routes: routes.map((item) => extraRouteOf(item, operation)),
    revision: numberOf(router['revision_number']),
  };
}

/** A route left out would be taken away by the next whole list that is written. */
function extraRouteOf(item: unknown, operation: string): ExtraRoute {
  const destination = textOf(objectOf(item)?.['destination']);
  const nexthop = textOf(objectOf(item)?.['nexthop']);
  if (destination !== undefined && nexthop !== undefined) return { destination, nexthop };
  const message = `router.routes: ${JSON.stringify(item)?.slice(0, 80)}, expected destination and nexthop`;
  throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
}
