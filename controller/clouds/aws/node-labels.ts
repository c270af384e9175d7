import type { MemberChoice, NodeLabel } from '../load-balancers.ts';
import { keys } from './load-balancer-annotations.ts';

const keyForm = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;
const valueForm = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/;

/** Which Nodes a Service takes as members; a label without a value is met by any. Undefined where it cannot be told. */
export function readNodeLabels(annotations: Readonly<Record<string, string>>): readonly NodeLabel[] | undefined {
  const pairs = (annotations[keys.targetNodeLabels] ?? '').split(',').flatMap((pair) => pair.trim() || []);
  const labels: NodeLabel[] = [];
  for (const pair of pairs) {
    const [key = '', value = '', ...more] = pair.split('=').map((part) => part.trim());
    if (more.length > 0 || !keyForm.test(key) || !valueForm.test(value)) return undefined;
    labels.push({ key, value: value === '' ? undefined : value });
  }
  return labels;
}

export const memberChoice = {
  nodeLabels: (annotations) => readNodeLabels(annotations) ?? [],
  // AWS's quota of members, of either type; an account may have more.
  maxMembers: 1000,
} satisfies MemberChoice;
