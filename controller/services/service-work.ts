import type { Clock } from '../../common/process/clock.ts';
import type { MetricsOf } from '../../common/process/metrics.ts';
import type { DesiredMember, ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import type { ServiceView } from '../model/service-view.ts';
import type { ConditionReporter } from './condition-reporter.ts';
import type { serviceMetrics } from './metrics.ts';
import { fingerprintOf } from './service-fingerprint.ts';
import type { ServiceStates, Work } from './service-state.ts';

type Shown = Pick<ObservedLoadBalancer, 'id' | 'ingress'>;

/**
 * Work in progress on load balancers, from the first step to the last. It emits one event at its start and one at its
 * end, however many tries it takes.
 */
export interface ServiceWork {
  /**
   * Returns whether the work is new.
   *
   * @param members the desired ones
   */
  begin(service: ServiceView, kind: 'ensure' | 'remove', members?: readonly DesiredMember[]): boolean;
  /** The load balancer has the desired state, with these members. */
  ensured(service: ServiceView, members: readonly DesiredMember[], balancer: Shown | undefined): void;
  /** @param stays what was released and not deleted, for people */
  removed(service: ServiceView, stays: string | undefined): void;
  /** A try failed. */
  failed(service: ServiceView): void;
}

export function createServiceWork(
  clock: Clock,
  metrics: MetricsOf<typeof serviceMetrics>,
  states: ServiceStates,
  reporter: Pick<ConditionReporter, 'emit'>,
): ServiceWork {
  function causeOf(service: ServiceView, members: readonly DesiredMember[]): Work['cause'] {
    const before = states.get(service.uid)?.ensured;
    if (before?.fingerprint !== fingerprintOf(service)) return 'service';
    return sameMembers(before.members, members) ? 'nothing' : 'members';
  }

  function end(uid: string): { readonly work: Work; readonly seconds: number } | undefined {
    const state = states.of(uid);
    const { work } = state;
    state.work = undefined;
    return work && { work, seconds: (clock.monotonic() - work.startedMs) / 1000 };
  }

  return {
    begin(service, kind, members = []) {
      const state = states.of(service.uid);
      if (state.work?.kind === kind) return false;
      const cause = kind === 'ensure' ? causeOf(service, members) : 'service';
      state.work = { kind, startedMs: clock.monotonic(), cause };
      if (kind === 'remove') reporter.emit(service, 'DeletingLoadBalancer', 'Deleting load balancer');
      else if (cause === 'service') reporter.emit(service, 'EnsuringLoadBalancer', 'Ensuring load balancer');
      return true;
    },
    ensured(service, members, balancer) {
      const done = end(service.uid);
      states.of(service.uid).ensured = { fingerprint: fingerprintOf(service), members };
      if (done === undefined) return;
      if (done.work.cause === 'members') {
        metrics.hostSyncs.add();
        metrics.hostUpdateLatency.observe(done.seconds);
        reporter.emit(service, 'UpdatedLoadBalancer', 'Updated load balancer with new hosts');
        return;
      }
      metrics.ensureLatency.observe(done.seconds);
      if (done.work.cause === 'service') reporter.emit(service, 'EnsuredLoadBalancer', ensuredText(balancer));
      else reporter.emit(service, 'RepairedLoadBalancer', 'Restored what was changed in the cloud');
    },
    removed(service, stays) {
      const done = end(service.uid);
      if (done !== undefined) metrics.deleteLatency.observe(done.seconds);
      const message = stays === undefined ? 'Deleted load balancer' : `Gave up ${stays}`;
      reporter.emit(service, 'DeletedLoadBalancer', message);
    },
    failed(service) {
      if (states.get(service.uid)?.work?.cause === 'members') metrics.nodeSyncErrors.add();
    },
  };
}

function sameMembers(a: readonly DesiredMember[], b: readonly DesiredMember[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  return a.every(({ providerID, draining }, at) => providerID === b[at]?.providerID && draining === b[at]?.draining);
}

function ensuredText(balancer: Shown | undefined): string {
  const { id, ingress = [] } = balancer ?? {};
  const addresses = ingress.map(({ ip, hostname }) => ip ?? hostname).join(', ');
  return `Ensured load balancer${id === undefined ? '' : ` ${id}`}${addresses === '' ? '' : ` with ${addresses}`}`;
}
