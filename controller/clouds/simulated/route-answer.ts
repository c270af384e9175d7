import { simulated } from '../../../common/provider-id/simulated.ts';
import { ownerTags } from '../load-balancers.ts';
import type { ObservedRoute, RouteTable } from '../routes.ts';
import { flag, isObject, objectOf, tagsOf, text, unexpected, whole } from './answer-fields.ts';
import { resourceId } from './load-balancer-answer.ts';

/** Validates one item of an answer. Throws a TypeError that names the field, what it holds and what was expected. */
export function readRoute(item: unknown, region: string, cluster: string): ObservedRoute {
  const fields = objectOf(item, 'route');
  const destination = text(fields, 'destination');
  if (!/^[0-9a-f.:]+\/\d{1,3}$/.test(destination)) throw unexpected('destination', destination, 'a CIDR');
  const id = resourceId(fields);
  const instanceId = text(fields, 'instanceId');
  return {
    id,
    destination,
    providerID: simulated.print({ instanceId, region }),
    blackhole: flag(fields, 'blackhole'),
    ours: tagsOf(fields)[ownerTags.cluster] === cluster,
  };
}

/** What stands beside the items of a list; undefined where the cloud tells no limit. */
export function readQuota(page: unknown): RouteTable['quota'] {
  const quota = isObject(page) ? page['quota'] : undefined;
  if (quota === undefined) return undefined;
  const fields = objectOf(quota, 'quota');
  return { limit: whole(fields, 'limit'), used: whole(fields, 'used') };
}
