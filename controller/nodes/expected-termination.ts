import type { Notice } from '../../common/instance.ts';
import type { Report } from '../../common/report.ts';
import { annotations, conditions, taints as taintKeys } from '../../common/well-known.ts';
import { conditionOf, type NodeView } from '../model/node-view.ts';

/** An announced termination counts from this long before its deadline: retirements are announced weeks ahead. */
export const nearMs = 3_600_000;

/** A deletion of ours that the cache does not show after this time has failed. */
export const deletionNoteMs = 300_000;

/** Names the controller that has chosen the Node for deletion, as text for people; undefined when none has. Pure. */
export function deletionMark(node: NodeView): string | undefined {
  const has = (key: string) => node.taints.some((taint) => taint.key === key);
  if (has(taintKeys.toBeDeletedByAutoscaler)) return 'the cluster autoscaler marked it';
  if (has(taintKeys.disruptedByKarpenter)) return 'Karpenter marked it';
  return undefined;
}

/** Whether a person has released the deletion of this Node object. Pure. */
export function isReleased(node: NodeView): boolean {
  return node.annotations[annotations.releaseDeletion] === node.uid;
}

/** The command that releases it, and what is wrong with an annotation that does not. Pure. */
export function howToRelease(node: NodeView): string {
  const command = `kubectl annotate node ${node.name} ${annotations.releaseDeletion}=${node.uid}`;
  const given = node.annotations[annotations.releaseDeletion];
  if (given === undefined || isReleased(node)) return command;
  return `${command} --overwrite (the annotation has ${JSON.stringify(given.slice(0, 40))}, not the uid of this Node)`;
}

/** Whether the notice announces the end of the VM. */
export function endsVm({ kind }: Pick<Notice, 'kind'>): boolean {
  return kind === 'preemption' || kind === 'termination';
}

/**
 * Milliseconds until the notice is near; 0 when it is near or has no deadline; Infinity when its deadline cannot be
 * parsed.
 */
export function untilNearMs({ deadline }: Notice, nowMs: number): number {
  if (deadline === undefined) return 0;
  const atMs = Date.parse(deadline);
  return Number.isNaN(atMs) ? Number.POSITIVE_INFINITY : Math.max(0, atMs - nearMs - nowMs);
}

/**
 * Whether the disappearance of this Node's instance is expected, and why; undefined when it is not. An announcement
 * comes from the machine itself, by its agent or its condition, so it still needs a budget, though a larger one. Pure.
 *
 * @param nowMs wall clock
 */
export function expectedTermination(
  node: NodeView,
  report: Report | undefined,
  nowMs: number,
): 'marked' | 'announced' | undefined {
  if (deletionMark(node) !== undefined) return 'marked';
  // The condition outlives a change of leader, which the report does not.
  const shown = conditionOf(node, conditions.interruption);
  if (shown?.status === 'True' && (shown.reason === 'Preemption' || shown.reason === 'Termination')) return 'announced';
  const announced = report?.notices?.some((notice) => endsVm(notice) && untilNearMs(notice, nowMs) === 0);
  return announced ? 'announced' : undefined;
}
