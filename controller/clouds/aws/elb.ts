import {
  ElasticLoadBalancingClient,
  type ElasticLoadBalancingClientConfig,
} from '@aws-sdk/client-elastic-load-balancing';
import { clientDefaults, createServiceCalls, type ServiceCalls, type ServiceCallsOptions } from './service-calls.ts';

/** Classic load balancers. */
export function createElb(config: ElasticLoadBalancingClientConfig, options: ServiceCallsOptions): ServiceCalls {
  return createServiceCalls(new ElasticLoadBalancingClient({ ...config, ...clientDefaults(options) }), options);
}
