import type { NodeLabel } from '../load-balancers.ts';
import { keys } from './annotations.ts';

const keyForm = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;
const valueForm = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/;

/** The labels that a selector names; undefined where it is none. */
export function parseNodeLabels(selector: string): readonly NodeLabel[] | undefined {
  const labels: NodeLabel[] = [];
  for (const part of selector.split(',').map((one) => one.trim())) {
    const equals = part.indexOf('=');
    const key = equals < 0 ? part : part.slice(0, equals);
    const value = equals < 0 ? undefined : part.slice(equals + 1);
    if (!keyForm.test(key) || (value !== undefined && !valueForm.test(value))) return undefined;
    labels.push({ key, value });
  }
  return labels;
}

/** Which Nodes alone may be members; empty = any. */
export function nodeLabels(annotations: Readonly<Record<string, string>>): readonly NodeLabel[] {
  const selector = annotations[keys.nodeSelector]?.trim();
  return selector === undefined ? [] : (parseNodeLabels(selector) ?? []);
}
