import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { inParallel } from '../parallel.ts';
import type { AlibabaClient } from './client.ts';
import { cloud, codeOf } from './fault.ts';
import { callsAtOnce, type Reading } from './reading.ts';

/**
 * Proves of load balancers which a list left out that they do not exist: a policy may hide them from lists. Throws
 * where one exists, or where the answer says neither.
 */
export async function proveGone(
  client: AlibabaClient,
  { product, action }: { readonly product: 'slb' | 'nlb'; readonly action: string },
  ids: readonly string[],
  reading: Reading,
): Promise<void> {
  await inParallel(callsAtOnce, ids, async (LoadBalancerId) => {
    try {
      await client.call({ product, action, params: { LoadBalancerId }, ...reading });
    } catch (error) {
      // Not what is said of an action or a role that is not there.
      if (isCloudError(error) && error.kind === 'NotFound' && /LoadBalancer/i.test(codeOf(error))) return;
      throw error;
    }
    const message = `${LoadBalancerId} exists, and the list for that very id does not show it`;
    throw new CloudError({ kind: 'Unavailable', cloud, operation: action, message });
  });
}
