import { accessTo } from '../../access.ts';
import type { Refusal } from '../../load-balancers.ts';
import type { LoadBalancer } from './answer.ts';
import { addressOf, isOurFloatingIp, type Pieces } from './observed.ts';
import { planCreate } from './plan-create.ts';
import { claimFloatingIp, wantsVip } from './plan-floating-ip.ts';
import { servesOthers } from './plan-pieces.ts';
import { nothing, type OctaviaPlan } from './plan-wait.ts';
import { type OctaviaStep, stepOf } from './step.ts';
import { consentOf } from './tags.ts';
import type { Wanted } from './wanted.ts';

/**
 * A load balancer in ERROR is failed over, which keeps its address. Where that is not allowed (it is an administrator's), it is made anew: only if the address
 * survives, nobody has seen it yet, or another is consented to. Nothing is deleted before it is certain that something comes in its place.
 */
export function planFailed(wanted: Wanted, pieces: Pieces, own: LoadBalancer): OctaviaPlan {
  const { desired, subject, settings } = wanted;
  if (pieces.restMs > 0) {
    const message = `load balancer ${own.name} (${own.id}) came to ERROR again and again; the next try comes in a while`;
    return { ...nothing, refusals: [{ reason: 'Conflict', message }], waitMs: pieces.restMs };
  }
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
    accessTo({ what: '', consent: consentOf(pieces.named.tags) }, desired).may === 'use';
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
  const steps: OctaviaStep[] = [];
  if (attached && ours && survives && !attached.description.includes(subject.owner.service))
    steps.push(claimFloatingIp(subject, attached));
  const summary = `delete load balancer ${own.name}, which is in ERROR; it is made anew`;
  steps.push(stepOf(subject, own.id, summary, { does: 'delete load balancer', id: own.id, cascade: true }));
  return { ...created, steps: [...steps, ...created.steps], waitMs: undefined };
}
