import type { Report } from '../../common/report.ts';
import { annotations, conditions, taints as taintKeys } from '../../common/well-known.ts';
import { endsTheVm } from './interruption.ts';
import { conditionOf, type NodeView } from './node-view.ts';

/** Why the disappearance of this Node's instance was to be expected; undefined when nothing foretold it. Such deletions need no budget. Pure. */
export function explanationOf(node: NodeView, report: Report | undefined): string | undefined {
  const has = (key: string) => node.taints.some((taint) => taint.key === key);
  if (has(taintKeys.toBeDeletedByAutoscaler)) return 'the cluster autoscaler marked it';
  if (has(taintKeys.disruptedByKarpenter)) return 'Karpenter marked it';
  if (node.annotations[annotations.clusterApiDelete] !== undefined) return 'Cluster API marked it';
  // It stands on the Node too, so that a change of leader does not forget it.
  const shown = conditionOf(node, conditions.interruption);
  if (shown?.status === 'True' && endsTheVm(shown.reason)) return `its cloud announced: ${shown.message}`;
  const notice = report?.notices?.find(({ kind }) => kind === 'preemption' || kind === 'termination');
  return notice === undefined ? undefined : `its cloud announced a ${notice.kind}`;
}
