import type { Maintenance, Notice } from '../../common/instance.ts';
import { conditions, taints as taintKeys } from '../../common/well-known.ts';
import { conditionOf, type NodeView, type Taint } from '../model/node-view.ts';
import { endsVm, untilNearMs } from './expected-termination.ts';
import { type ConditionChange, conditionChange } from './patches.ts';
import type { InterruptionReason } from './reasons.ts';

const reasonOf: Readonly<Record<Notice['kind'], InterruptionReason>> = {
  preemption: 'Preemption',
  termination: 'Termination',
  maintenance: 'Maintenance',
  rebalance: 'Rebalance',
};
/** The most severe first: it gives the condition its reason, unless its deadline is far away. */
const severity: readonly Notice['kind'][] = ['termination', 'preemption', 'maintenance', 'rebalance'];

function describe({ kind, deadline, message }: Notice): string {
  return `${kind}${deadline === undefined ? '' : ` at ${deadline}`}${message === undefined ? '' : `: ${message}`}`;
}

/** A termination that is not near yet has a reason of its own, so that the condition shows whether it counts. */
function reasonFor(notice: Notice, nowMs: number): InterruptionReason {
  return endsVm(notice) && untilNearMs(notice, nowMs) > 0 ? 'Scheduled' : reasonOf[notice.kind];
}

/** The announcements for one VM. */
export interface Announced {
  /** Those of the Node's newest report; undefined: there is no report of this term. */
  readonly notices: readonly Notice[] | undefined;
  /** From the last read of the API; undefined: it has not been read, or its cloud shows none. */
  readonly maintenance: readonly Maintenance[] | undefined;
}

/**
 * The change of the condition CloudInterruption: True while the cloud announces an interruption to the VM's agent or by
 * its API. Without a report or read in this term, the condition stays. Undefined when the condition is up
 * to date, or missing without any announcement. Pure.
 *
 * @param nowMs wall clock
 */
export function planInterruption(
  node: NodeView,
  { notices, maintenance }: Announced,
  nowMs: number,
): (ConditionChange & { readonly changed: boolean }) | undefined {
  const held = conditionOf(node, conditions.interruption);
  const isFromApi = held?.reason === ('PlannedMaintenance' satisfies InterruptionReason);
  if (held?.status === 'True' && (isFromApi ? maintenance : notices) === undefined && !notices?.length)
    return undefined;
  const distance = (notice: Notice) => (endsVm(notice) ? untilNearMs(notice, nowMs) : 0);
  const sorted = [...(notices ?? [])].sort(
    (a, b) => Number(distance(a) > 0) - Number(distance(b) > 0) || severity.indexOf(a.kind) - severity.indexOf(b.kind),
  );
  const planned = (maintenance ?? []).map((one): Notice => ({ kind: 'maintenance', ...one }));
  const all = [...sorted, ...planned];
  if (all.length === 0) {
    if (held?.status !== 'True') return undefined;
    return conditionChange(node, {
      type: conditions.interruption,
      status: 'False',
      reason: 'NoneAnnounced',
      message: 'the cloud announces no interruption any more',
    });
  }
  const mostSevere = sorted[0];
  return conditionChange(node, {
    type: conditions.interruption,
    status: 'True',
    reason: mostSevere === undefined ? 'PlannedMaintenance' : reasonFor(mostSevere, nowMs),
    message: all.map(describe).join('; '),
  });
}

/** The Node's taints with or without the interruption taint; undefined when they are up to date. Pure. */
export function planInterruptionTaint(node: NodeView, desired: boolean): Taint[] | undefined {
  const held = node.taints.some(({ key }) => key === taintKeys.interruption);
  if (held === desired) return undefined;
  const others = node.taints.filter(({ key }) => key !== taintKeys.interruption);
  return desired ? [...others, { key: taintKeys.interruption, effect: 'NoSchedule' }] : others;
}

/** Whether an announced termination is near; otherwise how long until the first one is (Infinity: none). Pure. */
export function nextTermination(
  notices: readonly Notice[],
  nowMs: number,
): { readonly near: boolean; readonly inMs: number } {
  const inMs = Math.min(...notices.filter(endsVm).map((notice) => untilNearMs(notice, nowMs)));
  return { near: inMs === 0, inMs };
}
