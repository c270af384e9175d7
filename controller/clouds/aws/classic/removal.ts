import { type LoadBalancerPlan, ownerTags } from '../../load-balancers.ts';
import { planGroupRemoval } from '../security-groups/group-removal.ts';
import { planNodeRuleRemoval } from '../security-groups/node-rules.ts';
import { plannedCall } from '../security-groups/security-group-call.ts';
import { isTrafficGroup } from '../security-groups/traffic-group.ts';
import { type ClassicObserved, type ClassicPieces, ownGroupIn } from './observed.ts';
import { type ClassicStep, groupStep, stepOf } from './step.ts';
import { takeOverGroup } from './take-over.ts';

/**
 * The load balancer, then the rules and groups that only it needed; its own group, by whose tags the rest is found again, at the very last. Where its groups are a
 * person's, the rules go first and the load balancer last.
 */
export function planClassicRemoval({ pieces }: ClassicObserved, retain: boolean): LoadBalancerPlan<ClassicStep> {
  const { subject, balancer, isOurs, facts } = pieces;
  const own = ownGroupIn(pieces);
  const ours = balancer !== undefined && isOurs ? balancer : undefined;
  if (retain) return { steps: giveUp(pieces), refusals: [], waitMs: undefined };
  const removal = {
    owner: subject.owner,
    loadBalancer: subject.name,
    ownGroup: own?.id,
    groups: ours?.securityGroups ?? [],
  };
  const remove = ours && stepOf(subject, `delete load balancer ${ours.name}`, { does: 'delete load balancer' });
  if (own === undefined) {
    const persons = removal.groups.filter(
      (id) => !isTrafficGroup(facts.groups.get(id)?.tags ?? {}, subject.owner.cluster),
    );
    const rules = planNodeRuleRemoval({ ...removal, groups: persons }, facts);
    const steps = [...rules.map((call) => groupStep(subject, call)), ...(remove ? [remove] : [])];
    return { steps, refusals: [], waitMs: undefined };
  }
  const { steps, waitMs } = planGroupRemoval(removal, facts);
  return {
    steps: [...takeOverGroup(pieces), ...(remove ? [remove] : []), ...steps.map((call) => groupStep(subject, call))],
    refusals: [],
    waitMs: remove ? undefined : waitMs,
  };
}

/** Our tags go, those of the load balancer itself last: until then the rest is still found. */
function giveUp(pieces: ClassicPieces): ClassicStep[] {
  const { subject, balancer, isOurs } = pieces;
  const kept = { [ownerTags.retained]: subject.service };
  const keys = [ownerTags.service, ownerTags.serviceName];
  const steps: ClassicStep[] = [];
  const own = ownGroupIn(pieces);
  if (own !== undefined) {
    if (own.tags[ownerTags.retained] === undefined) {
      steps.push(groupStep(subject, plannedCall({ does: 'tag security group', group: own.id, tags: kept }, own.name)));
    }
    steps.push(groupStep(subject, plannedCall({ does: 'untag security group', group: own.id, keys }, own.name)));
  }
  if (balancer === undefined || !isOurs) return steps;
  if (balancer.tags[ownerTags.retained] === undefined) {
    steps.push(stepOf(subject, `load balancer ${balancer.name} stays`, { does: 'add tags', tags: kept }));
  }
  steps.push(stepOf(subject, `give up load balancer ${balancer.name}`, { does: 'remove tags', keys }));
  return steps;
}
