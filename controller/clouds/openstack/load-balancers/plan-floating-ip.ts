import { isIP } from 'node:net';
import { accessTo, isKeptFor } from '../../access.ts';
import type { Refusal } from '../../load-balancers.ts';
import type { FloatingIp, LoadBalancer } from './answer.ts';
import { floatingIpDescription, markIn, retainedMark, serviceIn, withMark } from './names.ts';
import { floatingPool } from './network-facts.ts';
import { addressOf, isOurFloatingIp, type Pieces, type Subject } from './observed.ts';
import { type OctaviaStep, stepOf } from './step.ts';
import { consentOf } from './tags.ts';
import type { Wanted } from './wanted.ts';

export interface AddressPlan {
  readonly steps: readonly OctaviaStep[];
  readonly refusals: readonly Refusal[];
  /** Whether the load balancer is to carry the tag that its VIP is its address; undefined = as it is. */
  readonly vip: boolean | undefined;
}

const keep: AddressPlan = { steps: [], refusals: [], vip: undefined };

/** Whether the address of this Service is the VIP itself. */
export function wantsVip({ settings }: Wanted): boolean | undefined {
  return settings.family === 'IPv6' ? true : settings.internal;
}

/** What gives our own load balancer the address that its Service asks for. Another than it shows only with consent. */
export function planAddress(wanted: Wanted, pieces: Pieces, own: LoadBalancer): AddressPlan {
  const { desired, subject } = wanted;
  const vip = wantsVip(wanted);
  if (vip === undefined) return keep;
  const shown = addressOf(own, pieces);
  const attached = pieces.floatingIps.find(({ portId }) => portId === own.vipPortId);
  const named = desired.address;
  const change = (to: string): Refusal => {
    const message = `load balancer ${own.name} (${own.id}): from ${shown} to ${to}`;
    return { reason: 'AddressWouldChange', message };
  };

  if (vip) {
    if (named !== undefined && !sameAddress(named, own.vipAddress)) {
      return {
        ...keep,
        refusals: [change(`${named}, which spec.loadBalancerIP names`)],
        vip: attached ? undefined : true,
      };
    }
    if (!attached) return { ...keep, vip: true };
    if (!desired.mayChangeAddress)
      return { ...keep, refusals: [change(`the VIP ${own.vipAddress}, without its floating IP`)] };
    return { ...keep, steps: [letGo(wanted, pieces, attached)], vip: true };
  }

  if (attached && (named === undefined || sameAddress(named, attached.address)))
    return { ...keep, steps: releases(wanted, pieces, attached), vip: false };
  if (shown !== undefined && !desired.mayChangeAddress) {
    const free = floatingPool(wanted.settings.placement ?? {}, pieces.network, pieces.full);
    // Where there never was a floating IP to be had, the VIP is what there is.
    if (!attached && named === undefined && 'problem' in free)
      return { ...keep, refusals: [noPool(free.problem, own)] };
    return {
      ...keep,
      refusals: [change(named === undefined ? 'a floating IP' : `${named}, which spec.loadBalancerIP names`)],
    };
  }
  const taken = pieces.floatingIps.find(
    (one) => one.portId !== undefined && one.portId !== own.vipPortId && isOurs(one, pieces),
  );
  if (taken && !desired.mayChangeAddress) {
    const message = `floating IP ${taken.address} of ${desired.service} is attached to port ${taken.portId} by somebody else; another would be another address`;
    return { ...keep, refusals: [{ reason: 'Conflict', message }] };
  }
  const next = nextFloatingIp();
  if ('refusal' in next) return { ...keep, refusals: [next.refusal], vip: next.vip };
  if (next.step === undefined) return keep;
  return { steps: [...(attached ? [letGo(wanted, pieces, attached)] : []), next.step], refusals: [], vip: false };

  function nextFloatingIp():
    | { readonly step: OctaviaStep | undefined }
    | { readonly refusal: Refusal; readonly vip: boolean | undefined } {
    const ready =
      named === undefined
        ? pieces.floatingIps.find((one) => one.portId === undefined && isOurs(one, pieces))
        : undefined;
    const chosen = ready ?? (named === undefined ? undefined : namedFloatingIp(wanted, pieces));
    if (chosen && 'reason' in chosen) return { refusal: chosen, vip: undefined };
    if (chosen) {
      const summary = `attach floating IP ${chosen.address} to load balancer ${own.name}`;
      return {
        step: stepOf(subject, chosen.id, summary, { does: 'update floating IP', id: chosen.id, portId: own.vipPortId }),
      };
    }
    const { placement } = wanted.settings;
    // Which network is meant is not understood, and told.
    if (placement === undefined) return { step: undefined };
    const pool = floatingPool(placement, pieces.network, pieces.full);
    if ('problem' in pool) return { refusal: noPool(pool.problem, own), vip: shown === undefined ? true : undefined };
    const description = floatingIpDescription(desired, wanted.settings.keepFloatingIp === true);
    const body = { ...pool, address: named, portId: own.vipPortId, description };
    const summary = `create floating IP ${named === undefined ? '' : `${named} `}in network ${pool.networkId} for load balancer ${own.name}`;
    return { step: stepOf(subject, named ?? 'floating IP', summary, { does: 'create floating IP', body }) };
  }
}

