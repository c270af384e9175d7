import type { Clock } from '../../common/process/clock.ts';
import type { MetricsOf } from '../../common/process/metrics.ts';
import type { serviceMetrics } from './metrics.ts';
import type { ServiceView } from './service-view.ts';
import type { Standings } from './standings.ts';

/** Pieces of work that are under way, from the first step to the last: each tells its beginning and end once, however many tries it takes. */
export interface ServiceWork {
  /** Answers whether it is news. */
  begin(service: ServiceView, kind: 'ensure' | 'remove'): boolean;
  /** The Service stands as it asks. */
  ensured(service: ServiceView): void;
  /** @param stays that it was given up and not deleted */
  removed(service: ServiceView, stays: boolean): void;
  /** A try failed. */
  failed(service: ServiceView): void;
  forget(uid: string): void;
}

interface Work {
  readonly kind: 'ensure' | 'remove';
  readonly startedMs: number;
  /** Nothing of the Service itself has changed since it was ensured last. */
  readonly membersOnly: boolean;
}

export function createServiceWork(
  clock: Clock,
  metrics: MetricsOf<typeof serviceMetrics>,
  standings: Pick<Standings, 'emit'>,
): ServiceWork {
  const under = new Map<string, Work>();
  /** By Service: what it asked for when it was ensured last. */
  const asked = new Map<string, string>();

  function end(uid: string): { readonly work: Work; readonly seconds: number } | undefined {
    const work = under.get(uid);
    under.delete(uid);
    return work && { work, seconds: (clock.monotonic() - work.startedMs) / 1000 };
  }

  return {
    begin(service, kind) {
      if (under.get(service.uid)?.kind === kind) return false;
      const membersOnly = kind === 'ensure' && asked.get(service.uid) === asks(service);
      under.set(service.uid, { kind, startedMs: clock.monotonic(), membersOnly });
      if (kind === 'remove') standings.emit(service, 'DeletingLoadBalancer', 'Deleting load balancer');
      else if (!membersOnly) standings.emit(service, 'EnsuringLoadBalancer', 'Ensuring load balancer');
      return true;
    },
    ensured(service) {
      const done = end(service.uid);
      asked.set(service.uid, asks(service));
      if (done === undefined) return;
      if (done.work.membersOnly) {
        metrics.hostSyncs.add();
        metrics.hostUpdateLatency.observe(done.seconds);
        standings.emit(service, 'UpdatedLoadBalancer', 'Updated load balancer with new hosts');
      } else {
        metrics.ensureLatency.observe(done.seconds);
        standings.emit(service, 'EnsuredLoadBalancer', 'Ensured load balancer');
      }
    },
    removed(service, stays) {
      const done = end(service.uid);
      metrics.deleteLatency.observe(done?.seconds ?? 0);
      const message = stays ? 'Gave up the load balancer, which stays' : 'Deleted load balancer';
      standings.emit(service, 'DeletedLoadBalancer', message);
    },
    failed(service) {
      if (under.get(service.uid)?.membersOnly) metrics.nodeSyncErrors.add();
    },
    forget(uid) {
      under.delete(uid);
      asked.delete(uid);
    },
  };
}

/** All of a Service that bears on its load balancer, apart from what we write ourselves. */
export function asks({ ports, sourceRanges, ...service }: ServiceView): string {
  const { type, sessionAffinity, affinityTimeout, externalTrafficPolicy, healthCheckNodePort } = service;
  const { ipFamilies, loadBalancerIP, annotations } = service;
  const { 'mooring.dev/load-balancer': _, ...asked } = annotations;
  return JSON.stringify([
    [type, ports, sourceRanges, sessionAffinity, affinityTimeout, externalTrafficPolicy, healthCheckNodePort],
    [ipFamilies, loadBalancerIP, asked],
  ]);
}
