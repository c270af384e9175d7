import type { LoadBalancerPlan, Refusal } from '../clouds/load-balancers.ts';
import { externalReferencesOf } from '../model/service-view.ts';
import { type Action, patienceMs, refusedRetryMs, settle } from './action.ts';
import { unknownAnnotations } from './desired.ts';
import { type LoadBalancerReason, statusOf } from './reasons.ts';
import type { RefusedMember } from './refused-members.ts';
import { ingressOf, type LoadBalancerCondition, type ServiceChange } from './service-patches.ts';
import { isOurs, type Situation } from './situation.ts';

/** When to read a load balancer again that has no address yet. */
const addressRetryMs = 15_000;
const ensured = 'the load balancer is as the Service asks';
const outOfDate = 'for more than five minutes it could not be brought up to date';
// Without a number, because each change of it would be a write of every Service.
const withheldMembers = 'members whose Nodes vanished unexplained stay until --member-removal-budget has room for them';
const omittedNodes =
  'the cloud does not accept all Nodes as members, pods on the others get no traffic (externalTrafficPolicy Local)';

/**
 * The action and the condition of a Service for which the cloud has no step to take. Pure.
 *
 * @param invalid what keeps it from being asked for
 */
export function ensuredAction(
  situation: Situation,
  plan: LoadBalancerPlan,
  change: ServiceChange,
  invalid: LoadBalancerCondition | undefined,
): Action {
  const { service, observation, refused, members, retention, withheld = 0, ofPods = false } = situation;
  const { nowMs, waitingSinceMs = nowMs } = situation;
  const observed = observation?.observed;
  const shown = observed && isOurs(situation, observed) ? observed.ingress : [];
  const faults = portFaults(plan.refusals);
  const all: ServiceChange = shown.length > 0 ? { ...change, ingress: ingressOf(service, shown, faults) } : change;
  const notes: LoadBalancerCondition[] = plan.refusals.filter(({ reason }) => statusOf(reason) === 'True');
  if ('message' in retention) notes.push({ reason: 'RetentionNotAllowed', message: retention.message });
  const remarks = [...notes.map(({ message }) => message), ...remarksOf(situation, plan)];
  const refusals: LoadBalancerCondition[] = plan.refusals.filter(({ reason }) => statusOf(reason) === 'False');
  if (invalid !== undefined) refusals.unshift(invalid);
  const [refusal] = refusals;
  if (refusal !== undefined) {
    const message = [...refusals.map((each) => each.message), ...remarks].join('; ');
    // Others may delete the blocking resource, create the named one, or give consent, and no event tells us.
    const mayPass =
      externalReferencesOf(service) !== undefined ||
      refusals.some(({ reason }) => reason === 'ForeignLoadBalancer' || reason === 'Conflict');
    const againInMs = plan.waitMs ?? (mayPass ? refusedRetryMs : undefined);
    return settle(refusal.reason, message, { change: all, againInMs });
  }
  if (plan.waitMs !== undefined || shown.length === 0) {
    const again = { change: all, againInMs: plan.waitMs ?? addressRetryMs, waits: plan.waitMs !== undefined };
    if (shown.length > 0 && nowMs - waitingSinceMs >= patienceMs) {
      const waits = [...new Set(plan.waitsFor)].slice(0, 3);
      return settle('AwaitingCloud', [outOfDate, ...waits].join('; '), again);
    }
    // A Service that is served keeps its condition: a change of one member must not cost two writes of the Service.
    if (service.condition?.status === 'True' && shown.length > 0) {
      const { reason, message } = service.condition;
      return settle(reason as LoadBalancerReason, message, again);
    }
    const message = shown.length === 0 ? 'the load balancer has no address yet' : 'the cloud is still changing it';
    return settle('Provisioning', message, again);
  }
  if (members.length === 0 && refused.length === 0)
    return settle(
      'NoMembers',
      [ofPods ? 'no pod of this Service is ready' : 'no Node may serve this Service', ...remarks].join('; '),
      { change: all },
    );
  if (refused.length > 0)
    return settle('MembersRefused', [refusedText(refused), ...remarks].join('; '), { change: all });
  if (withheld > 0) return settle('MemberRemovalWithheld', [withheldMembers, ...remarks].join('; '), { change: all });
  const [note] = notes;
  if (note !== undefined) return settle(note.reason, remarks.join('; '), { change: all });
  return settle('Ensured', [ensured, ...remarks].join('; '), { change: all });
}

/** Additions to the message of the condition, although nothing is refused. */
function remarksOf(situation: Situation, { remarks = [] }: LoadBalancerPlan): readonly string[] {
  const { service, cloud, ofPods, omits } = situation;
  const unknown = unknownAnnotations(service, cloud);
  return [
    ...(ofPods ? ['its members are the ready pods, not Nodes'] : []),
    ...(omits && service.externalTrafficPolicy === 'Local' ? [omittedNodes] : []),
    ...remarks,
    ...(unknown.length === 0 ? [] : [`unknown annotations: ${unknown.join(', ')}`]),
  ];
}

/** Names and reasons, each reason once. */
function refusedText(refused: readonly RefusedMember[]): string {
  const names = refused.map(({ node }) => node).sort();
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  const reasons = [...new Set(refused.map(({ why }) => why))].slice(0, 2).map((why) => why.slice(0, 300));
  return `the cloud refuses as members: ${names.slice(0, 5).join(', ')}${more}; ${reasons.join('; ')}`;
}

/** Ports that are not served, for the status; a refusal that names none is of no single port. */
function portFaults(refusals: readonly Refusal[]): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  for (const refusal of refusals) {
    for (const { protocol, port } of refusal.ports ?? [])
      faults.set(`${protocol}/${port}`, `mooring.dev/${refusal.reason}`);
  }
  return faults;
}
