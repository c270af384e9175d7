import type { Notice } from '../../common/instance.ts';
import { conditions, taints as taintKeys } from '../../common/well-known.ts';
import { conditionOf, type NodeView, type Taint } from './node-view.ts';
import { type ConditionChange, conditionChange } from './patches.ts';
import type { InterruptionReason } from './reasons.ts';

const reasonOf: Readonly<Record<Notice['kind'], InterruptionReason>> = {
  preemption: 'Preemption',
  termination: 'Termination',
  maintenance: 'Maintenance',
  rebalance: 'Rebalance',
};
/** The gravest first: it names the condition. */
const gravity: readonly Notice['kind'][] = ['termination', 'preemption', 'maintenance', 'rebalance'];

function words({ kind, deadline, message }: Notice): string {
  return `${kind}${deadline === undefined ? '' : ` at ${deadline}`}${message === undefined ? '' : `: ${message}`}`;
}

/** Whether this announcement ends the VM, so that its absence afterwards is no surprise. */
export function endsTheVm(reason: string): boolean {
  return reason === reasonOf.preemption || reason === reasonOf.termination;
}

/**
 * The condition CloudInterruption as the node's newest report has it: True while its cloud announces an interruption. Undefined when it stands already, and for a Node that was never announced any. Pure.
 */
export function planInterruption(
  node: NodeView,
  notices: readonly Notice[],
): (ConditionChange & { readonly changed: boolean }) | undefined {
  const sorted = [...notices].sort((a, b) => gravity.indexOf(a.kind) - gravity.indexOf(b.kind));
  const gravest = sorted[0];
  if (gravest === undefined) {
    if (conditionOf(node, conditions.interruption)?.status !== 'True') return undefined;
    return conditionChange(node, {
      type: conditions.interruption,
      status: 'False',
      reason: 'NoneAnnounced',
      message: 'the cloud announces no interruption any more',
    });
  }
  return conditionChange(node, {
    type: conditions.interruption,
    status: 'True',
    reason: reasonOf[gravest.kind],
    message: sorted.map(words).join('; '),
  });
}

/** The Node's taints with the interruption taint on or off; undefined when they stand already. Pure. */
export function planInterruptionTaint(node: NodeView, wanted: boolean): Taint[] | undefined {
  const held = node.taints.some(({ key }) => key === taintKeys.interruption);
  if (held === wanted) return undefined;
  const others = node.taints.filter(({ key }) => key !== taintKeys.interruption);
  return wanted ? [...others, { key: taintKeys.interruption, effect: 'NoSchedule' }] : others;
}
