import type { Found, Refusal, Want } from '../../../engine/resource.ts';
import type { Asked } from '../../load-balancer-driver.ts';
import { keys } from '../load-balancer-annotations.ts';
import { type NodeRule, nodeRuleKey } from '../security-groups/group-resources.ts';
import { type IngressRule, ruleKey } from '../security-groups/ingress-rule.ts';
import type { ObservedSecurityGroup } from '../security-groups/network-facts.ts';
import { nodeGroupsOf } from '../security-groups/node-group.ts';
import type { NodeRuleSpec } from '../security-groups/node-rule-kind.ts';
import { covers, hostPorts } from '../security-groups/node-rules.ts';
import { mtuRule } from '../security-groups/own-group.ts';
import { descriptions, isOf, isOfAnother } from '../security-groups/rule-descriptions.ts';
import type { Member } from './balancer-spec.ts';
import { classicKinds } from './resources.ts';
import type { ClassicSettings } from './settings.ts';
import { type DesireParts, keep, known, ownOf, personsGroups, type Standing } from './standing.ts';

export interface NodeRulesInput {
  readonly asked: Asked;
  readonly settings: ClassicSettings;
  readonly standing: Standing;
  readonly parts: DesireParts;
  readonly members: readonly Member[];
  /** That the load balancer is to carry: ids, or names of resources that are still to be made. */
  readonly groups: readonly string[];
}

interface NodeRules {
  readonly wants: readonly Want[];
  readonly refusals: readonly Refusal[];
}

/**
 * What the groups of the nodes let in for one load balancer. What any other rule lets in already is not let in twice.
 * Rules of its own stay as long as it carries the groups that they are for, and while the group of some member is not
 * known.
 */
export function desireNodeRules(input: NodeRulesInput): NodeRules {
  const { asked, standing, parts, members, groups } = input;
  const { balancer, front, traffic } = standing;
  const rules = ownOf(asked, classicKinds.rule) as readonly Found<NodeRule>[];
  if (parts.config.disableSecurityGroupIngress) return { wants: rules.map(keep), refusals: [] };
  const instances = [...new Set([...members.map(({ id }) => id), ...(balancer?.instances ?? [])])];
  const facts = { ...parts.view.facts(instances), groups: standing.groups };
  const nodes = nodeGroupsOf(instances, facts);
  const refusals = nodes.problems.map((message): Refusal => ({ reason: 'Unsupported', message }));
  const source = [traffic, `${classicKinds.traffic}/main`].find((one) => one !== undefined && groups.includes(one));
  const isOwn = source !== undefined || (front !== undefined && groups.includes(front.id));
  // A group of a person is let in to the ports of this Service alone.
  const [client] = isOwn ? [] : (personsGroups(input.settings, parts.config) ?? groups);
  const wants = new Map<string, Want>();
  const add = (want: Want) => void wants.set(want.key, want);
  for (const id of nodes.groups) {
    const group = standing.groups.get(id);
    // Of another VPC, which this controller does not look into.
    if (group === undefined) continue;
    if (client === undefined) for (const want of trafficRules(group, source, input)) add(want);
    else for (const want of clientRules(group, client, input)) add(want);
  }
  const healthPorts = client === undefined ? [] : portsOf(input).health.filter(({ port }) => hostPorts.has(port));
  for (const { port } of healthPorts) {
    const message = `health check port ${port} is one of the nodes themselves, and is not opened to load balancers`;
    refusals.push({ reason: 'Unsupported', message });
  }
  const carried = balancer?.securityGroups ?? [];
  const isTurning = [...groups, ...carried].some((id) => !groups.includes(id) || !carried.includes(id));
  const isAllKnown = nodes.problems.length === 0 && instances.every((id) => facts.instances.has(id));
  for (const found of rules) {
    const { group, rule } = found.body;
    const isOfFront = rule.source === front?.id && groups.includes(rule.source);
    const isCarriedYet = isTurning && carried.includes(rule.source);
    const mayBeNeeded = !nodes.groups.includes(group.id) && !isAllKnown;
    if (isOfFront || isCarriedYet || mayBeNeeded) add(keep(found));
  }
  return { wants: [...wants.values()], refusals };
}

