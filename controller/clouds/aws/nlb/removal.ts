import { ownerTags } from '../../load-balancers.ts';
import { tagsFor } from '../load-balancer-tags.ts';
import { planGroupRemoval } from '../security-groups/group-removal.ts';
import { planNodeRuleRemoval } from '../security-groups/node-rules.ts';
import { planTags } from './balancer-plan.ts';
import {
  frontGroupOf,
  type LoadBalancer,
  type NlbObserved,
  othersListeners,
  ownListeners,
  type Pieces,
  type Subject,
  servesOthers,
  type TargetGroup,
} from './observed.ts';
import { type NlbPlan, planDetach, waitMs } from './plan.ts';
import { type NlbStep, securityGroupStep, stepOf } from './step.ts';

/**
 * Listeners on others' load balancers first, then the load balancer, its target groups, and at last the security groups. Rules on the nodes that no group of our own tells of
 * go before the load balancer does: afterwards nothing would remember them.
 */
export function planNlbRemoval({ pieces }: NlbObserved, retain: boolean): NlbPlan {
  const { subject, own, hosts, groups, network } = pieces;
  if (!subject) return { steps: [], refusals: [], waitMs: undefined };
  if (retain && own) return planGivingUp(subject, pieces);
  if (own && othersListeners(own, pieces, subject.owner).length > 0) return planLeaving(subject, pieces, own);
  const { owner, name } = subject;
  if (own && pieces.adopted) {
    // Once the load balancer is gone, nothing but tags tells whose its parts were.
    const steps = planTags({ subject, tags: tagsFor(subject, pieces.cluster) }, pieces, own);
    if (steps.length > 0) return { steps, refusals: [], waitMs: undefined };
  }
  const steps: NlbStep[] = hosts.flatMap((host) => planDetach(subject, host, pieces));
  const ownGroup = frontGroupOf(network, owner)?.id;
  const removal = { owner, loadBalancer: name, groups: own?.securityGroups ?? [], ownGroup };
  if (ownGroup === undefined)
    steps.push(...planNodeRuleRemoval(removal, network).map((call) => securityGroupStep(subject, call)));
  if (own) {
    const summary = `delete load balancer ${own.name}`;
    steps.push(stepOf(subject, own.arn, summary, { does: 'delete load balancer', arn: own.arn }));
  }
  for (const group of groups) steps.push(planGroupOff(subject, group, pieces));
  if (ownGroup === undefined) return { steps, refusals: [], waitMs: undefined };
  const rest = planGroupRemoval(removal, network);
  steps.push(...rest.steps.map((call) => securityGroupStep(subject, call)));
  return { steps, refusals: [], waitMs: steps.length === 0 ? (rest.waitMs ?? waitMs) : rest.waitMs };
}

/** One that a listener of somebody else uses cannot be deleted, and is left to them. */
function planGroupOff(subject: Subject, group: TargetGroup, pieces: Pieces): NlbStep {
  const { arn, name } = group;
  if (!servesOthers(group, pieces))
    return stepOf(subject, name, `delete target group ${name}`, { does: 'delete target group', group: name });
  const keys = [ownerTags.service, ownerTags.serviceName];
  return stepOf(subject, arn, `leave target group ${name} to its other users`, {
    does: 'remove tags',
    arns: [arn],
    keys,
  });
}

/** Somebody else has listeners on it: what is ours goes, and the load balancer stays for them. */
function planLeaving(subject: Subject, pieces: Pieces, own: LoadBalancer): NlbPlan {
  const steps = [own, ...pieces.hosts].flatMap((one) => planDetach(subject, one, pieces));
  for (const group of pieces.groups) steps.push(planGroupOff(subject, group, pieces));
  if (own.securityGroups.length === 0) {
    const removal = { owner: subject.owner, loadBalancer: subject.name, groups: [], ownGroup: undefined };
    const calls = planNodeRuleRemoval(removal, pieces.network);
    steps.push(...calls.map((call) => securityGroupStep(subject, call)));
  }
  const rest = planGivingUp(subject, { ...pieces, hosts: [], groups: [] });
  return { ...rest, steps: [...steps, ...rest.steps] };
}

/** As many as one call about tags takes. */
const arnsPerCall = 20;

/** Our tags go, the load balancer's own last: until then the rest is still found. */
function planGivingUp(subject: Subject, pieces: Pieces): NlbPlan {
  const { own, hosts, groups, network } = pieces;
  const { owner, service } = subject;
  const keys = [ownerTags.service, ownerTags.serviceName];
  const steps: NlbStep[] = hosts.flatMap((host) => planDetach(subject, host, pieces));
  const one = own!;
  if (one.tags[ownerTags.retained] === undefined) {
    const tags = { [ownerTags.retained]: service, [ownerTags.cluster]: owner.cluster };
    const summary = `tag ${one.name} as kept when ${service} goes`;
    steps.push(stepOf(subject, one.arn, summary, { does: 'add tags', arns: [one.arn], tags }));
  }
  const parts = [...groups, ...ownListeners(one, pieces, owner)]
    .filter(({ tags }) => keys.some((key) => tags[key] !== undefined))
    .map(({ arn }) => arn);
  for (let at = 0; at < parts.length; at += arnsPerCall) {
    const arns = parts.slice(at, at + arnsPerCall);
    steps.push(
      stepOf(subject, one.arn, `give up ${arns.length} parts of ${one.name}`, { does: 'remove tags', arns, keys }),
    );
  }
  const ownGroup = frontGroupOf(network, owner);
  if (ownGroup) {
    const summary = `give up security group ${ownGroup.name}`;
    steps.push(stepOf(subject, ownGroup.id, summary, { does: 'untag security group', group: ownGroup.id, keys }));
  }
  // Adopted and never touched, it has none of ours, and the mark alone gives it up.
  const summary = `give up load balancer ${one.name}`;
  steps.push(stepOf(subject, one.arn, summary, { does: 'remove tags', arns: [one.arn], keys }));
  return { steps, refusals: [], waitMs: undefined };
}
