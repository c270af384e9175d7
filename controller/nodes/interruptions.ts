import { isConflict, isNotFound } from '../kube/api.ts';
import { patchNode } from '../kube/patch-node.ts';
import { isPaused, isUninitialized } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import type { Semaphore } from '../runtime/semaphore.ts';
import type { InstanceCache } from './instance-cache.ts';
import { eventTarget, type NodeContext, reportOf } from './node-context.ts';
import { statusPatch } from './patches.ts';
import { nextTermination, planInterruption, planInterruptionTaint } from './plan-interruption.ts';

/** Shows announced interruptions on Nodes, as their agents report them and the cloud's API shows them. */
export interface Interruptions {
  /**
   * Updates the condition (and, opt-in, the taint) of one Node from its newest report and its instance. Returns when
   * to reconcile it again. Throws a KubeError.
   */
  reconcile(nodeName: string): Promise<{ readonly requeueAfterMs: number } | undefined>;
}

/** The longest single wait for a deadline: the wall clock may be corrected during the wait. */
const longestWaitMs = 3_600_000;

export function createInterruptions(
  context: NodeContext,
  options: { readonly writes: Semaphore; readonly taint: boolean; readonly instances: Pick<InstanceCache, 'get'> },
): Interruptions {
  const { api, clock, log, nodes, events, resolver } = context;

  async function reconcile(nodeName: string): Promise<{ readonly requeueAfterMs: number } | undefined> {
    const node = nodes.get(nodeName);
    const stored = node && reportOf(context, node);
    if (node === undefined) return undefined;
    // A report of an earlier term is outdated: its agent may have sent or withdrawn notices since.
    const reported = stored === undefined || stored.outdated ? undefined : (stored.report.notices ?? []);
    const maintenance = options.instances.get(nodeName, node.uid)?.instance.maintenance;
    if (reported === undefined && maintenance === undefined) return undefined;
    if (node.deleting || isUninitialized(node)) return undefined;
    if (context.paused() || isPaused(node) || ownershipOf(node, resolver.configured).kind !== 'owned') return undefined;
    const end = nextTermination(reported ?? [], clock.now());
    const change = planInterruption(node, { notices: reported, maintenance }, clock.now());
    // Maintenance ends no VM: the taint is the report's alone.
    const taints = reported && planInterruptionTaint(node, options.taint && end.near);
    const later =
      Number.isFinite(end.inMs) && end.inMs > 0 ? { requeueAfterMs: Math.min(end.inMs, longestWaitMs) } : undefined;
    if (change === undefined && taints === undefined) return later;
    try {
      await options.writes.run(async () => {
        let { resourceVersion } = node;
        if (change !== undefined) {
          const body = statusPatch(resourceVersion, clock.now(), { conditions: [change] });
          resourceVersion = await patchNode(api, nodeName, body, { status: true });
        }
        if (taints !== undefined) {
          const body = { metadata: { resourceVersion }, spec: { taints } };
          await patchNode(api, nodeName, body, { patch: 'merge' });
        }
      });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (isConflict(error)) return { requeueAfterMs: 1000 };
      throw error;
    }
    if (change !== undefined) {
      log.warn('interruption announced or withdrawn', { node: nodeName, reason: change.reason, why: change.message });
      const type = end.near ? 'Warning' : 'Normal';
      events.emit(eventTarget(node), {
        type,
        reason: 'CloudInterruption',
        message: `${change.reason}: ${change.message}`,
      });
    }
    return later;
  }

  return { reconcile };
}