function noPool(problem: string, own: LoadBalancer): Refusal {
  return {
    reason: 'Unsupported',
    message: `no floating IP for load balancer ${own.name}: ${problem}; it has its VIP ${own.vipAddress} alone`,
  };
}

/** Refused before anything is made for a Service that names an address. */
export function namedRefusal(wanted: Wanted, pieces: Pieces | undefined): Refusal | undefined {
  const { address } = wanted.desired;
  if (address === undefined) return undefined;
  const field = `spec.loadBalancerIP: ${JSON.stringify(address)}`;
  const { family } = wanted.settings;
  if (isIP(address) !== (family === 'IPv6' ? 6 : 4)) {
    return { reason: 'Unsupported', message: `${field}, expected an ${family} address` };
  }
  if (wantsVip(wanted) !== false || pieces === undefined) return undefined;
  const found = namedFloatingIp(wanted, pieces);
  return found && 'reason' in found ? found : undefined;
}

/** The floating IP of the address that the Service names; undefined = there is none yet. */
function namedFloatingIp({ desired }: Wanted, pieces: Pieces): FloatingIp | Refusal | undefined {
  const { named, own } = pieces;
  if (named === undefined || desired.address === undefined || !sameAddress(named.address, desired.address))
    return undefined;
  const field = `spec.loadBalancerIP: ${JSON.stringify(desired.address)}`;
  const mark = markIn(named.description);
  const kept = mark?.cluster === desired.owner.cluster && isKeptFor(mark.keptFor, desired.service);
  if (!isOurs(named, pieces) && !kept) {
    const access = accessTo({ what: `${field}: floating IP ${named.id}`, consent: consentOf(named.tags) }, desired);
    if (access.may !== 'use') return access.refusal;
  }
  if (named.portId !== undefined && named.portId !== own?.vipPortId) {
    return { reason: 'Conflict', message: `${field} is in use by port ${named.portId}` };
  }
  return named;
}

function isOurs(floatingIp: FloatingIp, pieces: Pieces): boolean {
  return isOurFloatingIp(floatingIp, pieces);
}

/** Whether a floating IP outlives its Service: written on itself, since the Service may be gone when it matters, and a load balancer in ERROR takes no tag. */
export function isKept({ description }: FloatingIp): boolean {
  return markIn(description)?.keep === true;
}

/** Writes on our floating IPs what the annotation says of them. */
export function planKeeping({ desired, subject, settings }: Wanted, pieces: Pieces): OctaviaStep[] {
  const keep = settings.keepFloatingIp;
  if (keep === undefined) return [];
  return pieces.floatingIps
    .filter((one) => isOurs(one, pieces) && isKept(one) !== keep)
    .map(({ id, address }) => {
      const description = floatingIpDescription(desired, keep);
      const summary = `floating IP ${address} ${keep ? 'stays' : 'goes'} when its Service goes`;
      return stepOf(subject, id, summary, { does: 'update floating IP', id, description });
    });
}

function letGo({ subject, settings }: Wanted, pieces: Pieces, one: FloatingIp): OctaviaStep {
  const { id, address } = one;
  if (isOurs(one, pieces) && !isKept(one) && settings.keepFloatingIp === false) {
    return stepOf(subject, id, `delete floating IP ${address}, which is not wanted any more`, {
      does: 'delete floating IP',
      id,
    });
  }
  return stepOf(subject, id, `detach floating IP ${address}`, { does: 'update floating IP', id, portId: null });
}

/** Gives back those of ours that are attached to nothing. */
export function releases({ subject, settings }: Wanted, pieces: Pieces, used: FloatingIp | undefined): OctaviaStep[] {
  if (settings.keepFloatingIp !== false) return [];
  return pieces.floatingIps
    .filter((one) => one.portId === undefined && one.id !== used?.id && isOurs(one, pieces) && !isKept(one))
    .map(({ id, address }) =>
      stepOf(subject, id, `delete floating IP ${address}, which nothing uses`, { does: 'delete floating IP', id }),
    );
}

/** Takes the owner's mark off a floating IP that stays. */
export function giveUpFloatingIp(
  pieces: Pieces,
  { id, address, description }: FloatingIp,
  markOf = retainedMark,
): OctaviaStep {
  const { subject } = pieces;
  const mark = markOf(subject.owner, subject.service || serviceIn(description));
  const text = withMark(description.replace(/ ?\[[^\]]*\]$/, ''), mark);
  return stepOf(subject, id, `give up floating IP ${address}, which stays`, {
    does: 'update floating IP',
    id,
    description: text,
  });
}

/** Marks one of the classic controller as ours, so that it is found when its load balancer is not there. */
export function claimFloatingIp(subject: Subject, { id, address }: FloatingIp): OctaviaStep {
  const description = floatingIpDescription(subject);
  const summary = `mark floating IP ${address} as of ${subject.service}`;
  return stepOf(subject, id, summary, { does: 'update floating IP', id, description });
}

export function sameAddress(a: string, b: string): boolean {
  return a === b || (isIP(a) === 6 && isIP(b) === 6 && expanded(a) === expanded(b));
}

function expanded(address: string): string {
  return new URL(`http://[${address}]`).hostname;
}
