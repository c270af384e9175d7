import { aws } from '../../../../common/provider-id/aws.ts';
import { accessTo } from '../../access.ts';
import { type DesiredLoadBalancer, type LoadBalancerPlan, ownerTags, type Refusal } from '../../load-balancers.ts';
import type { ClusterTags } from '../cluster-tags.ts';
import type { AwsConfig } from '../config.ts';
import { keys } from '../load-balancer-annotations.ts';
import { type Tags, tagsFor } from '../load-balancer-tags.ts';
import { type GroupPermissions, judgeGroups } from '../security-groups/allowed-groups.ts';
import { plannedCall } from '../security-groups/security-group-call.ts';
import { addressChange, addressTypeOf, placeOf, planAttributes, planSubnets, planTags } from './balancer-plan.ts';
import { type Firewall, planFirewall } from './firewall.ts';
import { planLeavingHost, planLeftGroups } from './leave.ts';
import { leftTag } from './left.ts';
import {
  frontGroupOf,
  type LoadBalancer,
  type NlbObserved,
  othersListeners,
  ownListeners,
  type Pieces,
  type Subject,
} from './observed.ts';
import { planParts } from './parts-plan.ts';
import { type NlbSettings, readNlbSettings } from './settings.ts';
import { type NlbStep, securityGroupStep, stepOf } from './step.ts';
import { strangers } from './targets.ts';
import { asItStands, type WantedListener, wantedListeners } from './wanted.ts';

export type NlbPlan = LoadBalancerPlan<NlbStep>;

/** When to look again while AWS is at work; a new load balancer takes it a minute or two. */
export const waitMs = 20_000;

export interface PlanContext {
  readonly config: Pick<AwsConfig, 'managedNlbSecurityGroups' | 'disableSecurityGroupIngress' | 'healthProbe'>;
  /** As known by now; undefined before the first read, where steps name what they will make only roughly. */
  readonly cluster: ClusterTags | undefined;
  /** Whether this scope could hold the instance. */
  readonly accepts: (providerID: string) => boolean;
  /** `groups` as last read, for a load balancer that is still to be made. */
  readonly permissions: GroupPermissions;
}

/** What one Service asks for, worked out. */
export interface Wanted {
  readonly desired: DesiredLoadBalancer;
  readonly settings: NlbSettings;
  readonly subject: Subject;
  readonly listeners: readonly WantedListener[];
  readonly cluster: ClusterTags;
  readonly tags: Tags;
  readonly context: PlanContext;
  readonly adopting: boolean;
}

const unknownCluster: ClusterTags = { id: undefined, keys: [], owned: {}, has: () => false, owns: () => false };

/** What makes `observed` into `desired`. Pure. */
export function planNlb(
  desired: DesiredLoadBalancer,
  observed: NlbObserved | undefined,
  context: PlanContext,
): NlbPlan {
  const { owner, name, service, attach } = desired;
  const subject: Subject = { owner, name, service, attachTo: attach?.id };
  const read = readNlbSettings(desired, { managed: context.config.managedNlbSecurityGroups });
  const settings = permitted(read, subject, context, observed?.pieces);
  const cluster = observed?.pieces.cluster ?? context.cluster ?? unknownCluster;
  const adopting = observed?.pieces.adopted ?? false;
  // What the classic controller made is judged by its own defaults, until it is changed anyway.
  const probe = context.config.healthProbe ?? (adopting ? ({ mode: 'ServiceNodePort' } as const) : undefined);
  const clusterId = cluster.id ?? '';
  const { listeners: asked, refusals } = wantedListeners(desired, settings, { clusterId, probe });
  const pieces = observed?.pieces;
  const on = attach ? pieces?.hosts.find(({ arn }) => arn === attach.id) : (pieces?.own ?? pieces?.hosts[0]);
  const listeners = asked.flatMap((one) => {
    const listener = on?.listeners.find(({ port }) => port === one.port);
    const standing = listener && { listener, group: pieces?.groups.find(({ arn }) => arn === listener.group) };
    return asItStands(one, standing, settings, { service, clusterId }) ?? [];
  });
  const tags = tagsFor(desired, cluster, settings.tags);
  const wanted: Wanted = { desired, settings, subject, listeners, cluster, tags, context, adopting };
  const told = [...settings.refusals, ...settings.notes, ...strangers(desired, context.accepts), ...refusals];
  const plan = attach ? planAttached(wanted, pieces, observed) : planOfItsOwn(wanted, pieces);
  return { ...plan, refusals: [...told, ...plan.refusals], remarks: settings.remarks };
}

