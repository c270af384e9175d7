import type { MemberChoice, NodeLabel } from '../load-balancers.ts';
import { parseNodeLabels } from '../node-labels.ts';
import { keys } from './load-balancer-annotations.ts';

/** Which Nodes a Service takes as members. Undefined where it cannot be told. */
export function readNodeLabels(annotations: Readonly<Record<string, string>>): readonly NodeLabel[] | undefined {
  return parseNodeLabels(annotations[keys.targetNodeLabels] ?? '');
}

export const memberChoice = {
  nodeLabels: readNodeLabels,
  // AWS's quota of members, of either type; an account may have more.
  maxMembers: 1000,
} satisfies MemberChoice;
