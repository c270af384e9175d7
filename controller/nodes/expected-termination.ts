import type { Notice } from '../../common/instance.ts';
import type { Report } from '../../common/report.ts';
import { annotations, conditions, taints as taintKeys } from '../../common/well-known.ts';
import { conditionOf, type NodeView } from '../model/node-view.ts';

/** An announced end counts from this long before its deadline on: an instance's retirement may be told weeks ahead. */
export const nearMs = 3_600_000;

/** Which other controller has chosen the Node for deletion, in words. Pure. */
export function deletionMark(node: NodeView): string | undefined {
  const has = (key: string) => node.taints.some((taint) => taint.key === key);
  if (has(taintKeys.toBeDeletedByAutoscaler)) return 'the cluster autoscaler marked it';
  if (has(taintKeys.disruptedByKarpenter)) return 'Karpenter marked it';
  return node.annotations[annotations.clusterApiDelete] === undefined ? undefined : 'Cluster API marked it';
}

/** Whether the notice says that the VM ends. */
export function endsVm({ kind }: Pick<Notice, 'kind'>): boolean {
  return kind === 'preemption' || kind === 'termination';
}

/** Milliseconds until the notice is near; 0 when it is, or has no deadline. Infinity when its deadline cannot be read. */
export function untilNearMs({ deadline }: Notice, nowMs: number): number {
  if (deadline === undefined) return 0;
  const atMs = Date.parse(deadline);
  return Number.isNaN(atMs) ? Number.POSITIVE_INFINITY : Math.max(0, atMs - nearMs - nowMs);
}

/**
 * Why this Node's instance may disappear now, and with which weight; undefined when nothing foretold it. An announcement comes from the
 * machine itself, by its agent or its condition, so it has a budget, if a larger one. Pure.
 *
 * @param nowMs wall clock
 */
export function expectedTermination(
  node: NodeView,
  report: Report | undefined,
  nowMs: number,
): 'marked' | 'announced' | undefined {
  if (deletionMark(node) !== undefined) return 'marked';
  // It stands on the Node too, so that a change of leader does not forget it.
  const shown = conditionOf(node, conditions.interruption);
  if (shown?.status === 'True' && (shown.reason === 'Preemption' || shown.reason === 'Termination')) return 'announced';
  const announced = report?.notices?.some((notice) => endsVm(notice) && untilNearMs(notice, nowMs) === 0);
  return announced ? 'announced' : undefined;
}
