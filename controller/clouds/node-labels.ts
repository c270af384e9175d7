import type { NodeLabel } from './load-balancers.ts';

const keyForm = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;
const valueForm = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/;

/** `a=b,c,d=`: labels that a Node has to carry; without a value, any value is right. Undefined where it is no list. */
export function parseNodeLabels(text: string): readonly NodeLabel[] | undefined {
  const labels: NodeLabel[] = [];
  for (const pair of text.split(',').flatMap((one) => one.trim() || [])) {
    const [key = '', value = '', ...more] = pair.split('=').map((part) => part.trim());
    if (more.length > 0 || !keyForm.test(key) || !valueForm.test(value)) return undefined;
    labels.push({ key, value: value === '' ? undefined : value });
  }
  return labels;
}
