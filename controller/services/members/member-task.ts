import { untilAborted } from '../../../common/process/until.ts';
import type { Informer } from '../../kube/informer.ts';
import type { NodeView } from '../../model/node-view.ts';
import type { LeaderTask } from '../../runtime/leader-task.ts';
import type { MemberSource } from '../member-source.ts';
import type { MemberSets } from './member-sets.ts';

/**
 * The member sets as the reconciler of Services uses them. `membersFor` throws outside a term, so that nothing is
 * decided by a cache that is not synced.
 */
export function memberSourceOf(sets: MemberSets): MemberSource {
  return {
    membersFor(service, options) {
      const trafficPolicy = service.externalTrafficPolicy === 'Local' ? ('Local' as const) : ('Cluster' as const);
      const found = sets.membersFor({ ...options, service: service.uid, trafficPolicy });
      if (found === undefined) throw new Error(`the members of ${options.scope} are not known yet`);
      const { members, available: active, recheckAfterMs, readAgain, withheld, omitted, drainTimes } = found;
      const left = { withheld: withheld.length, omits: omitted > 0 };
      return { members, active, againInMs: recheckAfterMs, readAgain, ...left, drainTimes };
    },
    onChange: (run) => sets.onChange(({ scope }) => run(scope)),
  };
}

/** The task with terms that begin once the cache of Nodes is synced and the member sets exist. */
export function withMembers(task: LeaderTask, sets: MemberSets, nodes: Informer<NodeView>): LeaderTask {
  return {
    progress: task.progress,
    async lead(signal) {
      await Promise.race([nodes.whenSynced(), untilAborted(signal)]);
      if (signal.aborted) return;
      sets.start();
      try {
        await task.lead(signal);
      } finally {
        sets.stop();
      }
    },
  };
}
