import type { DesiredLoadBalancer, LoadBalancerPlan, Refusal } from '../../load-balancers.ts';
import { ownerTags } from '../../load-balancers.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { keys } from './annotations.ts';
import type { LoadBalancer } from './answer.ts';
import { featuresOf } from './features.ts';
import { classicName, classicPrefix, loadBalancerDescription } from './names.ts';
import {
  addressOf,
  carriesPieces,
  isOurFloatingIp,
  type OctaviaObserved,
  ourListeners,
  type Pieces,
  type Subject,
} from './observed.ts';
import { claimFloatingIp, namedRefusal, planAddress, releases, wantsVip } from './plan-floating-ip.ts';
import { planDetach, planPieces, servesOthers } from './plan-pieces.ts';
import { planSecurityGroup } from './plan-security-group.ts';
import { readSettings } from './settings.ts';
import { type NewLoadBalancer, type OctaviaStep, stepOf } from './step.ts';
import { consents, octaviaTags, sameTags, tag, tagValue, without } from './tags.ts';
import {
  checkOf,
  loadBalancerTags,
  memberRefusals,
  newListener,
  newMembers,
  newMonitor,
  newPool,
  type Wanted,
} from './wanted.ts';

export type OctaviaPlan = LoadBalancerPlan<OctaviaStep>;

export interface PlanParts {
  readonly config: LoadBalancerConfig;
  /** Of the API, as far as it has been asked. */
  readonly minor: number | undefined;
  readonly serverIdOf: (providerID: string) => string | undefined;
}

const nothing: OctaviaPlan = { steps: [], refusals: [], waitMs: undefined };

/** When to look again: soon at first, and ever more rarely where Octavia does not come to an end. */
export function waitFor(loadBalancer: LoadBalancer): OctaviaPlan {
  const firstMs = loadBalancer.status === 'PENDING_CREATE' ? 2000 : 1000;
  return { ...nothing, waitMs: Math.min(30_000, Math.max(firstMs, Math.round(loadBalancer.pendingMs / 5))) };
}

export function isPending({ status }: LoadBalancer): boolean {
  return status.startsWith('PENDING') || status === 'DELETED';
}

export function planLoadBalancer(
  desired: DesiredLoadBalancer,
  observed: OctaviaObserved | undefined,
  parts: PlanParts,
): OctaviaPlan {
  const pieces = observed?.pieces;
  const subject: Subject = {
    owner: desired.owner,
    service: desired.service,
    name: desired.name,
    attachTo: desired.attach?.id,
    adopt: pieces?.subject.adopt,
  };
  const main = (desired.attach && pieces?.hosts.find(({ id }) => id === desired.attach?.id)) ?? pieces?.own;
  const features = featuresOf(parts.minor, main?.provider || parts.config.provider);
  const { config, serverIdOf } = parts;
  const settings = readSettings(desired, { config, features });
  const wanted: Wanted = { desired, settings, features, config, subject, serverIdOf };
  const plan = desired.attach ? planAttached(wanted, pieces) : planOfItsOwn(wanted, pieces);
  const refusals = [...settings.refusals, ...settings.remarks, ...memberRefusals(wanted), ...plan.refusals];
  return lookedAt({ ...plan, refusals }, pieces);
}

/** Before it is said that nothing is to be done, everything is looked at. */
export function lookedAt(plan: OctaviaPlan, pieces: Pieces | undefined): OctaviaPlan {
  return pieces?.assumed && plan.steps.length === 0 ? { ...plan, waitMs: plan.waitMs ?? 1 } : plan;
}

function planOfItsOwn(wanted: Wanted, pieces: Pieces | undefined): OctaviaPlan {
  const { desired, subject, settings } = wanted;
  if (pieces?.own) return planOwn(wanted, pieces, pieces.own);
  const host = pieces?.hosts.find((one) => carriesPieces(one, subject));
  if (pieces && host && !desired.mayChangeAddress) {
    const message = `${desired.service} uses load balancer ${host.id}, which somebody else made; one of its own has another address`;
    if (isPending(host)) return waitFor(host);
    const { steps, refusals } = planPieces(wanted, host, false, consents(host.tags, subject.owner.cluster));
    return { steps, refusals: [{ reason: 'AddressWouldChange', message }, ...refusals], waitMs: undefined };
  }
  if (settings.namedId !== undefined) return { ...nothing, refusals: [foreignId(settings.namedId)] };
  return planCreate(wanted, pieces);
}

