import { type DesiredLoadBalancer, type LoadBalancerPlan, ownerTags, type Refusal } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { type GroupPermissions, judgeGroups } from '../security-groups/allowed-groups.ts';
import type { ClassicLoadBalancer } from './classic-load-balancer.ts';
import { type FrontGroups, planFrontGroups, planNodes, planUnusedGroups } from './group-plan.ts';
import { planListeners } from './listener-plan.ts';
import { memberSorter, planMembers } from './member-plan.ts';
import { type ClassicObserved, type ClassicPieces, ownTags, type Subject } from './observed.ts';
import { planAttributes, planHealth } from './option-plan.ts';
import { type ClassicConfig, type ClassicSettings, readClassicSettings } from './settings.ts';
import { type ClassicStep, stepOf } from './step.ts';
import { planSubnets } from './subnet-plan.ts';
import { takeOverGroup } from './take-over.ts';

export type ClassicPlan = LoadBalancerPlan<ClassicStep>;

export interface PlanOptions {
  readonly config: ClassicConfig;
  /** The instance id, when this scope could hold it. */
  readonly idOf: (providerID: string) => string | undefined;
  /** `groups` as last read, for a load balancer that is still to be made. */
  readonly permissions: GroupPermissions;
}

/** What one Service wants. */
export interface Wanted {
  readonly desired: DesiredLoadBalancer;
  readonly settings: ClassicSettings;
  readonly subject: Subject;
  readonly config: ClassicConfig;
}

/** What makes `observed` into `desired`: one mutating call a step, safe to take up at any of them. Pure. */
export function planClassic(
  desired: DesiredLoadBalancer,
  observed: ClassicObserved | undefined,
  options: PlanOptions,
): ClassicPlan {
  const subject: Subject = { owner: desired.owner, name: desired.name, service: desired.service };
  const read = readClassicSettings(desired, options.config);
  const settings = permitted(read, subject, options.permissions, observed?.pieces);
  return { ...planSettings(settings, desired, observed, options), remarks: settings.remarks };
}

function planSettings(
  settings: ClassicSettings,
  desired: DesiredLoadBalancer,
  observed: ClassicObserved | undefined,
  { config, idOf }: PlanOptions,
): ClassicPlan {
  const subject: Subject = { owner: desired.owner, name: desired.name, service: desired.service };
  const wanted: Wanted = { desired, settings, subject, config };
  const pieces = observed?.pieces;
  const { members, strangers } = memberSorter(idOf)(desired.members);
  const refusals: Refusal[] = [...settings.refusals, ...settings.notes, ...strangers, ...attachRefusals(desired)];
  const { balancer } = pieces ?? {};
  if (pieces === undefined || balancer === undefined) {
    // Something else than what was meant is not made.
    if (settings.refusals.length > 0 || desired.attach || !settings.listeners?.length) return { ...nothing, refusals };
    const created = planCreate(wanted, pieces);
    return { ...created, refusals: [...refusals, ...created.refusals] };
  }
  if (!pieces.isOurs) {
    const kept = balancer.tags[ownerTags.retained] !== undefined ? ' any more: it was kept on purpose' : '';
    const message = `load balancer ${balancer.name} has the name, and its tags do not say that it is of ${desired.service}${kept}`;
    return { ...nothing, refusals: [...refusals, { reason: 'ForeignLoadBalancer', message }] };
  }
  const scheme = settings.internal ? 'internal' : 'internet-facing';
  if (settings.internal !== undefined && balancer.scheme !== scheme) {
    if (desired.mayChangeAddress && settings.refusals.length === 0 && settings.listeners?.length) {
      const summary = `delete load balancer ${balancer.name}, which is ${balancer.scheme}; it is made anew as ${scheme}`;
      const remove = stepOf(subject, summary, { does: 'delete load balancer' });
      const created = planCreate(wanted, { ...pieces, balancer: undefined, isOurs: false });
      const first = pieces.adopted ? takeOver(wanted, pieces) : [];
      return { ...created, steps: [...first, remove, ...created.steps], refusals: [...refusals, ...created.refusals] };
    }
    const message = `load balancer ${balancer.name}: from ${balancer.scheme} to ${scheme}`;
    refusals.push({ reason: 'AddressWouldChange', message });
  }
  const existing = planExisting(wanted, pieces, balancer, members);
  const changes = existing.steps.length > 0 ? existing : { ...existing, ...planUnusedGroups(wanted, pieces, balancer) };
  const steps =
    changes.steps.length > 0 && pieces.adopted ? [...takeOver(wanted, pieces), ...changes.steps] : changes.steps;
  return { steps, refusals: [...refusals, ...changes.refusals], waitMs: changes.waitMs };
}

