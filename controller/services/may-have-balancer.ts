import type { ServiceView } from '../model/service-view.ts';
import { intentOf } from './intent.ts';

/** Whether it asks for a load balancer, of whatever class, or may still have one of ours. Pure. */
export function mayHaveBalancer(service: ServiceView): boolean {
  return service.type === 'LoadBalancer' || service.condition !== undefined || intentOf(service, []) !== 'none';
}
