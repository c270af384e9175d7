import { accessTo } from '../../access.ts';
import type { Refusal } from '../../load-balancers.ts';
import { keys } from './annotations.ts';
import type { LoadBalancer } from './answer.ts';
import { classicName, classicPrefix } from './names.ts';
import { addressOf, carriesPieces, ourListeners, type Pieces } from './observed.ts';
import { releases } from './plan-floating-ip.ts';
import { planOwn } from './plan-own.ts';
import { planLeaving, planPieces, servesOthers } from './plan-pieces.ts';
import { planSecurityGroup } from './plan-security-group.ts';
import { isPending, nothing, type OctaviaPlan, waitFor } from './plan-wait.ts';
import { stepOf } from './step.ts';
import { consentOf } from './tags.ts';
import { transportOf, type Wanted } from './wanted.ts';

/** Our listeners and pools on a load balancer that somebody else made, by its consent or the operator's. */
export function planAttached(wanted: Wanted, pieces: Pieces | undefined): OctaviaPlan {
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
  const ours = ourListeners(host, subject, false);
  const served = ours.map(({ port, protocol }) => ({ port, protocol: transportOf(protocol) }));
  const access = accessTo({ what: `load balancer ${id}`, consent: consentOf(host.tags), allowed, served }, desired);
  if (access.may === 'nothing') return instead(access.refusal);
  const elsewhere = pieces.own ?? pieces.hosts.find((one) => one !== host && carriesPieces(one, subject));
  if (elsewhere && !desired.mayChangeAddress && ours.length === 0) {
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
  const refusals: Refusal[] = access.may === 'keep' ? [access.refusal] : [];
  const others = sharers(host, wanted);
  const joins = ours.length === 0;
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
  const inside = planPieces(wanted, host, false, access.may === 'use');
  const steps = [...inside.steps];
  for (const other of pieces.hosts) if (other !== host && !isPending(other)) steps.push(...planLeaving(pieces, other));
  const { own } = pieces;
  const moved = access.may === 'use' && inside.refusals.length === 0;
  if (own && !isPending(own) && moved && !servesOthers(own, subject)) {
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
