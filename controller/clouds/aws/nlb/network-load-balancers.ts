import { aws } from '../../../../common/provider-id/aws.ts';
import type { LoadBalancers } from '../../load-balancers.ts';
import type { AwsParts } from '../parts.ts';
import type { UsersOfGroups } from '../security-groups/group-users.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import type { SecurityGroupCalls } from '../security-groups/security-group-calls.ts';
import { createNlbApply } from './apply.ts';
import type { NlbObserved } from './observed.ts';
import { type PlanContext, planNlb } from './plan.ts';
import { createNlbReads, type NlbReads } from './reads.ts';
import { planNlbRemoval } from './removal.ts';
import type { NlbStep } from './step.ts';

/** What load balancers of both kinds share: one of each, so that what one knows of shared groups the other knows, too. */
export interface SharedNetwork {
  readonly reads: NetworkReads;
  readonly users: UsersOfGroups;
  readonly groups: SecurityGroupCalls;
}

export interface NlbParts extends AwsParts {
  readonly network: SharedNetwork;
}

export type NetworkLoadBalancers = Omit<LoadBalancers<NlbObserved, NlbStep>, 'annotations' | 'nodeLabels'> &
  Pick<NlbReads, 'probe'>;

/** Network load balancers, with listeners, target groups and targets. */
export function createNetworkLoadBalancers(parts: NlbParts): NetworkLoadBalancers {
  const { config, region, network } = parts;
  const reads = createNlbReads(parts, network.reads, network.users);
  const accepts = (providerID: string) => {
    const parsed = aws.parse(providerID);
    return parsed !== undefined && (parsed.zone === undefined || parsed.zone.startsWith(region));
  };
  const context = (): PlanContext => ({
    ...{ config, cluster: reads.cluster(), accepts },
    permissions: { allowed: parts.allowedGroups, groups: network.reads.lastGroups() },
  });
  return {
    // AWS's default quota of targets in one target group. That of a zone depends on where the Nodes are, and AWS says when it is reached.
    maxMembers: 1000,
    // Whoever is deregistered is drained by AWS itself, for the deregistration delay of its group.
    drains: false,
    settleMs: 30_000,
    observe: reads.observe,
    observeAll: reads.observeAll,
    plan: (desired, observed) => planNlb(desired, observed, context()),
    planRemoval: (observed, { retain }) => planNlbRemoval(observed, retain),
    apply: createNlbApply({ parts, reads, network: network.reads, securityGroups: network.groups }),
    probe: reads.probe,
  };
}
