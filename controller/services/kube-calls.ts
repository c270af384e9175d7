import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { CloudRecord } from '../clouds/load-balancer-step.ts';
import { WithheldError } from '../clouds/permit.ts';
import { isPaused, isServed, type ServiceView } from '../model/service-view.ts';
import type { ConditionReporter } from './condition-reporter.ts';
import { type Intent, intentOf } from './intent.ts';
import type { LatestServices } from './latest-services.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { parseRecord, printRecord } from './record.ts';
import { type ServiceContext, serviceViewFor } from './service-context.ts';
import { fingerprintOf } from './service-fingerprint.ts';
import type { ServiceChange } from './service-patches.ts';
import type { Situation } from './situation.ts';
import { readService, type WriteOutcome, writeService } from './write-service.ts';

export interface KubeCallParts {
  readonly latest: LatestServices;
  readonly reporter: Pick<ConditionReporter, 'emit'>;
}

/** How a write ended, as in `WriteOutcome`. */
type Ended = WriteOutcome['kind'];

/** The calls to the Kubernetes API for one Service. All throw a KubeError, and note their answers in its state. */
export interface KubeCalls {
  /** Whether the Service exists in the API server now. */
  has(service: ServiceView): Promise<boolean>;
  /**
   * Whether the API server itself has shown it in this term; asks once. The cache of a new leader may be minutes old: a
   * load balancer that is created for a deleted Service would stay for ever.
   */
  confirm(service: ServiceView): Promise<boolean>;
  /** Writes a claim or record, unless another client has changed the record. */
  record(situation: Pick<Situation, 'service' | 'intent'>, change: ServiceChange): Promise<Ended>;
  /**
   * Writes the record of its cloud resources. Throws a WithheldError while it is paused, and an Error where another
   * client has changed it.
   */
  save(situation: Pick<Situation, 'service' | 'intent' | 'cloud'>, record: CloudRecord): Promise<void>;
  /** Writes the condition and the addresses. */
  show(service: ServiceView, change: ServiceChange): Promise<Ended>;
  /** Removes our finalizer and record. */
  release(situation: Pick<Situation, 'service' | 'intent'>, change: ServiceChange): Promise<Ended>;
}

export function createKubeCalls(
  context: ServiceContext,
  { loadBalancerClasses, states }: ReconcilerOptions,
  { latest, reporter }: KubeCallParts,
): KubeCalls {
  const { clock, log, clouds } = context;
  const writer = { api: context.api, clock, view: serviceViewFor(clouds) };

  async function has(service: ServiceView): Promise<boolean> {
    return (await readService(writer, service))?.uid === service.uid;
  }

  function stillIntended(intent: Intent) {
    return (now: ServiceView) => !isPaused(now) && intentOf(now, loadBalancerClasses) === intent;
  }

  /** A change of the record by another client makes this decision invalid; before a claim, its address does, too. */
  function asRecorded({ service, intent }: Pick<Situation, 'service' | 'intent'>) {
    const record = service.annotations[annotationKeys.loadBalancer];
    const holds = stillIntended(intent);
    return (now: ServiceView) =>
      holds(now) &&
      now.annotations[annotationKeys.loadBalancer] === record &&
      (record !== undefined || isServed(now) === isServed(service));
  }

  function announceAdoption(service: ServiceView, { record }: ServiceChange): void {
    const before = parseRecord(service.annotations[annotationKeys.loadBalancer]);
    const now = parseRecord(record ?? undefined);
    if (now?.adopted === undefined || before?.adopted !== undefined) return;
    const proof = 'its name, tags and address are those of this Service';
    const message = `Load balancer ${now.id} in ${now.scope} is adopted: ${proof}`;
    log.info('load balancer adopted', { service: service.key, scope: now.scope, id: now.id });
    reporter.emit(service, 'AdoptedLoadBalancer', message);
  }

  async function record(situation: Pick<Situation, 'service' | 'intent'>, change: ServiceChange): Promise<Ended> {
    const { service } = situation;
    states.of(service.uid).released = false;
    const outcome = await writeService(writer, service, change, asRecorded(situation));
    if (outcome.kind === 'written' || outcome.kind === 'changed') {
      latest.wrote(outcome.service);
      // While our finalizer is on it, only we can release it.
      states.of(service.uid).confirmed = true;
    }
    if (outcome.kind === 'written') announceAdoption(service, change);
    return outcome.kind;
  }

  return {
    has,

    async confirm(service) {
      if (states.get(service.uid)?.confirmed) return true;
      if (await has(service)) {
        states.of(service.uid).confirmed = true;
        return true;
      }
      log.warn('a Service that the cache shows is gone', { service: service.key });
      return false;
    },

    record,

    async save({ service: planned, intent, cloud }, { id, notes }) {
      const { key, uid } = planned;
      const service = latest.get(key);
      if (service?.uid !== uid) throw new Error(`another client has changed ${key}`);
      if (isPaused(service) || context.paused()) throw new WithheldError('Paused', `not written: ${key} is paused`);
      const before = parseRecord(service.annotations[annotationKeys.loadBalancer]);
      const text = printRecord({ ...(before ?? { scope: cloud.scope }), id: id ?? before?.id, notes });
      const ended = await record({ service, intent }, { record: text });
      if (ended === 'gone' || ended === 'changed') throw new Error(`another client has changed ${key}`);
    },

    async show(service, change) {
      const isIntended = stillIntended(intentOf(service, loadBalancerClasses));
      const decided = fingerprintOf(service);
      // Another spec is served first: the cache takes it for older than our write when it shows it.
      const holds = (now: ServiceView) => isIntended(now) && fingerprintOf(now) === decided;
      const outcome = await writeService(writer, service, change, holds);
      if (outcome.kind === 'written' || outcome.kind === 'changed') latest.wrote(outcome.service);
      return outcome.kind;
    },

    async release(situation, change) {
      const { service } = situation;
      // Before it is sent, because the event of the deletion may arrive before the answer.
      states.of(service.uid).released = true;
      try {
        const outcome = await writeService(writer, service, change, asRecorded(situation));
        if (outcome.kind !== 'gone') latest.wrote(outcome.service);
        if (outcome.kind === 'changed') states.of(service.uid).released = false;
        return outcome.kind;
      } catch (error) {
        states.of(service.uid).released = false;
        throw error;
      }
    },
  };
}
