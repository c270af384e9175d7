import type { LoadBalancers } from '../load-balancers.ts';
import { annotations } from './annotations.ts';
import { planLoadBalancer } from './load-balancer-plan.ts';
import { type LoadBalancerReads, loadBalancerReads } from './load-balancer-reads.ts';
import { planRemoval } from './load-balancer-removal.ts';
import type { SimulatedStep } from './load-balancer-step.ts';
import { loadBalancerSteps } from './load-balancer-steps.ts';
import { memberSets } from './member-sets.ts';
import { nodeLabels } from './node-labels.ts';
import type { SimulatedObserved } from './observed.ts';
import type { Transport } from './transport.ts';

export interface LoadBalancerOptions {
  readonly transport: Transport;
  readonly region: string;
  /** The instance id, when this scope could hold it. */
  readonly idOf: (providerID: string) => string | undefined;
  readonly maxMembers: number | undefined;
  readonly settleMs: number;
}

/** The load balancers of one project and region. */
export function createLoadBalancers(
  options: LoadBalancerOptions,
): LoadBalancers<SimulatedObserved, SimulatedStep> & Pick<LoadBalancerReads, 'probe'> {
  const { transport, region, idOf, maxMembers, settleMs } = options;
  const sets = memberSets(idOf);
  const reads = loadBalancerReads({ transport, region, sets });
  return {
    annotations,
    nodeLabels,
    maxMembers,
    drains: true,
    settleMs,
    observeAll: reads.observeAll,
    observe: reads.observe,
    plan: (desired, observed) => planLoadBalancer(desired, observed, sets),
    planRemoval: (observed, { retain }) => planRemoval(observed, retain),
    apply: loadBalancerSteps({ transport, reads, region, sets }),
    probe: reads.probe,
  };
}
