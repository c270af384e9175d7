import { untilAborted } from '../../../common/process/until.ts';
import type { Informer } from '../../kube/informer.ts';
import type { NodeView } from '../../model/node-view.ts';
import type { LeaderTask } from '../../runtime/leader-task.ts';
import type { MemberSets } from './member-sets.ts';

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