/** Everything from the traffic group, unless everything from one of its groups is let in already. */
function trafficRules(
  group: ObservedSecurityGroup,
  source: string | undefined,
  { asked, standing, groups }: NodeRulesInput,
): readonly Want[] {
  if (source === undefined) return [];
  const rule: IngressRule = {
    ...{ protocol: '-1', fromPort: -1, toPort: -1, source },
    description: descriptions.traffic(asked.desired.owner.cluster),
  };
  const isOurs = ({ description }: IngressRule) => description === rule.description;
  const isOpen = group.ingress.some(
    (one) => one.protocol === '-1' && groups.includes(one.source) && one.source !== standing.traffic && !isOurs(one),
  );
  const there = group.ingress.find((one) => one.source === standing.traffic && one.protocol === '-1');
  if (isOpen ? there === undefined || !isOurs(there) : there !== undefined && !isOurs(there)) return [];
  return [want(group, rule, source === standing.traffic || !source.startsWith('sg-') ? classicKinds.traffic : source)];
}

/** The ports of the Service and of its health check, and what tells senders that their packets are too large. */
function clientRules(group: ObservedSecurityGroup, client: string, input: NodeRulesInput): readonly Want[] {
  const { asked, standing } = input;
  const { owner, name } = asked.desired;
  const isTraffic = ({ protocol, description }: IngressRule) =>
    protocol === '-1' && description === descriptions.traffic(owner.cluster);
  const isOpen = group.ingress.some((rule) => rule.protocol === '-1' && rule.source === client && !isTraffic(rule));
  if (standing.isAdopted && isOpen) return [];
  const { ports, health } = portsOf(input);
  const tcp = (port: number, description: string): IngressRule => {
    return { protocol: 'tcp', fromPort: port, toPort: port, source: client, description };
  };
  const clients = ports.map((port) => tcp(port, descriptions.client(name)));
  const checks = health
    .filter(({ port }) => !hostPorts.has(port))
    .map(({ port, shared }) =>
      tcp(port, shared ? descriptions.sharedHealth(owner.cluster) : descriptions.health(name)),
    );
  const mtu: IngressRule = { ...mtuRule(client), description: descriptions.mtu };
  const lasting = group.ingress.filter((rule) => !isOfAnother(rule, name));
  const persons = lasting.filter(
    (rule) => !isOf(rule, name) && rule.description !== descriptions.mtu && !isTraffic(rule),
  );
  const there = new Set(group.ingress.map(ruleKey));
  const ofOurs = new Set(known(asked, classicKinds.rule).map(({ id }) => id));
  /** Ours or shared where it stands; one of a person serves. */
  const isNeeded = (rule: IngressRule, others: readonly IngressRule[]) => {
    if (there.has(ruleKey(rule))) return ofOurs.has(nodeRuleKey(group.id, rule));
    return !others.some((other) => covers(other, rule));
  };
  return [
    // Also where a wider one lets them in: by these others see that the shared rules are needed.
    ...clients.filter((rule) => isNeeded(rule, [])),
    ...checks.filter((rule) => isNeeded(rule, [...persons, ...clients])),
    ...[mtu].filter((rule) => isNeeded(rule, persons)),
  ].map((rule) => want(group, rule, rule.source));
}

/** @param shown the source in its key */
function want(group: ObservedSecurityGroup, rule: IngressRule, shown: string): Want<NodeRuleSpec> {
  const key = nodeRuleKey(group.id, { ...rule, source: shown });
  return {
    ...{ kind: classicKinds.rule, key, slot: `node rule ${key}`, spec: { group: group.id, rule } },
    needs: rule.source.startsWith('sg-') ? [] : [rule.source],
    summary: `rule of security group ${group.name}: ${key}`,
  };
}

/** Where the load balancer reaches members, as it is and as it is to be. */
function portsOf({ asked, settings, standing }: NodeRulesInput): {
  readonly ports: readonly number[];
  readonly health: readonly { readonly port: number; readonly shared: boolean }[];
} {
  const { desired } = asked;
  const listeners = [...(settings.listeners ?? []), ...(standing.balancer?.listeners ?? [])];
  const ports = new Set(listeners.map(({ instancePort }) => instancePort));
  const probed = [settings.health, standing.balancer?.health].flatMap(
    (check) => /:(\d+)/.exec(check?.target ?? '')?.[1] ?? [],
  );
  const isShared = (port: number) =>
    desired.trafficPolicy === 'Cluster' && !ports.has(port) && desired.annotations[keys.healthPort] === undefined;
  const health = [...new Set(probed.map(Number))].filter((port) => !ports.has(port));
  return { ports: [...ports], health: health.map((port) => ({ port, shared: isShared(port) })) };
}
