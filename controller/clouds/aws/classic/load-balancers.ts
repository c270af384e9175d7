import { aws } from '../../../../common/provider-id/aws.ts';
import type { LoadBalancers } from '../../load-balancers.ts';
import { annotationDefinitions } from '../load-balancer-annotations.ts';
import type { AwsParts } from '../parts.ts';
import { createClassicApply } from './apply.ts';
import type { ClassicObserved } from './observed.ts';
import { planClassic } from './plan.ts';
import { createClassicReads, type SharedNetwork } from './reads.ts';
import { planClassicRemoval } from './removal.ts';
import type { ClassicStep } from './step.ts';

export interface ClassicParts
  extends Pick<AwsParts, 'context' | 'config' | 'region' | 'allowedGroups' | 'elb' | 'cluster'> {
  /** Shared with network load balancers. */
  readonly network: SharedNetwork;
}

/** A name is enough to find one, and a list shows new ones at once; security groups take a moment. */
const settleMs = 10_000;
/** AWS's quota; an account may have more. */
const maxMembers = 1000;

/** The classic load balancers of one account and region. */
export function createClassicLoadBalancers(parts: ClassicParts): LoadBalancers<ClassicObserved, ClassicStep> {
  const { network, config, region } = parts;
  const reads = createClassicReads(parts, network);
  const idOf = (providerID: string) => {
    const known = aws.parse(providerID);
    return known !== undefined && (known.zone === undefined || known.zone.startsWith(region))
      ? known.instanceId
      : undefined;
  };
  return {
    annotations: annotationDefinitions,
    maxMembers,
    // A member that leaves is deregistered at once; AWS lets its connections end where the annotation asks for it.
    drains: false,
    settleMs,
    observeAll: reads.observeAll,
    observe: reads.observe,
    plan(desired, observed) {
      const permissions = { allowed: parts.allowedGroups, groups: network.reads.lastGroups() };
      return planClassic(desired, observed, { config, idOf, permissions });
    },
    planRemoval: (observed, { retain }) => planClassicRemoval(observed, retain),
    apply: createClassicApply(parts, network, reads),
  };
}
