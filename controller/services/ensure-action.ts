import type { DesiredLoadBalancer, ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import {
  attachTo,
  cleanupFinalizers,
  externalReferencesOf,
  hasFinalizer,
  isServed,
  type ServiceView,
} from '../model/service-view.ts';
import { type Action, adoptionMismatch, settle } from './action.ts';
import { desiredOf } from './desired.ts';
import { ensuredAction } from './ensured-action.ts';
import type { Observation } from './observation.ts';
import type { LoadBalancerReason } from './reasons.ts';
import { type LoadBalancerRecord, printRecord } from './record.ts';
import type { LoadBalancerCondition, ServiceChange } from './service-patches.ts';
import {
  howToAdopt,
  isAdoptionLost,
  isOurs,
  recordOf,
  type Situation,
  storedRecord,
  unprovedForMs,
} from './situation.ts';

const unproved = { reason: 'Provisioning', message: 'the result of an earlier create may not be visible yet' };

/** The next action for a Service that asks for a load balancer. Pure. */
export function ensureAction(situation: Situation): Action {
  const { service, cloud } = situation;
  const desired = desiredOf(service, { ...situation, retain: situation.retention.kind === 'granted' });
  const record = storedRecord(service);
  if (desired.ok) return ensureDesired(situation, record, desired.desired);
  const { reason, message } = desired;
  if (record?.id === undefined) return settle(reason, message);
  const stays = `${message}; until it is corrected, its load balancer stays as it is`;
  const last = cloud.loadBalancers.lastDone(desired.desired);
  if (last === undefined) return settle(reason, `${stays} and does not follow the Nodes`);
  return ensureDesired(situation, record, last, { reason, message: `${stays}, and its members follow the Nodes` });
}

/** @param invalid why this is not what the Service asks for */
function ensureDesired(
  situation: Situation,
  record: LoadBalancerRecord | undefined,
  desired: DesiredLoadBalancer,
  invalid?: LoadBalancerCondition,
): Action {
  const { service, cloud, observation } = situation;
  if (record === undefined || !hasFinalizer(service)) return claimAction(situation, record);
  if (observation === undefined || mustRead(observation, record, service)) return { do: 'observe' };
  const unprovedMs = unprovedForMs(situation, record, observation);
  if (unprovedMs > 0) {
    const { reason, message } = service.condition ?? unproved;
    return settle(reason as LoadBalancerReason, message, { againInMs: unprovedMs });
  }
  if (isAdoptionLost(situation, record)) return adoptionMismatch(record);
  const plan = cloud.loadBalancers.plan(desired);
  const change = recordChange(situation, record);
  if (plan.steps.length === 0) return ensuredAction(situation, plan, change, invalid);
  // Writes the id first: after a crash, the next leader need not search.
  if (change.record !== undefined) return { do: 'write', change, what: 'its id', first: false };
  return { do: 'apply', plan };
}

/** The change of a record that is not up to date. */
function recordChange(situation: Situation, record: LoadBalancerRecord): ServiceChange {
  const observed = situation.observation?.observed;
  if (!isOurs(situation, observed) || observed?.id === undefined) return {};
  const { id, adopted = false, notes = record.notes } = observed;
  const isSame = id === record.id && notes === record.notes && adopted === (record.adopted !== undefined);
  const { loadBalancerClass = '' } = record;
  const isOfClass = loadBalancerClass === situation.service.loadBalancerClass;
  if (isSame && isOfClass && record.scope === situation.cloud.scope) return {};
  return { record: recordOf(situation) };
}

/**
 * A search that missed the recorded load balancer proves nothing, and a search by our marks does not find other
 * resources that the Service names.
 */
function mustRead(observation: Observation, record: LoadBalancerRecord, service: ServiceView): boolean {
  if (!observation.fresh) return true;
  const { observed } = observation;
  const references = externalReferencesOf(service);
  const isUnread = references !== undefined && observation.readReferences !== references;
  if (isUnread && !hasReferences(observed, service)) return true;
  if (observation.source === 'list' && record.id !== observed?.id) return true;
  if (observed !== undefined) return false;
  if (observation.source === 'read') return record.id !== undefined && observation.readId !== record.id;
  return observation.source === 'list';
}

/** Whether the Service already has what it refers to. */
function hasReferences(observed: ObservedLoadBalancer | undefined, service: ServiceView): boolean {
  const attach = attachTo(service);
  const { loadBalancerIP: ip } = service;
  if (observed === undefined || (attach !== undefined && !(observed.attached && observed.id === attach))) return false;
  return ip === '' || observed.ingress.some((one) => one.ip === ip);
}

function claimAction(situation: Situation, record: LoadBalancerRecord | undefined): Action {
  const { service, cloud, observation } = situation;
  const claim = (text: string, first: boolean): Action => ({
    do: 'write',
    what: 'finalizer and record',
    first,
    change: {
      finalizer: 'add',
      record: text,
      ...(service.condition?.status === 'True' || observation?.observed?.adopted
        ? {}
        : { condition: { reason: 'Provisioning', message: 'the load balancer is being created' } }),
    },
  });
  if (record !== undefined) return claim(printRecord(record), false);
  const served = isServed(service);
  if (observation === undefined || (served && (!observation.fresh || observation.source === 'list')))
    return { do: 'observe' };
  if (isOurs(situation, observation.observed)) return claim(recordOf(situation), false);
  if (!served || attachTo(service) !== undefined)
    return claim(
      printRecord({ scope: cloud.scope, id: undefined, loadBalancerClass: service.loadBalancerClass }),
      !served && externalReferencesOf(service) === undefined,
    );
  const what = cleanupFinalizers(service).length > 0 ? 'the finalizer of another controller' : 'an address';
  return settle(
    'AdoptionRequired',
    `it shows ${what}, and there is no load balancer of ours for it in ${cloud.scope}; ${howToAdopt(situation)}`,
  );
}
