import type { Clock } from '../../../common/process/clock.ts';
import type { LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import type { LoadBalancers } from '../../clouds/load-balancers.ts';
import { createEngineLoadBalancers } from './load-balancers.ts';

interface CloudWithDriver {
  readonly name: string;
  readonly loadBalancerDriver?: LoadBalancerDriver | undefined;
  readonly loadBalancers?: LoadBalancers | undefined;
  close(): void;
}

/** The cloud with the load balancers that its driver describes; the cloud itself where it has no driver. */
export function withLoadBalancers<C extends CloudWithDriver>(cloud: C, clock: Clock): C {
  const driver = cloud.loadBalancerDriver;
  if (driver === undefined) return cloud;
  const closing = new AbortController();
  const { signal } = closing;
  const made = createEngineLoadBalancers({ driver, cloud: cloud.name, clock, signal });
  return {
    ...cloud,
    loadBalancers: made,
    close() {
      closing.abort();
      cloud.close();
    },
  };
}