/** Groups that the Service may not name count as unclear: what stands stays. */
function permitted(
  settings: NlbSettings,
  subject: Subject,
  { permissions }: PlanContext,
  pieces: Pieces | undefined,
): NlbSettings {
  const known = { ...permissions, groups: pieces?.network.groups ?? permissions.groups };
  const carried = pieces?.own?.securityGroups ?? [];
  const key = keys.securityGroups;
  const judged = judgeGroups(key, settings.securityGroups, subject, known, carried);
  const unclear = judged.refusals.length === 0 ? settings.unclear : new Set([...settings.unclear, key]);
  const refusals = [...settings.refusals, ...judged.refusals];
  return { ...settings, unclear, refusals, remarks: [...settings.remarks, ...judged.remarks] };
}

function planOfItsOwn(wanted: Wanted, pieces: Pieces | undefined): NlbPlan {
  const { desired, subject } = wanted;
  if (pieces?.own) return planOwn(wanted, pieces, pieces.own);
  const host = pieces?.hosts.find((one) => ownListeners(one, pieces, subject.owner).length > 0);
  if (pieces && host && !desired.mayChangeAddress) {
    const message = `${desired.service} uses load balancer ${host.arn}, which somebody else made; one of its own has another address`;
    const { may } = accessTo({ what: `load balancer ${host.arn}`, consent: host.tags[ownerTags.consent] }, desired);
    const inside = planInside(may === 'use' ? wanted : asServed(wanted, pieces, host), pieces, host, true);
    return { ...inside, refusals: [{ reason: 'AddressWouldChange', message }, ...inside.refusals] };
  }
  const foreign = pieces?.foreign;
  if (foreign) {
    const kept = foreign.tags[ownerTags.retained] !== undefined ? ' any more: it was kept on purpose' : '';
    const message = `load balancer ${foreign.arn} has the name ${foreign.name}, and its tags do not say that it is of ${desired.service}${kept}`;
    return { ...nothing, refusals: [{ reason: 'ForeignLoadBalancer', message }] };
  }
  return planCreate(wanted, pieces);
}

function planCreate(wanted: Wanted, pieces: Pieces | undefined): NlbPlan {
  const { desired, settings, subject, listeners, tags } = wanted;
  // What is not understood is told already; something else than what was meant is not made.
  if (settings.refusals.length > 0 || listeners.length === 0) return nothing;
  const firewall = firewallOf(wanted, pieces, undefined, false);
  if (firewall.refusals.length > 0) return { ...nothing, refusals: firewall.refusals };
  const { scheme } = settings;
  const ports = listeners.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
  const call = {
    ...{ does: 'create load balancer' as const, scheme, addressType: addressTypeOf(desired), place: placeOf(settings) },
    ...{ securityGroups: firewall.carried ?? [], tags },
  };
  const summary = `create ${scheme} network load balancer ${desired.name} for ${desired.service}: ${ports}`;
  const create = stepOf(subject, desired.name, summary, call);
  const attributes = planAttributes(wanted, undefined);
  const inside = planParts(wanted, pieces, undefined);
  const steps = [...firewall.groups, create, ...attributes, ...firewall.nodes, ...inside.steps];
  return { steps, refusals: inside.refusals, waitMs: undefined };
}

