import type { EventSink } from '../kube/event-sink.ts';
import { type ServiceView, serviceTarget } from '../model/service-view.ts';
import { createWaitingNodes, type ReasonGauge } from '../model/waiting-nodes.ts';
import { type LoadBalancerReason, type ServiceEventReason, statusOf } from './reasons.ts';
import type { Standing } from './service-patches.ts';

/** Where every Service stands: keeps the gauge true and tells each change once. */
export interface Standings {
  /** Notes it; tells a person when it is news and nothing that goes by itself. */
  note(
    service: ServiceView,
    standing: Standing,
    options?: { readonly quiet?: boolean; readonly as?: ServiceEventReason },
  ): void;
  emit(service: ServiceView, reason: ServiceEventReason, message: string, type?: 'Normal' | 'Warning'): void;
  forget(uid: string): void;
}

const silent: ReadonlySet<LoadBalancerReason> = new Set(['Ensured', 'Provisioning', 'Deleting']);

export function createStandings(gauge: ReasonGauge, events: EventSink): Standings {
  const held = createWaitingNodes<LoadBalancerReason>(gauge);

  function emit(
    service: ServiceView,
    reason: ServiceEventReason,
    message: string,
    type: 'Normal' | 'Warning' = 'Normal',
  ): void {
    events.emit(serviceTarget(service), { type, reason, message });
  }

  return {
    emit,
    note(service, { reason, message }, { quiet = false, as = 'SyncLoadBalancerFailed' } = {}) {
      const before = held.get(service.uid)?.reason ?? service.condition?.reason;
      held.wait(service.uid, reason, '');
      if (quiet || silent.has(reason) || before === reason) return;
      if (reason === 'NoMembers')
        emit(service, 'UnAvailableLoadBalancer', 'There are no available nodes for LoadBalancer', 'Warning');
      else if (reason === 'MemberRemovalWithheld') emit(service, 'LoadBalancerMembersWithheld', message, 'Warning');
      else if (reason === 'RetentionNotAllowed' || reason === 'ClusterWideConsent')
        emit(service, reason, message, 'Warning');
      else if (statusOf(reason) === 'True') emit(service, 'LoadBalancerMembersRefused', message, 'Warning');
      else emit(service, as, `${reason}: ${message}`, 'Warning');
    },
    forget: (uid) => held.done(uid),
  };
}