/** Groups that the Service may not name count as not understood: what stands stays. */
function permitted(
  settings: ClassicSettings,
  subject: Subject,
  permissions: GroupPermissions,
  pieces: ClassicPieces | undefined,
): ClassicSettings {
  const carried = (pieces?.isOurs ? pieces.balancer?.securityGroups : undefined) ?? [];
  const known = { ...permissions, groups: pieces?.facts.groups ?? permissions.groups };
  const judge = (key: string, ids: readonly string[] | undefined) =>
    judgeGroups(key, ids ?? [], subject, known, carried);
  const instead = judge(keys.securityGroups, settings.securityGroups);
  const extra = judge(keys.extraSecurityGroups, settings.extraSecurityGroups);
  return {
    ...settings,
    securityGroups: instead.refusals.length > 0 ? undefined : settings.securityGroups,
    extraSecurityGroups: extra.refusals.length > 0 ? undefined : settings.extraSecurityGroups,
    refusals: [...settings.refusals, ...instead.refusals, ...extra.refusals],
    remarks: [...settings.remarks, ...instead.remarks, ...extra.remarks],
  };
}

const nothing: ClassicPlan = { steps: [], refusals: [], waitMs: undefined };

function attachRefusals({ attach }: DesiredLoadBalancer): Refusal[] {
  if (attach === undefined) return [];
  const message = `load balancer ${JSON.stringify(attach.id)}: a classic load balancer that somebody else made cannot be used; a network one can, with aws-load-balancer-type nlb`;
  return [{ reason: 'Unsupported', message }];
}

/** The groups first: by their tags what was begun is found again. */
function planCreate(
  wanted: Wanted,
  pieces: ClassicPieces | undefined,
): Pick<ClassicPlan, 'steps' | 'refusals' | 'waitMs'> {
  const { desired, settings, subject } = wanted;
  const front = planFrontGroups(wanted, pieces);
  if (front.refusals.length > 0) return { steps: [], refusals: front.refusals, waitMs: undefined };
  const { internal = false, subnets = [], listeners = [], tags } = settings;
  const ports = listeners.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
  const kind = internal ? 'internal' : 'internet-facing';
  const summary = `create ${kind} classic load balancer ${desired.name} for ${desired.service}: ${ports}`;
  const { groups: securityGroups } = front;
  const create = { does: 'create load balancer', internal, subnets, securityGroups, listeners, tags } as const;
  const steps = [...front.steps, stepOf(subject, summary, create)];
  return { steps, refusals: [], waitMs: undefined };
}

function planExisting(
  wanted: Wanted,
  pieces: ClassicPieces,
  balancer: ClassicLoadBalancer,
  members: ReturnType<ReturnType<typeof memberSorter>>['members'],
): ClassicPlan {
  const { subject, settings } = wanted;
  const front: FrontGroups = planFrontGroups(wanted, pieces);
  const steps: ClassicStep[] = [...front.steps];
  const refusals: Refusal[] = [...front.refusals];
  const nodes = planNodes(wanted, pieces, balancer, front.groups, members);
  steps.push(...nodes.opening);
  if (front.refusals.length === 0 && !sameSet(front.groups, balancer.securityGroups)) {
    const summary = `security groups of ${balancer.name} from ${balancer.securityGroups.join(', ')} to ${front.groups.join(', ')}`;
    steps.push(stepOf(subject, summary, { does: 'apply security groups', securityGroups: front.groups }));
  }
  const subnets = planSubnets(wanted, pieces, balancer);
  steps.push(...subnets.steps, ...planListeners(wanted, balancer), ...planAttributes(wanted, balancer));
  refusals.push(...subnets.refusals);
  steps.push(...planHealth(wanted, balancer, pieces.adopted));
  steps.push(...nodes.closing, ...planMembers(subject, balancer, members));
  refusals.push(...nodes.refusals);
  const tags = missingTags(settings.tags, wanted, balancer.tags);
  if (Object.keys(tags).length > 0 && !pieces.adopted) {
    const summary = `tags of ${balancer.name}: ${shown(tags)}`;
    steps.push(stepOf(subject, summary, { does: 'add tags', tags }));
  }
  return { steps, refusals, waitMs: undefined };
}

/** With the first change, what was taken over gets our tags. */
function takeOver({ desired, settings, subject }: Wanted, pieces: ClassicPieces): ClassicStep[] {
  const tags = { ...settings.tags, ...ownTags(desired) };
  const summary = `tag load balancer ${desired.name} as that of ${desired.service}: it is taken over`;
  return [...takeOverGroup(pieces), stepOf(subject, summary, { does: 'add tags', tags })];
}

function missingTags(additional: Tags, { desired }: Wanted, there: Tags): Tags {
  const wanted = Object.entries({ ...additional, ...ownTags(desired) });
  return Object.fromEntries(wanted.filter(([key, value]) => there[key] !== value));
}

function shown(tags: Tags): string {
  return Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}

export function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && new Set([...a, ...b]).size === new Set(a).size && new Set(a).size === a.length;
}
