import { accessTo } from '../access.ts';
import { type DesiredLoadBalancer, type LoadBalancerPlan, ownerTags, type Refusal } from '../load-balancers.ts';
import { planMarks } from './adoption.ts';
import { freeAddress, namedIn, planAddresses, releases, sameAddress } from './load-balancer-addresses.ts';
import { readSettings } from './load-balancer-annotations.ts';
import type { LoadBalancer } from './load-balancer-answer.ts';
import { newListener, newPool, planDetach, planPieces, tagsFor, type Wanted } from './load-balancer-pieces.ts';
import { type SimulatedStep, stepOf } from './load-balancer-step.ts';
import type { MemberSets } from './member-sets.ts';
import { carriesPieces, ownListeners, type Pieces, type SimulatedObserved, type Subject } from './observed.ts';

export type SimulatedPlan = LoadBalancerPlan<SimulatedStep>;

/** When to look again while the cloud is at work. */
export const waitMs = 250;

export function planLoadBalancer(
  desired: DesiredLoadBalancer,
  observed: SimulatedObserved | undefined,
  sets: MemberSets,
): SimulatedPlan {
  const adopting = observed?.pieces.subject?.adopting;
  const subject: Subject = { owner: desired.owner, name: desired.name, attachTo: desired.attach?.id, adopting };
  const pieces: Pieces = observed?.pieces ?? {
    ...{ subject, own: undefined, hosts: [], foreign: undefined, addresses: [], reserved: [] },
  };
  const { members, strangers } = sets.sorted(desired.members);
  const settings = readSettings(desired);
  const refusals: Refusal[] = [
    ...settings.refusals,
    ...strangers.map(({ node, providerID }): Refusal => {
      const message = `member ${node}: providerID ${JSON.stringify(providerID)} is of another place`;
      return { reason: 'Unsupported', message };
    }),
  ];
  const wanted: Wanted = { desired, settings, subject, members, sets };
  const plan = desired.attach ? planAttached(wanted, pieces) : planOfItsOwn(wanted, pieces);
  const marks = pieces.unmarked && plan.steps.length > 0 ? planMarks(subject, pieces.unmarked, desired.service) : [];
  return { ...plan, steps: [...marks, ...plan.steps], refusals: [...refusals, ...plan.refusals] };
}

function planOfItsOwn(wanted: Wanted, pieces: Pieces): SimulatedPlan {
  const { desired, subject } = wanted;
  const { own, hosts, foreign } = pieces;
  if (own) return planOwn(wanted, pieces, own);
  const host = hosts.find((one) => carriesPieces(one, subject.owner));
  if (host && !desired.mayChangeAddress) {
    const message = `${desired.service} uses load balancer ${host.id}, which somebody else made; one of its own has another address`;
    const { may } = accessTo({ what: `load balancer ${host.id}`, consent: host.tags[ownerTags.consent] }, desired);
    const { steps, refusals } = planPieces(wanted, host, may === 'use');
    return { steps, refusals: [{ reason: 'AddressWouldChange', message }, ...refusals], waitMs: undefined };
  }
  if (foreign?.state === 'deleting') return waiting;
  if (foreign) {
    const kept = foreign.tags[ownerTags.retained] !== undefined ? ' any more: it was kept on purpose' : '';
    const message = `load balancer ${foreign.id} has the name ${foreign.name}, and its tags do not say that it is of ${desired.service}${kept}`;
    return { steps: [], refusals: [{ reason: 'ForeignLoadBalancer', message }], waitMs: undefined };
  }
  return planCreate(wanted, pieces, undefined);
}

/** @param replaced the one that is deleted first */
function planCreate(wanted: Wanted, pieces: Pieces, replaced: LoadBalancer | undefined): SimulatedPlan {
  const { desired, settings, subject, members } = wanted;
  const { scheme } = settings;
  // What is not understood is told already; something else than what was meant is not made.
  if (!scheme || settings.refusals.length > 0) return nothing;
  const planned = planAddresses(desired, pieces, subject, scheme, desired.families, replaced?.id);
  if (planned.refusals.length > 0) return { ...nothing, refusals: planned.refusals };
  const { addresses } = planned;
  const ports = desired.ports.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
  const summary = `create ${scheme} load balancer ${desired.name} for ${desired.service}: ${ports}; ${members.length} members`;
  const pool = newPool(wanted);
  const listeners = desired.ports.map((port) => newListener(wanted, port));
  const body = { name: desired.name, tags: tagsFor(desired), scheme, addresses, pool, listeners, members };
  const create = stepOf(subject, desired.name, summary, { does: 'create load balancer', ...body });
  const unused = releases(pieces, subject, new Set(addresses.map(({ id }) => id)));
  return { steps: [...planned.steps, create, ...unused], refusals: [], waitMs: undefined };
}

