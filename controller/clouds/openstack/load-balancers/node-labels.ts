import type { NodeLabel } from '../../load-balancers.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { keys } from './annotations.ts';

const labelKey = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** `a=b,c,d=`: labels that a Node has to carry; without a value, any, as upstream. Undefined when it cannot be read. */
export function parseNodeSelector(text: string): readonly NodeLabel[] | undefined {
  const labels: NodeLabel[] = [];
  for (const part of text.split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const [key = '', value = '', ...rest] = part.split('=').map((one) => one.trim());
    if (!labelKey.test(key) || rest.length > 0 || !labelValue.test(value)) return undefined;
    labels.push({ key, value: value === '' ? undefined : value });
  }
  return labels;
}

/** Which Nodes may be members: as the annotation says, otherwise as the configuration does. */
export function nodeLabels(config: Pick<LoadBalancerConfig, 'nodeSelector'>) {
  return (annotations: Readonly<Record<string, string>>): readonly NodeLabel[] => {
    const given = annotations[keys.nodeSelector];
    return given === undefined ? config.nodeSelector : (parseNodeSelector(given) ?? []);
  };
}
