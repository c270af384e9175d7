import { clusterTagsOf } from '../../../../controller/clouds/aws/cluster-tags.ts';
import type { IngressRule } from '../../../../controller/clouds/aws/security-groups/ingress-rule.ts';
import type {
  NetworkFacts,
  ObservedSecurityGroup,
} from '../../../../controller/clouds/aws/security-groups/network-facts.ts';

export const clusterTag = { 'kubernetes.io/cluster/c1': 'owned' };

export function group(id: string, fields: Partial<ObservedSecurityGroup> = {}): ObservedSecurityGroup {
  return { id, name: `name-of-${id}`, tags: {}, ingress: [], ...fields };
}

export function rule(text: string, description?: string): IngressRule {
  const [protocol = '', ports = '', source = ''] = text.split(' ');
  const [from = '', to = from] = ports === '*' ? ['-1', '-1'] : ports.split('-');
  const about = description === undefined ? {} : { description };
  return { protocol, fromPort: Number(from), toPort: Number(to), source, ...about };
}

export function factsOf(groups: readonly ObservedSecurityGroup[], fields: Partial<NetworkFacts> = {}): NetworkFacts {
  return {
    groups: new Map(groups.map((one) => [one.id, one])),
    instances: new Map(),
    cluster: clusterTagsOf('c1', false),
    ...fields,
  };
}