function planOwn(wanted: Wanted, pieces: Pieces, own: LoadBalancer): SimulatedPlan {
  const { desired, settings, subject } = wanted;
  if (own.state === 'deleting' || own.state === 'provisioning') return waiting;
  const change = addressChange(wanted, pieces, own);
  const refusals: Refusal[] = [];
  if (change !== undefined || own.state === 'failed') {
    if (change === undefined || desired.mayChangeAddress) {
      const created = planCreate(wanted, pieces, own);
      // Nothing is deleted before it is certain that something comes in its place.
      if (created.steps.length > 0) {
        const why = own.state === 'failed' ? 'which has failed' : `${change}`;
        const summary = `delete load balancer ${own.name}, ${why}; it is made anew`;
        const remove = stepOf(subject, own.id, summary, { does: 'delete load balancer', id: own.id });
        return { ...created, steps: [remove, ...created.steps] };
      }
      refusals.push(...created.refusals);
    } else {
      refusals.push({ reason: 'AddressWouldChange', message: `load balancer ${own.name} (${own.id}): ${change}` });
    }
    if (own.state === 'failed') return { ...nothing, refusals };
  }

  const steps: SimulatedStep[] = [];
  const missing = desired.families.filter((family) => !own.addresses.some((one) => one.family === family));
  const kept = own.addresses.filter(({ family }) => desired.families.includes(family));
  const joined = planAddresses(
    missing.length > 0 &&
      desired.address !== undefined &&
      own.addresses.some(({ ip }) => sameAddress(ip, desired.address ?? ''))
      ? { ...desired, address: undefined }
      : desired,
    pieces,
    subject,
    own.scheme,
    missing,
    own.id,
  );
  if (missing.length > 0) refusals.push(...joined.refusals);
  const growing = joined.refusals.length === 0 ? joined.addresses : [];
  // One that comes and goes with the load balancer has no id to be named by, and stays.
  const shrinks = kept.length > 0 && own.addresses.some((one) => one.id !== undefined && !kept.includes(one));
  if (growing.length > 0 || shrinks) {
    if (growing.length > 0) steps.push(...joined.steps);
    const stay = (shrinks ? kept : own.addresses).filter(({ id }) => id !== undefined);
    const addresses = [...stay.map(({ id, family }) => ({ id, family })), ...growing];
    const summary = `families of ${own.name} from ${own.addresses.map(({ family }) => family).join(', ')} to ${desired.families.join(', ')}`;
    steps.push(stepOf(subject, own.id, summary, { does: 'change load balancer', id: own.id, addresses }));
  }
  if (own.tags[ownerTags.serviceName] !== desired.service) {
    const tags = { [ownerTags.serviceName]: desired.service };
    const summary = `tag ${ownerTags.serviceName} of ${own.name} to ${desired.service}`;
    steps.push(stepOf(subject, own.id, summary, { does: 'change load balancer', id: own.id, tags }));
  }
  const inside = planPieces(wanted, own, true);
  steps.push(...inside.steps);
  for (const host of pieces.hosts) steps.push(...planDetach(subject, host));
  const keep = new Set([...own.addresses, ...growing].map(({ id }) => id));
  if (settings.scheme !== undefined) steps.push(...releases(pieces, subject, keep));
  return { steps, refusals: [...refusals, ...inside.refusals], waitMs: undefined };
}

