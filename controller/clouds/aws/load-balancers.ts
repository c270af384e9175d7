import type { LoadBalancerDriver } from '../load-balancer-driver.ts';
import type { LoadBalancerStep } from '../load-balancer-step.ts';
import type {
  DesiredLoadBalancer,
  DesiredMember,
  LoadBalancerPlan,
  LoadBalancers,
  NodeLabel,
  ObservedLoadBalancer,
  Refusal,
} from '../load-balancers.ts';
import { createClassicDriver } from './classic/driver.ts';
import { annotationPrefix, keys } from './load-balancer-annotations.ts';
import { createNetworkLoadBalancers } from './nlb/network-load-balancers.ts';
import { isDoneWith, type NlbObserved } from './nlb/observed.ts';
import type { NlbStep } from './nlb/step.ts';
import { readNodeLabels } from './node-labels.ts';
import type { AwsParts } from './parts.ts';
import { createGroupUsers } from './security-groups/group-users.ts';
import { createNetworkReads, type NetworkReads } from './security-groups/network-reads.ts';
import { createSecurityGroupCalls } from './security-groups/security-group-calls.ts';

/** What a Service has of either kind; as a rule of one alone. */
export interface AwsObserved extends ObservedLoadBalancer {
  readonly nlb: NlbObserved | undefined;
  readonly classic: ObservedLoadBalancer | undefined;
}

export type AwsStep = NlbStep | LoadBalancerStep;

type Kind = 'nlb' | 'classic';
type AwsPlan = LoadBalancerPlan<AwsStep>;

/** Load balancers of AWS: classic ones, and network ones for Services whose annotation asks for them. */
export interface AwsLoadBalancers {
  /** Of the classic ones. */
  readonly driver: LoadBalancerDriver;
  /** Both kinds, with the classic ones that are made of the driver. */
  combined(classic: LoadBalancers): LoadBalancers<AwsObserved, AwsStep>;
  /** What lookups of instances have shown. */
  readonly noteInstance: NetworkReads['noteInstance'];
}

export function createLoadBalancers(parts: AwsParts): AwsLoadBalancers {
  const reads = createNetworkReads(parts);
  const users = createGroupUsers(parts);
  const network = { reads, users, groups: createSecurityGroupCalls(parts, reads, users) };
  const nlb = createNetworkLoadBalancers({ ...parts, network });
  return {
    driver: createClassicDriver(parts, network),
    combined: (classic) => combine(nlb, classic),
    noteInstance: reads.noteInstance,
  };
}

function combine(
  nlb: ReturnType<typeof createNetworkLoadBalancers>,
  classic: LoadBalancers,
): LoadBalancers<AwsObserved, AwsStep> {
  const planKind = (kind: Kind, desired: DesiredLoadBalancer, observed: AwsObserved | undefined): AwsPlan =>
    kind === 'nlb' ? nlb.plan(desired, observed?.nlb) : classic.plan(desired, observed?.classic);
  const planRemovalOf = (kind: Kind, observed: AwsObserved, retain: boolean): AwsPlan => {
    if (kind === 'nlb') return observed.nlb ? nlb.planRemoval(observed.nlb, { retain }) : nothing;
    return observed.classic ? classic.planRemoval(observed.classic, { retain }) : nothing;
  };

  function plan(asked: DesiredLoadBalancer, observed: AwsObserved | undefined): AwsPlan {
    const type = asked.annotations[keys.type]?.trim() ?? '';
    if (type === 'nlb-ip' || type === 'external') {
      const message =
        `${keys.type}: ${JSON.stringify(type)} is of the AWS load balancer controller, which has to serve it; ` +
        'expected nlb, or nothing for a classic one';
      return { ...nothing, refusals: [{ reason: 'Unsupported', message }] };
    }
    const refusals = labelRefusals(asked);
    if (refusals.length > 0 && !stands(observed)) return { ...nothing, refusals };
    const desired = refusals.length > 0 ? { ...asked, members: remaining(asked, observed) } : asked;
    const kind = desired.attach ? kindOfId(desired.attach.id) : type === 'nlb' ? 'nlb' : 'classic';
    const planned = planBeside(kind, desired, observed);
    return { ...planned, refusals: [...refusals, ...planned.refusals] };
  }

  /** @param kind the one that is wanted; there may be something of the other */
  function planBeside(kind: Kind, desired: DesiredLoadBalancer, observed: AwsObserved | undefined): AwsPlan {
    const other: Kind = kind === 'nlb' ? 'classic' : 'nlb';
    const planned = planKind(kind, desired, observed);
    if (!observed?.[other]?.owner) return planned;
    if (!hasParts(observed[other])) return stands(observed[kind]) ? withoutFront(planned, observed, other) : planned;
    if (!stands(observed[other]) || stands(observed[kind])) {
      // What is left of the other kind goes, and what both share stays.
      const left = planRemovalOf(other, observed, false).steps.filter(
        ({ resource }) => !resource.startsWith('security group'),
      );
      return { ...planned, steps: [...left, ...planned.steps] };
    }
    // Nothing is deleted before it is certain that something comes in its place.
    if (desired.mayChangeAddress && planned.steps.length > 0) {
      const removal = planRemovalOf(other, observed, false);
      return removal.steps.length > 0 || removal.waitMs !== undefined ? removal : planned;
    }
    const names = { nlb: 'a network', classic: 'a classic' };
    const message =
      `${keys.type}: ${desired.service} has ${names[other]} load balancer; ` + `${names[kind]} one has another address`;
    const refusal: Refusal = { reason: 'AddressWouldChange', message };
    const instead = planKind(other, desired, observed);
    const why = desired.mayChangeAddress ? planned.refusals : [refusal];
    return { ...instead, refusals: [...why, ...instead.refusals] };
  }

  /** The group that was in front of a load balancer of the other kind goes when nothing holds it any more. */
  function withoutFront(planned: AwsPlan, observed: AwsObserved, other: Kind): AwsPlan {
    const { steps, waitMs } = planRemovalOf(other, observed, false);
    const last = steps.at(-1);
    const goes = waitMs === undefined && last?.action === 'delete' && last.resource === 'security group';
    return {
      ...planned,
      steps: goes ? [...planned.steps, last] : planned.steps,
      waitMs: planned.waitMs ?? (goes ? undefined : waitMs),
    };
  }

  return {
    annotations: classic.annotations,
    annotationPrefixes: [annotationPrefix],
    nodeLabels: (annotations): readonly NodeLabel[] => readNodeLabels(annotations) ?? [],
    maxMembers: Math.min(nlb.maxMembers ?? 1000, classic.maxMembers ?? 1000),
    drains: false,
    settleMs: Math.max(nlb.settleMs, classic.settleMs),
    async observeAll(cluster, signal, adoptable) {
      const [networks, classics] = await Promise.all([
        nlb.observeAll(cluster, signal, adoptable),
        classic.observeAll(cluster, signal, adoptable),
      ]);
      const byService = new Map<string, { nlb?: NlbObserved; classic?: ObservedLoadBalancer }>();
      const rest: AwsObserved[] = [];
      for (const one of networks) {
        if (one.owner) byService.set(one.owner.service, { nlb: one });
        else rest.push(composed(one, undefined)!);
      }
      for (const one of classics) {
        if (one.owner) byService.set(one.owner.service, { ...byService.get(one.owner.service), classic: one });
        else rest.push(composed(undefined, one)!);
      }
      return [...[...byService.values()].flatMap((both) => composed(both.nlb, both.classic) ?? []), ...rest];
    },
    async observe(ref, signal) {
      const [network_, classic_] = await Promise.all([nlb.observe(ref, signal), classic.observe(ref, signal)]);
      return composed(network_, classic_);
    },
    plan,
    planRemoval(observed, { retain }) {
      const first: Kind = stands(observed.classic) ? 'classic' : 'nlb';
      const removal = planRemovalOf(first, observed, retain);
      if (removal.steps.length > 0 || removal.waitMs !== undefined) return removal;
      return planRemovalOf(first === 'nlb' ? 'classic' : 'nlb', observed, retain);
    },
    declare: (desired, isEveryone, lent) => classic.declare?.(desired.filter(asksForClassic), isEveryone, lent),
    async apply(step, observed, options) {
      if (isNlb(step)) {
        const after = await nlb.apply(step, observed?.nlb, options);
        options.onStep?.(step);
        return composed(after, observed?.classic);
      }
      const after = await classic.apply(step, observed?.classic, options);
      return composed(observed?.nlb, after);
    },
  };
}

