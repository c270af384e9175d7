import type { AnswerFields } from '../../answer-fields.ts';
import type { OpenStackClient, Query } from '../client.ts';
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
export async function readRouter(client: OpenStackClient, id: string, options: ReadOptions): Promise<Router> {
  const path = `/routers/${encodeURIComponent(id)}`;
  const request = { service: 'network', path, operation: 'GET /routers/{id}', query: fields, ...options } as const;
  return routerOf((await client.get(request)).object('router'));
}

/** A route left out would be taken away by the next whole list that is written. */
export function routerOf(router: AnswerFields): Router {
  return {
    routes: router.objects('routes').map((route) => ({
      destination: route.text('destination'),
      nexthop: route.text('nexthop'),
    })),
    revision: router.optionalNumber('revision_number'),
  };
}
