import {
  ElasticLoadBalancingV2Client,
  type ElasticLoadBalancingV2ClientConfig,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { clientDefaults, createServiceCalls, type ServiceCalls, type ServiceCallsOptions } from './service-calls.ts';

/** Network load balancers, their listeners and target groups. */
export function createElbV2(config: ElasticLoadBalancingV2ClientConfig, options: ServiceCallsOptions): ServiceCalls {
  return createServiceCalls(new ElasticLoadBalancingV2Client({ ...config, ...clientDefaults(options) }), options);
}
