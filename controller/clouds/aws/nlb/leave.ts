import { type Owner, ownerTags } from '../../load-balancers.ts';
import { ownerIn } from '../load-balancer-tags.ts';
import { planGroupRemoval } from '../security-groups/group-removal.ts';
import { planNodeRuleRemoval } from '../security-groups/node-rules.ts';
import { isLeft, leftGroups, leftTag } from './left.ts';
import {
  frontGroupOf,
  type LoadBalancer,
  othersListeners,
  ownListeners,
  type Pieces,
  type Subject,
} from './observed.ts';
import type { NlbPlan } from './plan.ts';
import { type NlbStep, securityGroupStep, stepOf } from './step.ts';

/** Our listeners on a load balancer go; target groups that nobody uses then are found stale. */
export function planDetach(subject: Subject, one: LoadBalancer, pieces: Pieces): NlbStep[] {
  return ownListeners(one, pieces, subject.owner).map(({ arn, port, protocol }) =>
    stepOf(
      subject,
      arn,
      `delete listener ${protocol} ${port} of ${one.name}`,
      { does: 'delete listener', arn },
      one.arn,
    ),
  );
}

/** What is ours on a load balancer of somebody else goes; one that was left to those that use it goes as a whole with the last of them, unless that one retains it. */
export function planLeavingHost(subject: Subject, host: LoadBalancer, pieces: Pieces, retain: boolean): NlbStep[] {
  const detach = planDetach(subject, host, pieces);
  if (!isLeft(host, subject.owner.cluster)) return detach;
  const isOthers = othersListeners(host, pieces, subject.owner).length > 0;
  // Whoever only names it has no say in what becomes of it.
  if (isOthers && detach.length === 0) return [];
  if (retain) {
    const tags = { [ownerTags.retained]: subject.service };
    const summary = `tag ${host.name} as kept when ${subject.service} goes`;
    return [stepOf(subject, host.arn, summary, { does: 'add tags', arns: [host.arn], tags }), ...detach];
  }
  if (isOthers) return detach;
  const { arn, name } = host;
  const owner = ownerIn(host.tags, subject.owner.cluster)!;
  const summary = `delete load balancer ${name}, which nobody uses any more`;
  return [
    ...planUntold(subject, { owner, name, groups: host.securityGroups }, pieces),
    stepOf(subject, arn, summary, { does: 'delete load balancer', arn }),
  ];
}

/** Rules on the nodes that no group of ours tells of: they go before their load balancer, since afterwards nothing would remember them. */
export function planUntold(
  subject: Subject,
  { owner, name, groups }: { readonly owner: Owner; readonly name: string; readonly groups: readonly string[] },
  { network }: Pieces,
): NlbStep[] {
  if (frontGroupOf(network, owner) !== undefined) return [];
  const removal = { owner, loadBalancer: name, groups, ownGroup: undefined };
  return planNodeRuleRemoval(removal, network).map((call) => securityGroupStep(subject, call));
}

/** Security groups of what was left to others and went with us, the last of them. */
export function planLeftGroups(subject: Subject, { network, ended }: Pieces): Pick<NlbPlan, 'steps' | 'waitMs'> {
  const { cluster } = subject.owner;
  const plans = leftGroups(network, cluster, ended).map(({ id, tags }) => {
    const arn = tags[leftTag]!;
    const removal = { owner: ownerIn(tags, cluster)!, loadBalancer: nameIn(arn), groups: [id], ownGroup: id };
    return planGroupRemoval(removal, network);
  });
  return {
    steps: plans.flatMap(({ steps }) => steps.map((call) => securityGroupStep(subject, call))),
    waitMs: plans.find((plan) => plan.waitMs !== undefined)?.waitMs,
  };
}

/** `.../loadbalancer/net/<name>/<id>` */
function nameIn(arn: string): string {
  return arn.split('/').at(-2) ?? '';
}
