import { isConflict, isNotFound } from '../kube/api.ts';
import type { Semaphore } from '../semaphore.ts';
import { endsTheVm, planInterruption, planInterruptionTaint } from './interruption.ts';
import { eventTarget, type NodeContext, reportOf } from './node-context.ts';
import { isPaused, isUninitialized } from './node-view.ts';
import { ownershipOf } from './ownership.ts';
import { statusPatch } from './patches.ts';
import { nodePath } from './write-node.ts';

/** Shows on Nodes what their clouds announce, as their own reports say. */
export interface Interruptions {
  /** Brings one Node's condition (and, opt-in, taint) to its newest report. True when it must be tried again. Throws a KubeError. */
  reconcile(nodeName: string): Promise<boolean>;
}

export function createInterruptions(
  context: NodeContext,
  options: { readonly writes: Semaphore; readonly taint: boolean },
): Interruptions {
  const { api, clock, log, nodes, events, resolver } = context;

  async function reconcile(nodeName: string): Promise<boolean> {
    const node = nodes.get(nodeName);
    const report = node && reportOf(context, node)?.report;
    if (node === undefined || report === undefined || node.deleting || isUninitialized(node)) return false;
    if (context.paused() || isPaused(node) || ownershipOf(node, resolver.configured).kind !== 'owned') return false;
    const notices = report.notices ?? [];
    const change = planInterruption(node, notices);
    const ending = notices.some(({ kind }) => kind === 'preemption' || kind === 'termination');
    const taints = planInterruptionTaint(node, options.taint && ending);
    if (change === undefined && taints === undefined) return false;
    try {
      await options.writes.run(async () => {
        let { resourceVersion } = node;
        if (change !== undefined) {
          const body = statusPatch(resourceVersion, clock.now(), { conditions: [change] });
          const path = `${nodePath(nodeName)}/status`;
          const answer = await api.call<{ readonly metadata: { readonly resourceVersion: string } }>({
            verb: 'patch',
            path,
            patch: 'strategic-merge',
            answer: 'metadata',
            body,
          });
          ({ resourceVersion } = answer.metadata);
        }
        if (taints !== undefined) {
          const body = { metadata: { resourceVersion }, spec: { taints } };
          await api.call({ verb: 'patch', path: nodePath(nodeName), patch: 'merge', answer: 'metadata', body });
        }
      });
    } catch (error) {
      if (isNotFound(error)) return false;
      if (isConflict(error)) return true;
      throw error;
    }
    if (change !== undefined) {
      log.warn('interruption announced or withdrawn', { node: nodeName, reason: change.reason, why: change.message });
      const type = endsTheVm(change.reason) ? 'Warning' : 'Normal';
      events.emit(eventTarget(node), {
        type,
        reason: 'CloudInterruption',
        message: `${change.reason}: ${change.message}`,
      });
    }
    return false;
  }

  return { reconcile };
}
