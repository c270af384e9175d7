import type { ServiceView } from '../model/service-view.ts';
import { annotationsFor } from './desired.ts';
import type { Situation } from './next-action.ts';
import type { ReconcilerParts } from './reconciler-parts.ts';
import { splitMembers, stillRefused } from './refused-members.ts';
import type { Retentions } from './retention.ts';
import type { ServiceContext } from './service-context.ts';
import type { Demand, ServingCloud } from './wants.ts';

/** Everything that the next action for a Service depends on, as it is known at this moment. */
export interface SituationNow {
  readonly situation: Situation;
  /** When its members may be others, milliseconds. */
  readonly againInMs: number | undefined;
  /** The cloud has to be asked again for what the members depend on. */
  readonly lookAgain: boolean;
}

export function createSituationReader(
  { clock, members }: Pick<ServiceContext, 'clock' | 'members'>,
  { cluster, states, observations, policy, adopts }: ReconcilerParts,
  retentions: Pick<Retentions, 'of'>,
): (service: ServiceView, demand: Demand, cloud: ServingCloud, gone: boolean) => SituationNow {
  return (service, demand, cloud, gone) => {
    const known = observations.of(cloud.scope, service.uid);
    const going = demand === 'ensure' ? undefined : known?.observed;
    const retention = retentions.of(service, cloud.scope, { going, gone });
    const base = { service, demand, cloud, cluster, known, policy, retention, adopts, nowMs: clock.monotonic() };
    if (demand !== 'ensure')
      return { situation: { ...base, members: [], refused: [] }, againInMs: undefined, lookAgain: false };
    const { scope, loadBalancers } = cloud;
    const { maxMembers, drains } = loadBalancers;
    const state = states.of(service.uid);
    const refused = stillRefused(state.refusedMembers, base.nowMs);
    state.refusedMembers = refused;
    const set = members.membersFor(service, {
      ...{ scope, maxMembers, drains },
      observed: known?.observed?.members,
      nodeLabels: loadBalancers.nodeLabels?.(annotationsFor(service, cloud)),
      refused: refused.size === 0 ? undefined : new Set(refused.keys()),
      drainTimes: state.drainTimes,
    });
    state.drainTimes = set.drainTimes;
    const split = splitMembers(refused, set.members, base.nowMs);
    const waits = [set.againInMs, split.againInMs].filter((ms) => ms !== undefined);
    return {
      situation: { ...base, members: split.members, refused: split.refused, withheld: set.withheld },
      againInMs: waits.length === 0 ? undefined : Math.min(...waits),
      lookAgain: set.lookAgain ?? false,
    };
  };
}
