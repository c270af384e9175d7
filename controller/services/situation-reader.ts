import type { ServiceView } from '../model/service-view.ts';
import { annotationsFor } from './desired.ts';
import type { MembersRequest, ServiceMembers } from './members/service-members.ts';
import type { PodMembers } from './pods/pod-members.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { splitMembers, stillRefused } from './refused-members.ts';
import type { Retentions } from './retention.ts';
import type { ServiceContext } from './service-context.ts';
import type { ServingCloud } from './serving-cloud.ts';
import type { Situation } from './situation.ts';

/** Everything that the next action for a Service depends on, at this moment. */
export interface SituationNow {
  readonly situation: Situation;
  /** When its members may change without an event, milliseconds. */
  readonly againInMs: number | undefined;
  /** The members depend on health checks: the load balancer is read again. */
  readonly readAgain: boolean;
}

export type SituationReader = (
  service: ServiceView,
  intent: Situation['intent'],
  cloud: ServingCloud,
  gone: boolean,
  /** Undefined: its members are Nodes. */
  pods: PodMembers | undefined,
) => SituationNow;

export function createSituationReader(
  { clock, members }: Pick<ServiceContext, 'clock' | 'members'>,
  { cluster, states, observations, policy, adopts }: ReconcilerOptions,
  retentions: Pick<Retentions, 'of'>,
): SituationReader {
  function membersOf(request: MembersRequest): ServiceMembers {
    const found = members.membersFor(request);
    // Nothing is decided by a cache that is not synced.
    if (found === undefined) throw new Error(`the members of ${request.scope} are not known yet`);
    return found;
  }

  return (service, intent, cloud, gone, pods) => {
    const observation = observations.of(cloud.scope, service.uid);
    const desired = intent === 'ensure';
    const removing = desired ? undefined : observation?.observed;
    const retention = retentions.of(service, cloud.scope, { removing, gone, desired });
    const marked = states.get(service.uid)?.marked ?? false;
    const seen = { observation, marked };
    const base = { service, intent, cloud, cluster, ...seen, policy, retention, adopts, nowMs: clock.monotonic() };
    if (!desired) return { situation: { ...base, members: [], refused: [] }, againInMs: undefined, readAgain: false };
    const { scope, loadBalancers } = cloud;
    const { maxMembers, drains } = loadBalancers;
    const state = states.of(service.uid);
    const refused = stillRefused(state.refusedMembers, base.nowMs);
    state.refusedMembers = refused;
    const set: Pick<PodMembers, 'members' | 'againInMs'> & Partial<ServiceMembers> =
      pods ??
      membersOf({
        scope,
        service: service.uid,
        trafficPolicy: service.externalTrafficPolicy === 'Local' ? 'Local' : 'Cluster',
        maxMembers,
        drains,
        observed: observation?.observed?.members,
        nodeLabels: loadBalancers.nodeLabels(annotationsFor(service, cloud)) ?? [],
        refused: refused.size === 0 ? undefined : new Set(refused.keys()),
        drainTimes: state.drainTimes,
      });
    state.drainTimes = set.drainTimes;
    const split = splitMembers(refused, set.members, base.nowMs);
    const waits = [set.againInMs, split.againInMs].filter((ms) => ms !== undefined);
    return {
      situation: {
        ...base,
        members: split.members,
        active: set.available ?? set.members.length,
        refused: [...(pods?.unknown ?? []), ...split.refused],
        withheld: set.withheld?.length,
        omits: (set.omitted ?? 0) > 0,
        ofPods: pods !== undefined,
        waitingSinceMs: state.waitingSinceMs,
      },
      againInMs: waits.length === 0 ? undefined : Math.min(...waits),
      readAgain: set.readAgain ?? false,
    };
  };
}
