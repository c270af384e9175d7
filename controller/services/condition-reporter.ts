import type { EventSink } from '../kube/event-sink.ts';
import { type ServiceView, serviceTarget } from '../model/service-view.ts';
import { type LoadBalancerReason, type ServiceEventReason, statusOf } from './reasons.ts';
import type { LoadBalancerCondition } from './service-patches.ts';
import type { ServiceStates } from './service-state.ts';

/** Notes the condition of each Service in its state, and emits an event for each change that operators have to know. */
export interface ConditionReporter {
  /** Emits an event where the reason is new and not only temporary. `again`: also where it is not new. */
  note(
    service: ServiceView,
    condition: LoadBalancerCondition,
    options?: { readonly quiet?: boolean; readonly again?: boolean; readonly as?: ServiceEventReason },
  ): void;
  emit(service: ServiceView, reason: ServiceEventReason, message: string, type?: 'Normal' | 'Warning'): void;
}

const silent: ReadonlySet<LoadBalancerReason> = new Set(['Ensured', 'Provisioning', 'Deleting']);

export function createConditionReporter(states: ServiceStates, events: EventSink): ConditionReporter {
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
    note(service, { reason, message }, { quiet = false, again = false, as = 'SyncLoadBalancerFailed' } = {}) {
      const before = states.get(service.uid)?.reason ?? service.condition?.reason;
      states.setReason(service.uid, reason);
      if (quiet || silent.has(reason) || (before === reason && !again)) return;
      if (reason === 'NoMembers')
        emit(service, 'UnAvailableLoadBalancer', 'There are no available nodes for LoadBalancer', 'Warning');
      else if (reason === 'MemberRemovalWithheld') emit(service, 'LoadBalancerMembersWithheld', message, 'Warning');
      else if (reason === 'RetentionNotAllowed' || reason === 'ClusterWideConsent')
        emit(service, reason, message, 'Warning');
      else if (statusOf(reason) === 'True') emit(service, 'LoadBalancerMembersRefused', message, 'Warning');
      else emit(service, as, `${reason}: ${message}`, 'Warning');
    },
  };
}