function foreignId(id: string): Refusal {
  const message = `${keys.loadBalancerId}: ${JSON.stringify(id)} is not its own load balancer; to use that one, name it in mooring.dev/load-balancer-id, otherwise take the annotation away`;
  return { reason: 'Unsupported', message };
}

function planCreate(wanted: Wanted, pieces: Pieces | undefined): OctaviaPlan {
  const { desired, settings, config, features, subject } = wanted;
  // What is not understood is told already; something else than what was meant is not made.
  if (settings.refusals.length > 0 || settings.placement === undefined) return nothing;
  const refusal = namedRefusal(wanted, pieces);
  if (refusal) return { ...nothing, refusals: [refusal] };
  const { networkId, subnetId } = settings.placement;
  const near = desired.members
    .flatMap(({ addresses }) => addresses)
    .filter((one) => one.includes(':') === (settings.family === 'IPv6'))
    .slice(0, 5);
  if (!networkId && !subnetId && !settings.portId && near.length === 0) {
    const message = `no subnet for the VIP: ${keys.subnetId} and subnet-id of the cloud config are not set, and there is no member in whose subnet it could be`;
    return { ...nothing, refusals: [{ reason: 'Unsupported', message }] };
  }
  const name = classicName(desired);
  const ports = desired.ports.filter(({ protocol }) => protocol !== 'SCTP' || features.sctp);
  const body: NewLoadBalancer = {
    name,
    description: loadBalancerDescription(desired),
    provider: config.provider,
    flavorId: settings.flavorId || (features.flavor ? config.flavorId : undefined),
    availabilityZone: settings.availabilityZone || (features.availabilityZone ? config.availabilityZone : undefined),
    vipAddress: wantsVip(wanted) ? desired.address : undefined,
    vipPortId: settings.portId || undefined,
    placement: { ...(networkId && { networkId }), ...(subnetId && { subnetId }) },
    near,
    tags: tagsFor(wanted, undefined, undefined),
    ports: config.serialCalls
      ? []
      : ports.map((port) => ({
          listener: newListener(wanted, port, name),
          pool: newPool(wanted, port, name),
          members: newMembers(wanted, port, checkOf(wanted, port, undefined, name).monitorPort, undefined),
          monitor: newMonitor(wanted, port, name),
        })),
  };
  const shown = desired.ports.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
  const summary = `create ${wantsVip(wanted) ? 'internal ' : ''}load balancer ${name} for ${desired.service}: ${shown}; ${desired.members.length} members`;
  const create = stepOf(subject, name, summary, { does: 'create load balancer', body });
  return { ...nothing, steps: [create] };
}

/** Its tags as they are to be; those that we do not know stay. */
function tagsFor({ desired, settings }: Wanted, there: LoadBalancer | undefined, vip: boolean | undefined): string[] {
  const address = vip ?? (there !== undefined && tagValue(there.tags, octaviaTags.address) === 'vip');
  const hostname = settings.hostname ?? tagValue(there?.tags ?? [], octaviaTags.hostname);
  const keep = settings.keepFloatingIp ?? tagValue(there?.tags ?? [], octaviaTags.keepFloatingIp) === 'true';
  const ours = [ownerTags.cluster, ownerTags.service, ownerTags.serviceName, ...Object.values(octaviaTags)];
  return [
    ...new Set([
      ...without(there?.tags ?? [], ours),
      ...loadBalancerTags(desired).filter(
        (one) =>
          there === undefined ||
          !one.startsWith(classicPrefix) ||
          !there.tags.some((known) => known.startsWith(classicPrefix)),
      ),
      ...(address ? [tag(octaviaTags.address, 'vip')] : []),
      ...(hostname ? [tag(octaviaTags.hostname, hostname)] : []),
      ...(keep ? [tag(octaviaTags.keepFloatingIp, 'true')] : []),
    ]),
  ];
}