function asksForClassic({ annotations, attach }: DesiredLoadBalancer): boolean {
  if (attach !== undefined) return kindOfId(attach.id) === 'classic';
  return !['nlb', 'nlb-ip', 'external'].includes(annotations[keys.type]?.trim() ?? '');
}

function isNlb<One extends { readonly kind: 'nlb' }>(one: One | object): one is One {
  return 'kind' in one && one.kind === 'nlb';
}

function labelRefusals({ annotations }: DesiredLoadBalancer): Refusal[] {
  if (readNodeLabels(annotations) !== undefined) return [];
  const value = JSON.stringify(annotations[keys.targetNodeLabels]);
  const message = `${keys.targetNodeLabels}: ${value}, expected key=value pairs with commas, an empty value = any`;
  return [{ reason: 'Unsupported', message }];
}

/** Where the Nodes meant are unknown, no member joins; former members are removed all the same. */
function remaining({ members }: DesiredLoadBalancer, observed: AwsObserved | undefined): readonly DesiredMember[] {
  const held = new Set(observed?.members.map(({ providerID }) => providerID));
  return members.filter(({ providerID }) => held.has(providerID)).map((member) => ({ ...member, addresses: [] }));
}

/** ARNs are of network load balancers; classic ones have none and go by their names. */
function kindOfId(id: string): Kind {
  return id.startsWith('arn:') ? 'nlb' : 'classic';
}

/** A load balancer of ours, or with listeners of ours; one that was left to others serves them alone. */
function stands(observed: NlbObserved | ObservedLoadBalancer | AwsObserved | undefined): boolean {
  if (observed?.owner === undefined || observed.id === undefined) return false;
  return !(isNlb<NlbObserved>(observed) && isDoneWith(observed));
}

/** More than the security group that was in front of it. */
function hasParts(observed: NlbObserved | ObservedLoadBalancer | undefined): boolean {
  if (observed?.owner === undefined) return false;
  return observed.id !== undefined || (isNlb<NlbObserved>(observed) && observed.pieces.groups.length > 0);
}

function composed(nlb: NlbObserved | undefined, classic: ObservedLoadBalancer | undefined): AwsObserved | undefined {
  const parts = [nlb, classic].filter((part) => part !== undefined);
  const [first] = parts;
  if (!first) return undefined;
  const main = parts.find(stands) ?? parts.find(({ owner }) => owner !== undefined) ?? first;
  const { id, name, owner, state, ingress, members, attached, adopted, retained, createdAtMs, service } = main;
  return {
    ...{ nlb, classic, id, name, owner, state, ingress, members, attached, retained, createdAtMs, service },
    ...(adopted !== undefined && { adopted }),
    ...(classic?.notes !== undefined && { notes: classic.notes }),
  };
}

const nothing: AwsPlan = { steps: [], refusals: [], waitMs: undefined };
