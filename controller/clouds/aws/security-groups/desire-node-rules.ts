import type { Found, Refusal, ResourceName, Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { keep } from '../standing.ts';
import { mtuRule } from './front-rules.ts';
import { groupKinds, type NodeRule, nodeRuleKey } from './group-resources.ts';
import { type IngressRule, ruleKey } from './ingress-rule.ts';
import type { NetworkFacts, ObservedSecurityGroup } from './network-facts.ts';
import { nodeGroupsOf } from './node-group.ts';
import type { NodeRuleSpec } from './node-rule-kind.ts';
import { descriptions, isOf, isOfAnother } from './rule-descriptions.ts';
import { mostGroups } from './traffic-group.ts';

/** What the groups of the nodes have to let in for one load balancer. */
export interface NodeRulesContext {
  readonly input: DesireInput;
  readonly facts: NetworkFacts;
  /** Ids of instances that are members, or are to be. */
  readonly instances: readonly string[];
  /** Groups that the load balancer is to carry: ids, or names of resources that are still to be made. */
  readonly groups: readonly string[];
  /** Ids of groups that it carries now. */
  readonly carried: readonly string[];
  /** Id of the group in front of it. */
  readonly front: string | undefined;
  /** Id of the traffic group. */
  readonly traffic: string | undefined;
  /** Who is let in to its own ports: ranges, or one group of a person. Empty: everything from the traffic group. */
  readonly clients: readonly string[];
  /** Where its health checks come from: ranges, or one group of a person. */
  readonly checks: readonly string[];
  readonly ports: readonly { readonly protocol: 'tcp' | 'udp'; readonly port: number }[];
  /** Ports that its health checks ask. */
  readonly health: readonly number[];
  /** By these it shows whose its rules are. */
  readonly needs: readonly ResourceName[];
  /** Taken over from the classic controller, and not changed yet. */
  readonly isAdopted: boolean;
  /** `DisableSecurityGroupIngress`: a person looks after the nodes' groups. */
  readonly isDisabled: boolean;
}

/**
 * Of SSH, etcd, the API server and kubelets: an annotation that names one as the port of a health check opens it to no
 * load balancer.
 */
const hostPorts: ReadonlySet<number> = new Set([22, 2379, 2380, 6443, 10250, 10255, 10257, 10258, 10259]);

/**
 * What any other rule lets in already is not let in twice. Rules of its own stay as long as it carries the groups that
 * they are for, and while the group of some member is not known. Pure.
 */
export function desireNodeRules(context: NodeRulesContext) {
  const { input, facts, instances, groups, carried, front, traffic, clients } = context;
  const rules = input.own().filter(({ kind }) => kind === groupKinds.rule) as readonly Found<NodeRule>[];
  if (context.isDisabled) return { wants: rules.map(keep), refusals: [] };
  const nodes = nodeGroupsOf(instances, facts);
  const refusals = nodes.problems.map((message): Refusal => ({ reason: 'Unsupported', message }));
  // Where others leave no room for the traffic group, its own is let in, once it is there.
  const own = groups.length >= mostGroups ? front : undefined;
  const source = [traffic, `${groupKinds.traffic}/main`, own].find((one) => one !== undefined && groups.includes(one));
  const wants = new Map<string, Want>();
  const add = (want: Want) => void wants.set(want.key, want);
  for (const id of nodes.groups) {
    const group = facts.groups.get(id);
    // Of another VPC, which this controller does not look into.
    if (group === undefined) continue;
    for (const want of clients.length === 0 ? trafficRules(group, source, context) : clientRules(group, context))
      add(want);
  }
  for (const port of clients.length === 0 ? [] : context.health.filter((one) => hostPorts.has(one))) {
    const message = `health check port ${port} is one of the nodes themselves, and is not opened to load balancers`;
    refusals.push({ reason: 'Unsupported', message });
  }
  const isTurning = [...groups, ...carried].some((id) => !groups.includes(id) || !carried.includes(id));
  const isAllKnown = nodes.problems.length === 0 && instances.every((id) => facts.instances.has(id));
  for (const found of rules) {
    const { group, rule } = found.body;
    const isOfFront = rule.source === front && groups.includes(rule.source);
    const isCarriedYet = isTurning && carried.includes(rule.source);
    const mayBeNeeded = !nodes.groups.includes(group.id) && !isAllKnown;
    // A rule that is too many changes nothing else of it: it goes with the first real change.
    if (isOfFront || isCarriedYet || mayBeNeeded || context.isAdopted) add(keep(found));
  }
  return { wants: [...wants.values()], refusals };
}

/** Whether the groups of all these nodes let in everything from the group in front of a load balancer. */
export function isOpenFrom(front: string, instances: readonly string[], facts: NetworkFacts): boolean {
  const { groups } = nodeGroupsOf(instances, facts);
  const isOpen = (id: string) =>
    facts.groups.get(id)?.ingress.some(({ protocol, source }) => protocol === '-1' && source === front) === true;
  return groups.length > 0 && groups.every(isOpen);
}

/** Everything from the traffic group, or its own, unless everything from one of its groups is let in already. */
function trafficRules(
  group: ObservedSecurityGroup,
  source: string | undefined,
  { input, traffic, groups }: NodeRulesContext,
): readonly Want[] {
  if (source === undefined) return [];
  const rule: IngressRule = {
    protocol: '-1',
    fromPort: -1,
    toPort: -1,
    source,
    description: descriptions.traffic(input.desired.owner.cluster),
  };
  const isOurs = ({ description }: IngressRule) => description === rule.description;
  const isOpen = group.ingress.some(
    (one) => one.protocol === '-1' && groups.includes(one.source) && one.source !== source && !isOurs(one),
  );
  const there = group.ingress.find((one) => one.source === source && one.protocol === '-1');
  if (isOpen ? there === undefined || !isOurs(there) : there !== undefined && !isOurs(there)) return [];
  const shown = source === traffic || !source.startsWith('sg-') ? groupKinds.traffic : source;
  return [wantOf(group, rule, shown, source.startsWith('sg-') ? [] : [source])];
}

/** The ports of the Service and of its health check, and what tells senders that their packets are too large. */
function clientRules(group: ObservedSecurityGroup, context: NodeRulesContext): readonly Want[] {
  const { input, clients, checks, ports, health, needs } = context;
  const { owner, name, trafficPolicy, healthCheck } = input.desired;
  // Any other port may be that of several load balancers, as kube-proxy's is: then their rule is shared, too.
  const own = new Set([...ports.map(({ port }) => port), ...input.desired.ports.map(({ nodePort }) => nodePort)]);
  if (trafficPolicy === 'Local') own.add(healthCheck.port);
  const isTraffic = ({ protocol, description }: IngressRule) =>
    protocol === '-1' && description === descriptions.traffic(owner.cluster);
  const opened = ports.flatMap(({ protocol, port }) =>
    clients.map((source): IngressRule => {
      return { protocol, fromPort: port, toPort: port, source, description: descriptions.client(name) };
    }),
  );
  const probed = health
    .filter((port) => !hostPorts.has(port))
    .flatMap((port) =>
      checks.map((source): IngressRule => {
        const description = own.has(port) ? descriptions.health(name) : descriptions.sharedHealth(owner.cluster);
        return { protocol: 'tcp', fromPort: port, toPort: port, source, description };
      }),
    );
  const mtu = clients.map((source): IngressRule => ({ ...mtuRule(source), description: descriptions.mtu }));
  const persons = group.ingress.filter(
    (rule) =>
      !isOfAnother(rule, name) && !isOf(rule, name) && rule.description !== descriptions.mtu && !isTraffic(rule),
  );
  const there = new Set(group.ingress.map(ruleKey));
  const ofOurs = new Set(input.found(groupKinds.rule).map(({ id }) => id));
  // A group takes few rules, and one of the classic controller lets in everything from a person's group.
  const wide = group.ingress.filter((rule) => rule.protocol === '-1' && !ofOurs.has(nodeRuleKey(group.id, rule)));
  const isOpen = [...clients, ...checks].every((source) => wide.some((rule) => rule.source === source));
  /** Ours or shared where it stands; one of a person serves. */
  const isNeeded = (rule: IngressRule, others: readonly IngressRule[]) => {
    if (there.has(ruleKey(rule))) return ofOurs.has(nodeRuleKey(group.id, rule));
    return !isOpen && !others.some((other) => covers(other, rule));
  };
  return [
    // Also where a wider one lets them in: by these others see that the shared rules are needed.
    ...opened.filter((rule) => isNeeded(rule, [])),
    ...probed.filter((rule) => isNeeded(rule, [...persons, ...opened])),
    ...mtu.filter((rule) => isNeeded(rule, persons)),
  ].map((rule) => wantOf(group, rule, rule.source, needs));
}

/** @param shown the source in its key */
function wantOf(
  group: ObservedSecurityGroup,
  rule: IngressRule,
  shown: string,
  needs: readonly ResourceName[],
): Want<NodeRuleSpec> {
  const key = nodeRuleKey(group.id, { ...rule, source: shown });
  return {
    kind: groupKinds.rule,
    key,
    slot: `node rule ${key}`,
    needs,
    spec: { group: group.id, rule },
    summary: `rule of security group ${group.name}: ${key}`,
  };
}

/** Whether what one rule lets in includes what the other does; a range counts only where it is everybody. */
function covers(one: IngressRule, other: IngressRule): boolean {
  const everybody = other.source.includes(':') ? '::/0' : '0.0.0.0/0';
  const isCidr = other.source.includes('/');
  if (one.source !== other.source && !(isCidr && one.source === everybody)) return false;
  if (one.protocol === '-1') return true;
  if (one.protocol !== other.protocol) return false;
  if (one.protocol.startsWith('icmp'))
    return one.fromPort === -1 || ruleKey(one) === ruleKey({ ...other, source: one.source });
  return one.fromPort <= other.fromPort && one.toPort >= other.toPort;
}
