import { taints as taintKeys } from '../../common/well-known.ts';
import type { NodeView, Taint } from '../model/node-view.ts';

/** Our out-of-service taints carry this value; one set by a person is left alone. */
export const outOfServiceValue = 'mooring';

export interface PowerTaints {
  readonly shutdown: boolean;
  readonly outOfService: boolean;
}

function isShutdown(taint: Taint): boolean {
  return taint.key === taintKeys.shutdown && taint.effect === 'NoSchedule';
}

function isOurs(taint: Taint): boolean {
  return taint.key === taintKeys.outOfService && taint.value === outOfServiceValue && taint.effect === 'NoExecute';
}

export function powerTaintsOf(node: NodeView): PowerTaints {
  return { shutdown: node.taints.some(isShutdown), outOfService: node.taints.some(isOurs) };
}

/** The Node's taints with exactly the desired power taints; undefined when they are up to date. Pure. */
export function planPowerTaints(node: NodeView, desired: PowerTaints): Taint[] | undefined {
  const held = powerTaintsOf(node);
  const others = node.taints.filter((taint) => !isShutdown(taint) && !isOurs(taint));
  // A person's own taint of that key and effect does the same as ours, and the API server refuses two of them.
  const byPerson = others.some(({ key, effect }) => key === taintKeys.outOfService && effect === 'NoExecute');
  const outOfService = desired.outOfService && !byPerson;
  if (held.shutdown === desired.shutdown && held.outOfService === outOfService) return undefined;
  if (desired.shutdown) others.push({ key: taintKeys.shutdown, effect: 'NoSchedule' });
  if (outOfService) {
    others.push({ key: taintKeys.outOfService, value: outOfServiceValue, effect: 'NoExecute' });
  }
  return others;
}
