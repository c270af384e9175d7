import { clusterTagsOf } from '../../../../controller/clouds/aws/cluster-tags.ts';
import type { IngressRule } from '../../../../controller/clouds/aws/security-groups/ingress-rule.ts';
import { ruleKey } from '../../../../controller/clouds/aws/security-groups/ingress-rule.ts';
import {
  markedBy,
  type NetworkFacts,
  type ObservedSecurityGroup,
} from '../../../../controller/clouds/aws/security-groups/network-facts.ts';
import type {
  PlannedSecurityGroupCall,
  SecurityGroupCall,
} from '../../../../controller/clouds/aws/security-groups/security-group-call.ts';

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
    vpcId: 'vpc-1',
    groups: new Map(groups.map((one) => [one.id, one])),
    instances: new Map(),
    ...markedBy(clusterTagsOf('c1', false)),
    users: new Map(),
    busy: new Set(),
    ...fields,
  };
}

/** What EC2 would make of a call about rules. Throws where EC2 would refuse it. */
export function afterCall(facts: NetworkFacts, call: SecurityGroupCall): NetworkFacts {
  if (call.does !== 'authorize ingress' && call.does !== 'revoke ingress') throw new Error(call.does);
  const before = facts.groups.get(call.group);
  if (before === undefined) throw new Error(`InvalidGroup.NotFound ${call.group}`);
  const keys = new Set(before.ingress.map(ruleKey));
  for (const one of call.rules) {
    if (keys.has(ruleKey(one)) !== (call.does === 'revoke ingress')) throw new Error(`${call.does} ${ruleKey(one)}`);
  }
  const gone = new Set(call.rules.map(ruleKey));
  const ingress =
    call.does === 'authorize ingress'
      ? [...before.ingress, ...call.rules]
      : before.ingress.filter((one) => !gone.has(ruleKey(one)));
  return { ...facts, groups: new Map(facts.groups).set(before.id, { ...before, ingress }) };
}

/** Plans and applies the first call until there is none, as the controller does. */
export function settled(
  facts: NetworkFacts,
  plan: (facts: NetworkFacts) => readonly PlannedSecurityGroupCall[],
  onCall: (call: SecurityGroupCall, facts: NetworkFacts) => void = () => {},
): NetworkFacts {
  let now = facts;
  for (let round = 0; round < 50; round += 1) {
    const [first] = plan(now);
    if (first === undefined) return now;
    onCall(first.call, now);
    now = afterCall(now, first.call);
  }
  throw new Error('no end');
}