function planOwn(wanted: Wanted, pieces: Pieces, own: LoadBalancer): OctaviaPlan {
  const { desired, subject, settings } = wanted;
  if (isPending(own)) return waitFor(own);
  if (own.status !== 'ACTIVE') return planFailed(wanted, pieces, own);
  const refusals: Refusal[] = [];
  if (settings.namedId !== undefined && settings.namedId !== own.id) refusals.push(foreignId(settings.namedId));
  if (desired.address !== undefined) {
    const refusal = namedRefusal(wanted, pieces);
    const shown = addressOf(own, pieces);
    if (refusal && shown !== desired.address) refusals.push(refusal);
  }
  const steps: OctaviaStep[] = [];
  const inside = planPieces(wanted, own, true, true);
  const address = planAddress(wanted, pieces, own);
  steps.push(...inside.steps, ...address.steps);
  for (const host of pieces.hosts) if (!isPending(host)) steps.push(...planDetach(subject, host, false));
  steps.push(...planSecurityGroup(wanted, pieces, own));

  // The address is certain once the steps to it are done.
  const vip = address.steps.length > 0 ? undefined : address.vip;
  const tags = tagsFor(wanted, own, vip);
  const records = [octaviaTags.hostname, octaviaTags.keepFloatingIp].some(
    (key) => tagValue(tags, key) !== tagValue(own.tags, key),
  );
  if (pieces.adopted ? steps.length > 0 || records : !sameTags(tags, own.tags)) {
    const summary = pieces.adopted
      ? `tag load balancer ${own.name} as of ${desired.service}`
      : `tags of load balancer ${own.name}: ${tagChange(own.tags, tags)}`;
    const retag = stepOf(subject, own.id, summary, { does: 'update load balancer', id: own.id, tags });
    // Whose it is comes before any other change, where it stands what has become of it after them.
    if (pieces.adopted) steps.unshift(retag);
    else steps.push(retag);
  }
  const seen = new Set<string>();
  const told = [...refusals, ...inside.refusals, ...address.refusals].filter(
    ({ message }) => !seen.has(message) && seen.add(message),
  );
  const busy = pieces.hosts.find((host) => isPending(host) && carriesPieces(host, subject));
  return { steps, refusals: told, waitMs: busy && waitFor(busy).waitMs };
}

function tagChange(before: readonly string[], after: readonly string[]): string {
  const added = after.filter((one) => !before.includes(one)).map((one) => `+${one}`);
  const removed = before.filter((one) => !after.includes(one)).map((one) => `-${one}`);
  return [...added, ...removed].join(', ');
}

/**
 * A load balancer in ERROR is failed over, which keeps its address. Where that is not allowed (it is an administrator's), it is made anew: only if the address
 * survives, nobody has seen it yet, or another is consented to. Nothing is deleted before it is certain that something comes in its place.
 */
function planFailed(wanted: Wanted, pieces: Pieces, own: LoadBalancer): OctaviaPlan {
  const { desired, subject, settings } = wanted;
  if (!pieces.noFailover) {
    const summary = `fail over load balancer ${own.name}, which is in ERROR`;
    return { ...nothing, steps: [stepOf(subject, own.id, summary, { does: 'fail over load balancer', id: own.id })] };
  }
  const refuse = (reason: Refusal['reason'], message: string): OctaviaPlan => ({
    ...nothing,
    refusals: [{ reason, message }],
  });
  if (servesOthers(own, subject)) {
    return refuse(
      'Conflict',
      `load balancer ${own.name} (${own.id}) is in ERROR and serves others, too: an administrator has to fail it over`,
    );
  }
  const shown = addressOf(own, pieces);
  const attached = pieces.floatingIps.find(({ portId }) => portId === own.vipPortId);
  const ours = attached !== undefined && isOurFloatingIp(attached, pieces);
  const namedSame =
    attached !== undefined &&
    desired.address === attached.address &&
    pieces.named !== undefined &&
    consents(pieces.named.tags, subject.owner.cluster);
  const survives =
    shown === undefined ||
    (attached !== undefined
      ? (ours || namedSame) && wantsVip(wanted) === false
      : settings.portId !== '' && settings.portId !== undefined);
  if (!survives && !desired.mayChangeAddress) {
    return refuse(
      'AddressWouldChange',
      `load balancer ${own.name} (${own.id}) is in ERROR; made anew it does not have ${shown} any more: let an administrator fail it over, or consent to another address`,
    );
  }
  const created = planCreate(wanted, pieces);
  if (created.steps.length === 0) return created;
  if (pieces.restMs > 0) return { ...nothing, waitMs: pieces.restMs };
  const steps: OctaviaStep[] = [];
  if (attached && ours && survives && !attached.description.includes(subject.owner.service))
    steps.push(claimFloatingIp(subject, attached));
  const summary = `delete load balancer ${own.name}, which is in ERROR; it is made anew`;
  steps.push(stepOf(subject, own.id, summary, { does: 'delete load balancer', id: own.id, cascade: true }));
  return { ...created, steps: [...steps, ...created.steps], waitMs: undefined };
}

