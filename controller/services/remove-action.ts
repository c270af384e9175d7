import { type Action, adoptionMismatch, refusedRetryMs, settle } from './action.ts';
import type { ServiceChange } from './service-patches.ts';
import {
  howToAdopt,
  isAdoptionLost,
  isOurs,
  maxProofAgeMs,
  recordOf,
  type Situation,
  storedRecord,
  unprovedForMs,
} from './situation.ts';

/** How long another controller has to remove its load balancer and its finalizer after a change of the type. */
const othersMs = 300_000;

/** When to read again what is shown as ours, and no step deletes. */
const stuckRetryMs = 60_000;

/** The next action for a Service that no longer asks for a load balancer of ours. Pure. */
export function removeAction(situation: Situation): Action {
  const { service, cloud, observation, nowMs, retention } = situation;
  const record = storedRecord(service);
  if (record === undefined) return unrecordedRemoval(situation);
  if (observation === undefined || !observation.fresh) return { do: 'observe' };
  const { observed, source } = observation;
  if (isAdoptionLost(situation, record)) return source === 'read' ? adoptionMismatch(record) : { do: 'observe' };
  const isProof = source === 'read' && nowMs - observation.atMs < maxProofAgeMs;
  if (observed !== undefined && isOurs(situation, observed)) {
    if (retention.kind === 'full')
      return settle('RetentionLimitReached', retention.message, { againInMs: refusedRetryMs });
    const owner = { cluster: situation.cluster.uid, service: service.uid };
    const plan = cloud.loadBalancers.planRemoval(owner, { retain: retention.kind === 'granted' });
    if (plan.steps.length > 0) return { do: 'apply', plan };
    const left = plan.refusals.filter(({ reason }) => reason === 'Conflict' || reason === 'NoEffect');
    const [refusal] = left;
    if (refusal !== undefined) {
      const message = left.map((each) => each.message).join('; ');
      return settle(refusal.reason, message, { againInMs: plan.waitMs ?? refusedRetryMs });
    }
    if (plan.waitMs !== undefined)
      return settle('Deleting', 'the cloud is still deleting it', { againInMs: plan.waitMs });
    if (!isProof) return { do: 'observe' };
    // The refusals name what stays.
    if (plan.refusals.length > 0) return release(situation);
    // Without either, nothing is released that a read shows.
    const shown = observed.id === undefined ? 'parts of its load balancer' : `load balancer ${observed.id}`;
    return settle('AwaitingCloud', `the cloud shows ${shown}, and there is no step that deletes it`, {
      againInMs: stuckRetryMs,
    });
  }
  if (!isProof) return { do: 'observe' };
  if (record.id !== undefined) return observation.readId === record.id ? release(situation) : { do: 'observe' };
  // Without an id only searches can prove it.
  const againInMs = unprovedForMs(situation, record, { ...observation, observed: undefined });
  if (againInMs === 0) return release(situation);
  return settle('Deleting', 'the cloud is read again, because new resources may appear late', { againInMs });
}

function unrecordedRemoval(situation: Situation): Action {
  const { service, cloud, intent, observation, nowMs } = situation;
  // A list may still show what is gone.
  if (!observation?.fresh || observation.source === 'list') return { do: 'observe' };
  const { observed, missingSinceMs, atMs } = observation;
  if (isOurs(situation, observed)) {
    const change = { record: recordOf(situation) };
    return { do: 'write', change, what: 'its record', first: false };
  }
  if (intent === 'disown') return { do: 'nothing' };
  const isNew = service.type !== 'LoadBalancer' && service.condition === undefined;
  const againInMs = (missingSinceMs ?? atMs) + othersMs - nowMs;
  if (isNew && againInMs > 0) return { do: 'nothing', againInMs };
  const message =
    `it carries the finalizer of another controller, and there is no load balancer of ours for it in ${cloud.scope}; ` +
    howToAdopt(situation);
  return settle('AdoptionRequired', message);
}

function release({ service, intent, marked }: Situation): Action {
  const ours: ServiceChange = { record: null, condition: null };
  // The record alone may come from the manifest of another Service: then the finalizer is the other controller's. It is
  // ours where the cloud had something of ours. A leader that began after that was gone keeps it, which is safer.
  if (intent === 'disown') return { do: 'release', change: { ...ours, ...(marked && { finalizer: 'remove' }) } };
  return {
    do: 'release',
    change: { ...ours, finalizer: 'removeAll', ...(service.type === 'LoadBalancer' && { ingress: [] }) },
  };
}