/** Why what is wanted has another address than this load balancer; undefined when it has not. */
function addressChange({ desired, settings }: Wanted, pieces: Pieces, own: LoadBalancer): string | undefined {
  const { scheme } = settings;
  if (scheme !== undefined && scheme !== own.scheme) return `from ${own.scheme} to ${scheme}`;
  const wantedIp = desired.address;
  const ips = own.addresses.map(({ ip }) => ip);
  if (wantedIp !== undefined && !ips.some((ip) => sameAddress(ip, wantedIp))) {
    // With another family than those it has, the named address can join.
    const named = namedIn(desired, pieces);
    const joins = named && !own.addresses.some(({ family }) => family === named.family);
    if (!joins) return `from ${ips.join(', ')} to ${wantedIp}, which spec.loadBalancerIP names`;
  }
  if (own.state !== 'failed') return undefined;
  const lost = own.addresses.filter(
    ({ ip, family }) =>
      desired.families.includes(family) &&
      !(wantedIp !== undefined && sameAddress(ip, wantedIp)) &&
      freeAddress(pieces.addresses, family, own.scheme, own.id)?.ip !== ip,
  );
  return lost.length > 0 ? `made anew it does not have ${lost.map(({ ip }) => ip).join(', ')} any more` : undefined;
}

function planAttached(wanted: Wanted, pieces: Pieces): SimulatedPlan {
  const { desired, subject } = wanted;
  const { id, allowed } = desired.attach!;
  const host = pieces.hosts.find((one) => one.id === id);
  // A list of the whole cluster does not show what has none of our pieces yet.
  const observedFor = pieces.subject?.attachTo;
  const refuse = (reason: Refusal['reason'], message: string): Refusal => ({ reason, message });
  const instead = (refusal: Refusal): SimulatedPlan => {
    const current = pieces.own ?? pieces.hosts.find((one) => carriesPieces(one, subject.owner));
    if (!current) return { ...nothing, refusals: [refusal] };
    if (current.state === 'provisioning' || current.state === 'deleting') return { ...waiting, refusals: [refusal] };
    const { steps, refusals } = planPieces(wanted, current, current === pieces.own);
    return { steps, refusals: [refusal, ...refusals], waitMs: undefined };
  };
  if (pieces.own?.id === id) return planOwn(wanted, pieces, pieces.own);
  if (!host && observedFor !== id) return waiting;
  if (!host) return instead(refuse('Unsupported', `load balancer ${JSON.stringify(id)} does not exist in this region`));
  const served = ownListeners(host, subject.owner);
  const consent = host.tags[ownerTags.consent];
  const access = accessTo({ what: `load balancer ${id}`, consent, allowed, served }, desired);
  if (access.may === 'nothing') return instead(access.refusal);
  const elsewhere = [pieces.own, ...pieces.hosts].filter(
    (one) => one && one !== host && (one === pieces.own || carriesPieces(one, subject.owner)),
  );
  if (elsewhere.length > 0 && !desired.mayChangeAddress && served.length === 0) {
    const message = `${desired.service} uses load balancer ${elsewhere[0]!.id}, and ${id} has another address`;
    return instead(refuse('AddressWouldChange', message));
  }
  if (host.state === 'provisioning' || host.state === 'deleting') return waiting;
  const refusals: Refusal[] = access.may === 'keep' ? [access.refusal] : [];
  const { address } = desired;
  if (address !== undefined && !host.addresses.some(({ ip }) => sameAddress(ip, address))) {
    refusals.push(
      refuse('Unsupported', `spec.loadBalancerIP: ${JSON.stringify(address)} is no address of load balancer ${id}`),
    );
  }
  const lacking = desired.families.filter((family) => !host.addresses.some((one) => one.family === family));
  if (lacking.length > 0) {
    refusals.push(refuse('Unsupported', `spec.ipFamilies: load balancer ${id} has no ${lacking.join(', ')} address`));
  }
  const inside = planPieces(wanted, host, access.may === 'use');
  const { own } = pieces;
  const steps = [...inside.steps];
  for (const other of pieces.hosts) if (other !== host) steps.push(...planDetach(subject, other));
  if (own && own.state !== 'deleting' && inside.refusals.length === 0 && access.may === 'use') {
    const summary = `delete load balancer ${own.name}: ${desired.service} uses ${id}`;
    steps.push(stepOf(subject, own.id, summary, { does: 'delete load balancer', id: own.id }));
  }
  steps.push(...releases(pieces, subject, new Set()));
  return {
    steps,
    refusals: [...refusals, ...inside.refusals],
    waitMs: own?.state === 'deleting' ? waitMs : undefined,
  };
}

const nothing: SimulatedPlan = { steps: [], refusals: [], waitMs: undefined };
/** Nothing can be done until the cloud is. */
export const waiting: SimulatedPlan = { steps: [], refusals: [], waitMs };
