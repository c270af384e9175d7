import type { Owner, Refusal } from '../../load-balancers.ts';
import { ownedBy, type Tags } from '../load-balancer-tags.ts';
import { type IngressRule, missingRules } from './ingress-rule.ts';
import type { NetworkFacts, ObservedSecurityGroup } from './network-facts.ts';
import { type PlannedSecurityGroupCall, plannedCall } from './security-group-call.ts';

/** The group in front of one load balancer: who may reach it. */
export interface OwnGroupWish {
  readonly owner: Owner;
  /** `namespace/name`, for people. */
  readonly service: string;
  readonly name: string;
  readonly description: string;
  readonly tags: Tags;
  /** Exactly these. */
  readonly rules: readonly IngressRule[];
  /** Id of a group that counts as ours although our tags are not on it. */
  readonly adopted?: string | undefined;
}

export interface SecurityGroupPlan {
  readonly calls: readonly PlannedSecurityGroupCall[];
  readonly refusals: readonly Refusal[];
}

/** The group of that name, where its tags say that it is of this Service; one that was made for another kind of load balancer has another name. */
function ownGroupOf({ groups }: NetworkFacts, owner: Owner, name: string): ObservedSecurityGroup | undefined {
  return [...groups.values()].find((group) => group.name === name && ownedBy(group.tags, owner));
}

/** Makes the group, and makes its rules exactly the wanted ones: what is missing first, so that no connection is refused meanwhile. Pure. */
export function planOwnGroup(wish: OwnGroupWish, facts: NetworkFacts | undefined): SecurityGroupPlan {
  const { owner, name, description, tags, rules } = wish;
  const group =
    facts === undefined
      ? undefined
      : (ownGroupOf(facts, owner, name) ?? (wish.adopted === undefined ? undefined : facts.groups.get(wish.adopted)));
  if (group === undefined) {
    const foreign = facts && [...facts.groups.values()].find((one) => one.name === name);
    if (foreign !== undefined) {
      const message = `security group ${name} (${foreign.id}) has the name that the one of ${wish.service} needs, and its tags do not say that it is of it`;
      return { calls: [], refusals: [{ reason: 'ForeignLoadBalancer', message }] };
    }
    const calls = [plannedCall({ does: 'create security group', name, description, tags }, name)];
    if (rules.length > 0)
      calls.push(plannedCall({ does: 'authorize ingress', group: name, rules, shared: false }, name));
    return { calls, refusals: [] };
  }
  const missing = missingRules(rules, group.ingress);
  const extra = missingRules(group.ingress, rules);
  const calls: PlannedSecurityGroupCall[] = [];
  if (missing.length > 0) {
    calls.push(plannedCall({ does: 'authorize ingress', group: group.id, rules: missing, shared: false }, group.name));
  }
  if (extra.length > 0) {
    const call = { does: 'revoke ingress', group: group.id, rules: extra, unless: undefined } as const;
    calls.push(plannedCall(call, group.name));
  }
  return { calls, refusals: [] };
}

/** Who may reach a load balancer: each port from the source ranges, and what tells a sender that its packets are too large. */
export function frontRules(
  ports: readonly { readonly protocol: string; readonly port: number }[],
  sources: readonly string[],
): IngressRule[] {
  const rules = ports.flatMap(({ protocol, port }) =>
    sources.map((source) => ({ protocol: protocol.toLowerCase(), fromPort: port, toPort: port, source })),
  );
  return [...rules, ...sources.map(mtuRule)];
}

/** Destination unreachable, fragmentation needed; in IPv6 packet too big. */
export function mtuRule(source: string): IngressRule {
  if (source.includes(':')) return { protocol: 'icmpv6', fromPort: 2, toPort: 0, source };
  return { protocol: 'icmp', fromPort: 3, toPort: 4, source };
}