function planOwn(wanted: Wanted, pieces: Pieces, own: LoadBalancer): NlbPlan {
  const { desired, subject } = wanted;
  const change = addressChange(wanted, own);
  const refusals: Refusal[] = [];
  if (change !== undefined || own.state === 'failed') {
    const others = conflictOf(subject, pieces, own);
    if (others) refusals.push(others);
    else if (change === undefined || desired.mayChangeAddress) {
      const created = planCreate(wanted, { ...pieces, own: undefined });
      // Nothing is deleted before it is certain that something comes in its place.
      if (created.steps.length > 0) {
        const why = own.state === 'failed' ? 'which has failed' : `${change}`;
        const summary = `delete load balancer ${own.name}, ${why}; it is made anew`;
        const remove = stepOf(subject, own.arn, summary, { does: 'delete load balancer', arn: own.arn });
        return { ...created, steps: [remove, ...created.steps] };
      }
      refusals.push(...created.refusals);
    } else {
      refusals.push({ reason: 'AddressWouldChange', message: `load balancer ${own.name} (${own.arn}): ${change}` });
    }
    if (own.state === 'failed') return { ...nothing, refusals };
  }
  const steps = planTakingBack(subject, pieces, own);
  const addressType = addressTypeOf(desired);
  if (own.addressType !== addressType) {
    const summary = `addresses of ${own.name} from ${own.addressType} to ${addressType}`;
    steps.push(stepOf(subject, own.arn, summary, { does: 'set address type', addressType }));
  }
  steps.push(...planSubnets(wanted, own), ...planAttributes(wanted, own));
  const inside = planInside(wanted, pieces, own, false);
  steps.push(...inside.steps);
  for (const host of pieces.hosts) steps.push(...planLeavingHost(subject, host, pieces, desired.retain));
  const left = planLeftGroups(subject, pieces);
  steps.push(...left.steps);
  const tagging = steps.length > 0 || !wanted.adopting ? planTags(wanted, pieces, own) : [];
  const wait = own.state === 'provisioning' && steps.length === 0 ? waitMs : (inside.waitMs ?? left.waitMs);
  return { steps: [...tagging, ...steps], refusals: [...refusals, ...inside.refusals], waitMs: wait };
}

/** It was left to others, and its Service is there again: no guest ends it any more. */
function planTakingBack(subject: Subject, { network }: Pieces, own: LoadBalancer): NlbStep[] {
  const steps: NlbStep[] = [];
  const front = frontGroupOf(network, subject.owner);
  const keys = [leftTag];
  if (front && front.tags[leftTag] !== undefined) {
    const call = { does: 'untag security group', group: front.id, keys } as const;
    steps.push(securityGroupStep(subject, plannedCall(call, front.name)));
  }
  if (own.tags[leftTag] !== undefined) {
    const summary = `take back load balancer ${own.name}, which was left to others`;
    steps.push(stepOf(subject, own.arn, summary, { does: 'remove tags', arns: [own.arn], keys }));
  }
  return steps;
}

/** Everything but the load balancer's own attributes: firewall, listeners, target groups, targets. */
function planInside(wanted: Wanted, pieces: Pieces, on: LoadBalancer, attached: boolean): NlbPlan {
  const firewall = firewallOf(wanted, pieces, on, attached);
  const parts = planParts(wanted, pieces, on);
  // Nodes let in what comes by other groups before it does, and what came by the old ones until it does not.
  const opens = ({ call }: NlbStep) => call.does === 'security group' && call.call.does === 'authorize ingress';
  const steps: NlbStep[] = [...firewall.groups, ...firewall.nodes.filter(opens)];
  const { carried } = firewall;
  const resolved =
    carried?.every((group) => on.securityGroups.includes(group)) && carried.length === on.securityGroups.length;
  if (!attached && carried && !resolved) {
    const summary = `security groups of ${on.name} from ${on.securityGroups.join(', ')} to ${carried.join(', ')}`;
    steps.push(stepOf(wanted.subject, on.arn, summary, { does: 'set security groups', securityGroups: carried }));
  }
  return {
    steps: [...steps, ...firewall.nodes.filter((step) => !opens(step)), ...parts.steps],
    refusals: [...firewall.refusals, ...parts.refusals],
    waitMs: parts.waitMs,
  };
}

