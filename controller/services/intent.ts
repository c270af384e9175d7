import { annotations as annotationKeys } from '../../common/well-known.ts';
import { hasFinalizer, type ServiceView } from '../model/service-view.ts';
import { parseRecord } from './record.ts';

/**
 * - `ensure`: it asks for a load balancer of ours
 * - `remove`: it has, or may have, one of ours and no longer asks for one
 * - `disown`: as `remove`, but its class is now another controller's: their finalizer and status stay
 * - `none`: it has none of ours and asks for none
 */
export type Intent = 'ensure' | 'remove' | 'disown' | 'none';

/**
 * The intent for a Service. Services without a `loadBalancerClass` are ours, those with one only if `classes`
 * has it. A terminating Service is never ensured. Pure.
 */
export function intentOf(service: ServiceView, classes: readonly string[]): Intent {
  const isBalanced = service.type === 'LoadBalancer';
  const isRecorded = parseRecord(service.annotations[annotationKeys.loadBalancer]) !== undefined;
  const isOurs = service.loadBalancerClass === '' || classes.includes(service.loadBalancerClass);
  if (isBalanced && !isOurs) return isRecorded ? 'disown' : 'none';
  if (isBalanced && !service.deleting) return 'ensure';
  return isRecorded || hasFinalizer(service) ? 'remove' : 'none';
}