function planAttached(wanted: Wanted, pieces: Pieces | undefined): OctaviaPlan {
  const { desired, subject, settings, config } = wanted;
  const { id, allowed } = desired.attach!;
  if (pieces?.own?.id === id) return planOwn(wanted, pieces, pieces.own);
  const host = pieces?.hosts.find((one) => one.id === id);
  const refuse = (reason: Refusal['reason'], message: string): Refusal => ({ reason, message });
  const instead = (refusal: Refusal): OctaviaPlan => {
    const own = pieces?.own;
    const current = own ?? pieces?.hosts.find((one) => carriesPieces(one, subject));
    if (!pieces || !current) return { ...nothing, refusals: [refusal] };
    if (isPending(current)) return { ...waitFor(current), refusals: [refusal] };
    if (current.status !== 'ACTIVE') return { ...nothing, refusals: [refusal] };
    const { steps, refusals } = planPieces(wanted, current, current === own, current === own);
    return { steps, refusals: [refusal, ...refusals], waitMs: undefined };
  };
  // A list of the whole cluster does not show what has none of our pieces yet.
  if (!host && pieces !== undefined && pieces.subject.attachTo !== id) return { ...nothing, waitMs: 1000 };
  if (!pieces || !host)
    return instead(refuse('Unsupported', `load balancer ${JSON.stringify(id)} does not exist in this project`));
  if (!allowed && !consents(host.tags, desired.owner.cluster)) {
    const message = `load balancer ${id} has no tag ${ownerTags.consent}=${desired.owner.cluster}, and --attachable-load-balancers does not name it`;
    return instead(refuse('ForeignLoadBalancer', message));
  }
  const elsewhere = pieces.own ?? pieces.hosts.find((one) => one !== host && carriesPieces(one, subject));
  if (elsewhere && !desired.mayChangeAddress && ourListeners(host, subject, false).length === 0) {
    const message = `${desired.service} uses load balancer ${elsewhere.id}, and ${id} has another address`;
    return instead(refuse('AddressWouldChange', message));
  }
  if (isPending(host)) return waitFor(host);
  if (host.status !== 'ACTIVE') {
    return {
      ...nothing,
      refusals: [refuse('Conflict', `load balancer ${id} is in ${host.status}; who made it has to mend it`)],
      waitMs: undefined,
    };
  }
  const refusals: Refusal[] = [];
  const others = sharers(host, wanted);
  const joins = ourListeners(host, subject, false).length === 0;
  if (joins && others + 1 > config.maxShared) {
    const message = `load balancer ${id} serves ${others} Services already; max-shared-lb of the cloud config is ${config.maxShared}`;
    return instead(refuse('Conflict', message));
  }
  if (settings.internal && !config.internal) {
    refusals.push(
      refuse('Unsupported', `${keys.internal}: "true": the address of a shared load balancer is its owner's`),
    );
  }
  if (settings.hostname) {
    refusals.push(
      refuse('Unsupported', `${keys.hostname}: ${JSON.stringify(settings.hostname)}: not on a shared load balancer`),
    );
  }
  const shown = addressOf(host, pieces);
  if (desired.address !== undefined && shown !== desired.address) {
    refusals.push(
      refuse(
        'Unsupported',
        `spec.loadBalancerIP: ${JSON.stringify(desired.address)} is no address of load balancer ${id}`,
      ),
    );
  }
  if (host.vipAddress.includes(':') !== (settings.family === 'IPv6')) {
    refusals.push(refuse('Unsupported', `spec.ipFamilies: load balancer ${id} has no ${settings.family} address`));
  }
  const inside = planPieces(wanted, host, false, true);
  const steps = [...inside.steps];
  for (const other of pieces.hosts)
    if (other !== host && !isPending(other)) steps.push(...planDetach(subject, other, false));
  const { own } = pieces;
  if (own && !isPending(own) && inside.refusals.length === 0 && !servesOthers(own, subject)) {
    const summary = `delete load balancer ${own.name}: ${desired.service} uses ${id}`;
    steps.push(stepOf(subject, own.id, summary, { does: 'delete load balancer', id: own.id, cascade: true }));
  }
  if (!own) steps.push(...releases(wanted, pieces, undefined));
  steps.push(...planSecurityGroup(wanted, pieces, host));
  const busy = [own, ...pieces.hosts].find((one) => one && one !== host && isPending(one));
  const waitMs = busy && waitFor(busy).waitMs;
  return { steps, refusals: [...refusals, ...inside.refusals], waitMs };
}

/** How many other Services use it, by the classic controller's tags, which our listeners carry, too. */
function sharers(host: LoadBalancer, { desired }: Wanted): number {
  const names = new Set<string>();
  for (const { tags } of [host, ...host.listeners])
    for (const one of tags) if (one.startsWith(classicPrefix)) names.add(one);
  names.delete(classicName(desired));
  return names.size;
}
