import { simulated } from '../../../common/provider-id/simulated.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { wholeIn } from '../answer-values.ts';
import { ownerTags } from '../load-balancers.ts';
import type { ObservedRoute, RouteTable } from '../routes.ts';
import { resourceId, tagsIn } from './load-balancer-answer.ts';

/** @throws CloudError `Invalid` */
export function readRoute(fields: AnswerFields, region: string, cluster: string): ObservedRoute {
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

/** What stands beside the items of a list; undefined where the cloud tells no limit. */
export function readQuota(page: AnswerFields): RouteTable['quota'] {
  const quota = page.optionalObject('quota');
  return quota && { limit: wholeIn(quota, 'limit'), used: wholeIn(quota, 'used') };
}
