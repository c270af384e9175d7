import { ownerTags } from '../../load-balancers.ts';
import { tagsFor } from '../load-balancer-tags.ts';
import { planGroupRemoval } from '../security-groups/group-removal.ts';
import { plannedCall } from '../security-groups/security-group-call.ts';
import { planTags } from './balancer-plan.ts';
import { planDetach, planLeavingHost, planLeftGroups, planUntold } from './leave.ts';
import { leftTag } from './left.ts';
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
import { type NlbPlan, waitMs } from './plan.ts';
import { type NlbStep, securityGroupStep, stepOf } from './step.ts';

/**
 * Listeners on others' load balancers first, then the load balancer, its target groups, and at last the security groups. One that serves somebody else, too, stays for them,
 * and goes with the last of them.
 */
export function planNlbRemoval({ pieces }: NlbObserved, retain: boolean): NlbPlan {
  const { subject, own, hosts, groups, network } = pieces;
  if (!subject) return { steps: [], refusals: [], waitMs: undefined };
  if (retain && own) return planGivingUp(subject, pieces);
  const { owner, name } = subject;
  if (own && pieces.adopted) {
    // Once the load balancer is gone, or others' alone, nothing but tags tells whose its parts were.
    const steps = planTags({ subject, tags: tagsFor(subject, pieces.cluster) }, pieces, own);
    if (steps.length > 0) return { steps, refusals: [], waitMs: undefined };
  }
  if (own && othersListeners(own, pieces, owner).length > 0) return planLeaving(subject, pieces, own);
  const steps: NlbStep[] = hosts.flatMap((host) => planLeavingHost(subject, host, pieces, retain));
  steps.push(...planUntold(subject, { owner, name, groups: own?.securityGroups ?? [] }, pieces));
  if (own) {
    const summary = `delete load balancer ${own.name}`;
    steps.push(stepOf(subject, own.arn, summary, { does: 'delete load balancer', arn: own.arn }));
  }
  for (const group of groups) steps.push(planGroupOff(subject, group, pieces));
  const left = planLeftGroups(subject, pieces);
  steps.push(...left.steps);
  const ownGroup = frontGroupOf(network, owner)?.id;
  if (ownGroup === undefined) return { steps, refusals: [], waitMs: left.waitMs };
  const rest = planGroupRemoval({ owner, loadBalancer: name, groups: own?.securityGroups ?? [], ownGroup }, network);
  steps.push(...rest.steps.map((call) => securityGroupStep(subject, call)));
  const wait = rest.waitMs ?? left.waitMs;
  return { steps, refusals: [], waitMs: steps.length === 0 ? (wait ?? waitMs) : wait };
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

/** Somebody else has listeners on it: what is ours goes, and it is marked as theirs, its security group first. A look after that tells whether they are still there. */
function planLeaving(subject: Subject, pieces: Pieces, own: LoadBalancer): NlbPlan {
  const { owner, service, name } = subject;
  const { arn, securityGroups } = own;
  const steps = planDetach(subject, own, pieces);
  for (const host of pieces.hosts) steps.push(...planLeavingHost(subject, host, pieces, false));
  for (const group of pieces.groups) steps.push(planGroupOff(subject, group, pieces));
  if (securityGroups.length === 0) steps.push(...planUntold(subject, { owner, name, groups: [] }, pieces));
  const front = frontGroupOf(pieces.network, owner);
  const tags = { [leftTag]: arn };
  let waitMs: number | undefined;
  if (front && !securityGroups.includes(front.id)) {
    const removal = { owner, loadBalancer: name, groups: [], ownGroup: front.id };
    const rest = planGroupRemoval(removal, pieces.network);
    steps.push(...rest.steps.map((call) => securityGroupStep(subject, call)));
    waitMs = rest.waitMs;
  } else if (front && front.tags[leftTag] !== arn) {
    const call = { does: 'tag security group', group: front.id, tags } as const;
    steps.push(securityGroupStep(subject, plannedCall(call, front.name)));
  }
  // Also where it is retained, which alone does not tell that this Service is done with it.
  if (own.tags[leftTag] !== arn) {
    const summary = `leave load balancer ${own.name} of ${service} to the others that use it`;
    steps.push(stepOf(subject, arn, summary, { does: 'add tags', arns: [arn], tags }));
  }
  return { steps, refusals: [], waitMs };
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
