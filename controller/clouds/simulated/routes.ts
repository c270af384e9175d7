import { CloudError } from '../../../common/cloud-error.ts';
import { simulated } from '../../../common/provider-id/simulated.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { wholeIn } from '../answer-values.ts';
import type { JsonApi } from '../json-api.ts';
import { ownerTags } from '../load-balancers.ts';
import { unlessNotFound } from '../not-found.ts';
import type { ApplyOptions } from '../permit.ts';
import type { DesiredRoute, ObservedRoute, Routes, RouteTable } from '../routes.ts';
import { cloud, refusalOf } from './fault.ts';
import { resourceId, tagsIn } from './load-balancer-answer.ts';
import { everyPage } from './pages.ts';

/** As many as the API gives at once. */
const pageSize = 20_000;

export interface RouteOptions {
  readonly api: JsonApi;
  readonly region: string;
  readonly idOf: (providerID: string) => string | undefined;
}

/** The route table of one project and region. A route is ours by the cluster's tag. */
export function createRoutes({ api, region, idOf }: RouteOptions): Routes {
  function read(fields: AnswerFields, cluster: string): ObservedRoute {
    const destination = fields.text('destination');
    if (!/^[0-9a-f.:]+\/\d{1,3}$/.test(destination)) throw fields.wrong('destination', 'a CIDR');
    return {
      id: resourceId(fields),
      destination,
      providerID: simulated.print({ instanceId: fields.text('instanceId'), region }),
      blackhole: fields.flag('blackhole'),
      ours: tagsIn(fields)[ownerTags.cluster] === cluster,
    };
  }

  async function observe(cluster: string, signal?: AbortSignal): Promise<RouteTable> {
    const operation = 'routes.list';
    const query = [['limit', String(pageSize)]] as const;
    const pages = await everyPage(api, { operation, path: '/routes', query, signal });
    const routes = pages.flatMap((page) => page.objects('items')).map((item) => read(item, cluster));
    const quota = readQuota(pages.at(-1)!);
    // Cut short, it would tell of a full table that lacks the routes of Nodes which have them.
    if (quota !== undefined && routes.length < quota.used) {
      const message = `${routes.length} routes shown, ${quota.used} in use`;
      throw new CloudError({ kind: 'Unavailable', cloud, operation, message });
    }
    return { routes, quota };
  }

  async function create(route: DesiredRoute, { permit, signal }: ApplyOptions): Promise<ObservedRoute> {
    const operation = 'routes.create';
    const { cluster, node, nodeUid, destination, providerID } = route;
    const instanceId = idOf(providerID);
    if (instanceId === undefined) {
      const expected = `expected simulated://${region}/<instance id>`;
      const message = `providerID: ${JSON.stringify(providerID)}, ${expected}`;
      throw new CloudError({ kind: 'Invalid', cloud, operation, message });
    }
    const body = {
      // The instance is part of it: the way to another one is another route.
      clientToken: `route ${cluster} ${destination} ${instanceId}`,
      destination,
      instanceId,
      description: `pods of node ${node}`,
      tags: { [ownerTags.cluster]: cluster, 'mooring.dev/node': node, 'mooring.dev/node-uid': nodeUid },
    };
    try {
      const made = read(await api.call({ operation, method: 'POST', path: '/routes', body, permit, signal }), cluster);
      if (made.ours && leadsTo(made, route)) return made;
      const message = `route ${made.id} to ${destination} is not as it was made`;
      throw new CloudError({ kind: 'Conflict', cloud, operation, message });
    } catch (error) {
      const there = refusalOf(error)?.code === 'route-exists' ? refusalOf(error)?.details['id'] : undefined;
      const known = typeof there === 'string' ? await get(there, cluster, signal) : undefined;
      if (known?.ours && !known.blackhole && leadsTo(known, route)) return known;
      throw error;
    }
  }

  async function get(id: string, cluster: string, signal?: AbortSignal): Promise<ObservedRoute | undefined> {
    const path = `/routes/${encodeURIComponent(id)}`;
    const answer = await unlessNotFound(api.call({ operation: 'routes.get', path, signal }));
    return answer && read(answer, cluster);
  }

  async function remove({ id }: ObservedRoute, { permit, signal }: ApplyOptions): Promise<void> {
    const path = `/routes/${encodeURIComponent(id)}`;
    await unlessNotFound(api.call({ operation: 'routes.delete', method: 'DELETE', path, permit, signal }));
  }

  return { tagged: true, observe, create, remove };
}

function leadsTo(route: ObservedRoute, { destination, providerID }: DesiredRoute): boolean {
  const { instanceId, region } = simulated.parse(providerID) ?? {};
  if (instanceId === undefined || region === undefined) return false;
  return route.destination === destination && route.providerID === simulated.print({ instanceId, region });
}

/** What stands beside the items of a list; undefined where the cloud tells no limit. */
function readQuota(page: AnswerFields): RouteTable['quota'] {
  const quota = page.optionalObject('quota');
  return quota && { limit: wholeIn(quota, 'limit'), used: wholeIn(quota, 'used') };
}
