import { annotations as annotationKeys } from '../../common/well-known.ts';
import { cleanupFinalizers, type ServiceView } from '../model/service-view.ts';
import { parseRecord } from './record.ts';

/**
 * - `ensure`: it asks for a load balancer of ours
 * - `remove`: it has, or may have, one of ours and no longer asks for one
 * - `disown`: as `remove`, but its class is now another controller's: their status stays
 * - `keep`: it has one that was created for its class, which is no longer among ours: nothing is changed
 * - `none`: it has none of ours and asks for none
 */
export type Intent = 'ensure' | 'remove' | 'disown' | 'keep' | 'none';

/**
 * The intent for a Service. Services without a `loadBalancerClass` are ours, those with one only if `classes`
 * has it. A terminating Service is never ensured. The class cannot change while the type stays: with another class than
 * the recorded one, it had another type in between. Pure.
 *
 * @param isMarked the cloud has a load balancer with our marks for it
 */
export function intentOf(service: ServiceView, classes: readonly string[], isMarked = false): Intent {
  const isBalanced = service.type === 'LoadBalancer';
  const record = parseRecord(service.annotations[annotationKeys.loadBalancer]);
  const isOurs = service.loadBalancerClass === '' || classes.includes(service.loadBalancerClass);
  if (isBalanced && !isOurs) {
    if (record === undefined) return isMarked ? 'disown' : 'none';
    if (record.loadBalancerClass !== service.loadBalancerClass) return 'disown';
    if (service.deleting) return 'remove';
    // Without an id there may be nothing to keep, and the record may be of another controller's Service.
    return record.id === undefined ? 'disown' : 'keep';
  }
  if (isBalanced && !service.deleting) return 'ensure';
  return record !== undefined || cleanupFinalizers(service).length > 0 || isMarked ? 'remove' : 'none';
}
