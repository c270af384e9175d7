import { annotations as annotationKeys } from '../../common/well-known.ts';
import { isPaused, type ServiceView } from '../model/service-view.ts';
import type { LatestServices } from './latest-services.ts';
import type { Situation } from './next-action.ts';
import { parseRecord } from './record.ts';
import { readsAnnotation, type ServiceContext } from './service-context.ts';
import type { ServiceChange } from './service-patches.ts';
import type { ServiceStates } from './service-state.ts';
import type { Standings } from './standings.ts';
import { type Demand, demandOf } from './wants.ts';
import { readService, type WriteOutcome, writeService } from './write-service.ts';

export interface KubeCallParts {
  readonly loadBalancerClasses: readonly string[];
  readonly states: ServiceStates;
  readonly latest: Pick<LatestServices, 'wrote'>;
  readonly standings: Pick<Standings, 'emit'>;
}

/** How a write ended, as in `WriteOutcome`. */
type Ended = WriteOutcome['kind'];

/** The calls to the Kubernetes API for one Service, and what is known after each. All throw a KubeError. */
export interface KubeCalls {
  /** Whether the API server has it now. */
  has(service: ServiceView): Promise<boolean>;
  /**
   * Whether the API server has shown it in this term; asks once. The cache of a new leader may be minutes old: what is made for a Service that went meanwhile would
   * stay for ever.
   */
  hasSeenInstance(service: ServiceView): Promise<boolean>;
  /** Writes what is decided about its load balancer, as long as nobody else decides about it. */
  record(situation: Pick<Situation, 'service' | 'demand'>, change: ServiceChange): Promise<Ended>;
  /** Writes where it stands. */
  show(service: ServiceView, change: ServiceChange): Promise<Ended>;
  /** Writes that we have nothing to do with it any more. */
  release(situation: Pick<Situation, 'service' | 'demand'>, change: ServiceChange): Promise<Ended>;
}

export function createKubeCalls(context: ServiceContext, parts: KubeCallParts): KubeCalls {
  const { clock, log, clouds } = context;
  const { loadBalancerClasses, states, latest, standings } = parts;
  const writer = { api: context.api, clock, isRead: readsAnnotation(clouds) };

  async function has(service: ServiceView): Promise<boolean> {
    return (await readService(writer, service))?.uid === service.uid;
  }

  function stillWanted(demand: Demand) {
    return (now: ServiceView) => !isPaused(now) && demandOf(now, loadBalancerClasses) === demand;
  }

  /** Whoever recorded something else meanwhile has decided on other grounds. */
  function asRecorded({ service, demand }: Pick<Situation, 'service' | 'demand'>) {
    const record = service.annotations[annotationKeys.loadBalancer];
    const wanted = stillWanted(demand);
    return (now: ServiceView) => wanted(now) && now.annotations[annotationKeys.loadBalancer] === record;
  }

  function announceAdoption(service: ServiceView, { record }: ServiceChange): void {
    const before = parseRecord(service.annotations[annotationKeys.loadBalancer]);
    const now = parseRecord(record ?? undefined);
    if (now?.adopted === undefined || before?.adopted !== undefined) return;
    const message = `Load balancer ${now.id} in ${now.scope} is taken over: its name, tags and address are those of this Service`;
    log.info('load balancer taken over', { service: service.key, scope: now.scope, id: now.id });
    standings.emit(service, 'AdoptedLoadBalancer', message);
  }

  return {
    has,

    async hasSeenInstance(service) {
      if (states.get(service.uid)?.confirmed) return true;
      if (await has(service)) {
        states.of(service.uid).confirmed = true;
        return true;
      }
      log.warn('a Service that the cache shows is gone', { service: service.key });
      return false;
    },

    async record(situation, change) {
      const { service } = situation;
      states.of(service.uid).released = false;
      const outcome = await writeService(writer, service, change, asRecorded(situation));
      if (outcome.kind === 'written' || outcome.kind === 'changed') {
        latest.wrote(outcome.service);
        // With our finalizer on, it goes by our hand alone.
        states.of(service.uid).confirmed = true;
      }
      if (outcome.kind === 'written') announceAdoption(service, change);
      return outcome.kind;
    },

    async show(service, change) {
      const outcome = await writeService(writer, service, change, stillWanted(demandOf(service, loadBalancerClasses)));
      if (outcome.kind === 'written' || outcome.kind === 'changed') latest.wrote(outcome.service);
      return outcome.kind;
    },

    async release(situation, change) {
      const { service } = situation;
      // Before it is sent: the news that the Service is gone may come before the answer.
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