function planAttached(wanted: Wanted, pieces: Pieces | undefined, observed: NlbObserved | undefined): NlbPlan {
  const { desired, subject } = wanted;
  const { id, allowed } = desired.attach!;
  const { owner } = subject;
  const host = pieces?.hosts.find(({ arn }) => arn === id);
  if (pieces?.own?.arn === id) return planOwn(wanted, pieces, pieces.own);
  const refuse = (reason: Refusal['reason'], message: string): NlbPlan => instead({ reason, message });
  const instead = (refusal: Refusal): NlbPlan => {
    const current = pieces?.own ?? pieces?.hosts.find((one) => ownListeners(one, pieces, owner).length > 0);
    if (!pieces || !current) return { ...nothing, refusals: [refusal] };
    const attached = current !== pieces.own;
    const inside = planInside(attached ? asServed(wanted, pieces, current) : wanted, pieces, current, attached);
    return { ...inside, refusals: [refusal, ...inside.refusals] };
  };
  // A list of the whole cluster does not show what has none of our parts yet.
  if (!host && observed !== undefined && pieces?.subject?.attachTo !== id) return { ...nothing, waitMs };
  if (!host) {
    const message = `load balancer ${JSON.stringify(id)} does not exist in this region, expected the ARN of a network load balancer`;
    return refuse('Unsupported', message);
  }
  if (host.type !== 'network') return refuse('Unsupported', `load balancer ${id} is no network load balancer`);
  const { own, hosts } = pieces!;
  const numbers = new Set(ownListeners(host, pieces!, owner).map(({ port }) => port));
  const consent = host.tags[ownerTags.consent];
  const on = desired.ports.filter(({ port }) => numbers.has(port));
  const access = accessTo({ what: `load balancer ${id}`, consent, allowed, served: on }, desired);
  if (access.may === 'nothing') return instead(access.refusal);
  const served = (one: LoadBalancer) => ownListeners(one, pieces!, owner).length > 0;
  const elsewhere = [...(own ? [own] : []), ...hosts.filter((one) => one !== host && served(one))];
  if (elsewhere.length > 0 && !desired.mayChangeAddress && !served(host)) {
    const message = `${desired.service} uses load balancer ${elsewhere[0]!.arn}, and ${id} has another address`;
    return refuse('AddressWouldChange', message);
  }
  const refusals: Refusal[] = access.may === 'keep' ? [access.refusal] : [];
  if (desired.families.includes('IPv6') && host.addressType === 'ipv4')
    refusals.push({ reason: 'Unsupported', message: `spec.ipFamilies: load balancer ${id} has no IPv6 address` });
  if (wanted.settings.refusals.length > 0 && !served(host)) return { ...nothing, refusals };
  const asAllowed = access.may === 'use' ? wanted : asServed(wanted, pieces!, host);
  const inside = planInside(asAllowed, pieces!, host, true);
  const steps = [...inside.steps];
  for (const other of hosts)
    if (other !== host) steps.push(...planLeavingHost(subject, other, pieces!, desired.retain));
  const left = planLeftGroups(subject, pieces!);
  steps.push(...left.steps);
  const others = own && conflictOf(subject, pieces!, own);
  if (others) refusals.push(others);
  const moved = access.may === 'use' && inside.refusals.length === 0 && inside.waitMs === undefined;
  if (own && !others && moved) {
    const summary = `delete load balancer ${own.name}: ${desired.service} uses ${id}`;
    steps.push(stepOf(subject, own.arn, summary, { does: 'delete load balancer', arn: own.arn }));
  }
  return { steps, refusals: [...refusals, ...inside.refusals], waitMs: inside.waitMs ?? left.waitMs };
}

/** With those listeners alone that stand: nothing more is added to a load balancer of somebody else. */
function asServed(wanted: Wanted, pieces: Pieces, host: LoadBalancer): Wanted {
  const ports = new Set(ownListeners(host, pieces, wanted.subject.owner).map(({ port }) => port));
  return { ...wanted, listeners: wanted.listeners.filter(({ port }) => ports.has(port)) };
}

/** Why a load balancer of ours cannot go: somebody else uses it, too. */
function conflictOf({ owner }: Subject, pieces: Pieces, own: LoadBalancer): Refusal | undefined {
  const others = othersListeners(own, pieces, owner);
  if (others.length === 0) return undefined;
  const ports = others.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
  return { reason: 'Conflict', message: `load balancer ${own.name} stays: listeners ${ports} are of somebody else` };
}

function firewallOf(
  wanted: Wanted,
  pieces: Pieces | undefined,
  on: LoadBalancer | undefined,
  attached: boolean,
): Firewall {
  const { desired, settings, listeners, cluster, tags, context, subject, adopting } = wanted;
  const { managedNlbSecurityGroups: managed, disableSecurityGroupIngress: nodesLeftAlone } = context.config;
  const instances = desired.members.flatMap(({ providerID }) =>
    context.accepts(providerID) ? (aws.parse(providerID)?.instanceId ?? []) : [],
  );
  const wish = { desired, settings, listeners, cluster, tags, managed, nodesLeftAlone, instances, adopting };
  const subnets = pieces?.subnets ?? [];
  return planFirewall(subject, { ...wish, subnets }, pieces?.network, on, attached);
}

const nothing: NlbPlan = { steps: [], refusals: [], waitMs: undefined };
