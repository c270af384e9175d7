import type { Clock } from '../../../../common/process/clock.ts';
import type { Log } from '../../../../common/process/log.ts';
import type { LoadBalancers } from '../../load-balancers.ts';
import type { OpenStackClient } from '../client.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { annotationDefinitions, annotationPrefixes } from './annotations.ts';
import { octaviaSteps } from './apply.ts';
import { nodeLabels } from './node-labels.ts';
import type { OctaviaObserved } from './observed.ts';
import { planLoadBalancer } from './plan.ts';
import { octaviaReads } from './reads.ts';
import { planRemoval } from './removal.ts';
import type { OctaviaStep } from './step.ts';

export interface LoadBalancerParts {
  readonly client: OpenStackClient;
  readonly config: LoadBalancerConfig;
  readonly clock: Clock;
  /** The server's uuid, when this scope could hold it. */
  readonly serverIdOf: (providerID: string) => string | undefined;
  /** As this cloud writes it. */
  readonly providerIDOf: (serverId: string) => string;
  readonly log?: Log;
}

/** A create whose answer was lost may still be on its way for so long. */
const settleMs = 60_000;

/** The load balancers of one project: Octavia, with floating IPs and security groups of Neutron. Opening makes no call. */
export function createLoadBalancers({
  client,
  config,
  clock,
  serverIdOf,
  providerIDOf,
}: LoadBalancerParts): LoadBalancers<OctaviaObserved, OctaviaStep> {
  const reads = octaviaReads({ client, clock, config, providerIDOf });
  const apply = octaviaSteps({ client, reads });
  return {
    annotations: annotationDefinitions,
    annotationPrefixes,
    nodeLabels: nodeLabels(config),
    maxMembers: undefined,
    drains: config.provider !== 'ovn',
    settleMs,
    observeAll: reads.observeAll,
    observe: reads.observe,
    plan: (desired, observed) => planLoadBalancer(desired, observed, { config, minor: reads.minor(), serverIdOf }),
    planRemoval: (observed, { retain }) => planRemoval(observed, retain, config),
    async apply(step, observed, options) {
      const after = await apply(step, observed, options);
      options.onStep?.(step);
      return after;
    },
  };
}
