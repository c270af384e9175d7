import type { Owner, Refusal } from '../../load-balancers.ts';
import { type IngressRule, ruleKey } from './ingress-rule.ts';
import type { NetworkFacts, ObservedSecurityGroup } from './network-facts.ts';
import { nodeGroupsOf } from './node-group.ts';
import { mtuRule, type SecurityGroupPlan } from './own-group.ts';
import { clientOf, descriptions, hasOwnRules, isOf, isOfAnother } from './rule-descriptions.ts';
import { type Needed, type PlannedSecurityGroupCall, plannedCall } from './security-group-call.ts';

/** What the nodes have to let in for one load balancer. */
export interface NodeRuleWish {
  readonly owner: Owner;
  /** Its name. */
  readonly loadBalancer: string;
  /**
   * Ids of its security groups, where one of them is the controller's own: a rule that lets everything in from one of them is enough. Empty = it has none or a person's alone,
   * and comes from `clients` and `subnetCidrs`.
   */
  readonly groups: readonly string[];
  /** The traffic group, once it is among them: a new rule names it. A group of a person is never let in for everything. */
  readonly source: string | undefined;
  /** Instance ids of the members. */
  readonly instances: readonly string[];
  /** Without groups: who connects (ranges, or a person's group that the load balancer carries), to which node ports. */
  readonly clients: readonly string[];
  readonly ports: readonly { readonly protocol: 'tcp' | 'udp'; readonly port: number }[];
  /** Without groups: where health checks come from, and go to. `shared`: the port is the same for several load balancers (that of kube-proxy), so their rule is, too. */
  readonly subnetCidrs: readonly string[];
  readonly healthPorts: readonly { readonly port: number; readonly shared: boolean }[];
  /** What was taken over is left untouched as long as it works: a person's rule that lets in everything from a client is enough. */
  readonly adopted?: boolean;
  /** `DisableSecurityGroupIngress`: a person looks after the nodes' groups. */
  readonly disabled: boolean;
}

/**
 * Rules on the nodes' groups. What a rule of anybody lets in already is not let in again. Only rules that say in their description that they are this load balancer's are
 * taken away when they are not wanted any more; shared ones stay until the last one goes. Pure.
 */
export function planNodeRules(wish: NodeRuleWish, facts: NetworkFacts): SecurityGroupPlan {
  if (wish.disabled) return { calls: [], refusals: [] };
  const { groups, problems } = nodeGroupsOf(wish.instances, facts);
  const refusals = problems.map((message): Refusal => ({ reason: 'Unsupported', message }));
  const calls: PlannedSecurityGroupCall[] = [];
  const ownPorts = wish.groups.length > 0 ? [] : wish.healthPorts.filter(({ port }) => hostPorts.has(port));
  for (const { port } of ownPorts) {
    const message = `health check port ${port} is one of the nodes themselves, and is not opened to load balancers`;
    refusals.push({ reason: 'Unsupported', message });
  }
  for (const id of groups) {
    const group = facts.groups.get(id);
    // Of another VPC, which this controller does not look into.
    if (group === undefined) continue;
    calls.push(...(wish.groups.length > 0 ? bySource(wish, group) : byAddress(wish, group)));
    calls.push(...unusedSources(wish, group, facts));
  }
  // Where members were, and are no more: only where it is known of every one in which group it is.
  const allKnown = wish.instances.every((id) => facts.instances.has(id));
  for (const group of facts.groups.values()) {
    if (allKnown && problems.length === 0 && !groups.includes(group.id))
      calls.push(...addressRulesOff(wish.owner.cluster, wish.loadBalancer, group));
  }
  return { calls, refusals };
}

/** Of SSH, etcd, the API server and kubelets: an annotation that names one as the port of a health check opens it to nobody. */
export const hostPorts: ReadonlySet<number> = new Set([22, 2379, 2380, 6443, 10250, 10255, 10257, 10258, 10259]);

function bySource(
  { owner, groups, source, loadBalancer }: NodeRuleWish,
  group: ObservedSecurityGroup,
): PlannedSecurityGroupCall[] {
  const calls: PlannedSecurityGroupCall[] = [];
  const open = group.ingress.some(
    (rule) =>
      rule.protocol === '-1' && groups.includes(rule.source) && (rule.source === source || !isShared(rule, owner)),
  );
  if (!open && source !== undefined) {
    const rule = { protocol: '-1', fromPort: -1, toPort: -1, source, description: descriptions.traffic(owner.cluster) };
    calls.push(plannedCall({ does: 'authorize ingress', group: group.id, rules: [rule], shared: true }, group.name));
  }
  return [...calls, ...addressRulesOff(owner.cluster, loadBalancer, group)];
}

/**
 * Rules of ours that let in everything from a group which no load balancer carries any more, or which is a person's: earlier versions let such groups in so. They go when every
 * load balancer that carries the group has rules of its own.
 */
function unusedSources(
  { owner, groups, source: traffic, loadBalancer }: NodeRuleWish,
  group: ObservedSecurityGroup,
  { users }: NetworkFacts,
): PlannedSecurityGroupCall[] {
  if (users === undefined) return [];
  const shared = group.ingress.filter((rule) => isShared(rule, owner));
  const isIn = shared.some(({ source }) => source === traffic);
  const unused = shared.filter(({ source }) => {
    if (groups.includes(source) && (source === traffic || !isIn)) return false;
    const others = (users.get(source) ?? []).filter((name) => name !== loadBalancer);
    return others.every((name) => hasOwnRules(group, source, name));
  });
  return unused.flatMap((rule) =>
    revoke(group, [rule], { by: 'users of a group', group: rule.source, but: loadBalancer, unlessAdmitted: true }),
  );
}

/** Lets in everything from a group of load balancers of this cluster. */
function isShared({ protocol, description }: IngressRule, { cluster }: Owner): boolean {
  return protocol === '-1' && description === descriptions.traffic(cluster);
}

function byAddress(wish: NodeRuleWish, group: ObservedSecurityGroup): PlannedSecurityGroupCall[] {
  const { owner, loadBalancer, clients, ports, subnetCidrs, healthPorts } = wish;
  const isOpen = (client: string) =>
    group.ingress.some((rule) => rule.protocol === '-1' && rule.source === client && !isShared(rule, owner));
  if (wish.adopted && clients.every(isOpen)) return [];
  const client = ports.flatMap(({ protocol, port }) =>
    clients.map((source): IngressRule => {
      return { protocol, fromPort: port, toPort: port, source, description: descriptions.client(loadBalancer) };
    }),
  );
  const health = healthPorts.flatMap(({ port, shared }) =>
    subnetCidrs.map((source): IngressRule => {
      const description = shared ? descriptions.sharedHealth(owner.cluster) : descriptions.health(loadBalancer);
      return { protocol: 'tcp', fromPort: port, toPort: port, source, description };
    }),
  );
  const mtu = clients.map((source): IngressRule => ({ ...mtuRule(source), description: descriptions.mtu }));
  const keys = new Set(group.ingress.map(ruleKey));
  const lasting = group.ingress.filter((rule) => !isOfAnother(rule, loadBalancer));
  const isMissing = (rule: IngressRule, others: readonly IngressRule[]) =>
    !keys.has(ruleKey(rule)) && !others.some((other) => covers(other, rule));
  const anybodys = lasting.filter(
    (rule) => !isOf(rule, loadBalancer) && rule.description !== descriptions.mtu && !isShared(rule, owner),
  );
  const missing = [
    // Also where a wider one lets them in: by these others see that the shared rules are needed.
    ...client.filter((rule) => isMissing(rule, [])),
    ...health.filter((rule) => !hostPorts.has(rule.fromPort) && isMissing(rule, [...anybodys, ...client])),
    ...mtu.filter((rule) => isMissing(rule, anybodys)),
  ];
  const wanted = new Set([...client, ...health].map(ruleKey));
  const stale = group.ingress.filter((rule) => isOf(rule, loadBalancer) && !wanted.has(ruleKey(rule)));
  const staleMtu = mtuWithout(group, loadBalancer, clients);
  const calls: PlannedSecurityGroupCall[] = [];
  if (missing.length > 0) {
    calls.push(plannedCall({ does: 'authorize ingress', group: group.id, rules: missing, shared: true }, group.name));
  }
  // By the stale rules it shows whose packet sizes they were.
  return [...calls, ...revokeOf(group, staleMtu, loadBalancer), ...revoke(group, stale)];
}

/** Rules for packet sizes that no client rule needs any more, once this load balancer has only these clients. */
function mtuWithout(group: ObservedSecurityGroup, loadBalancer: string, clients: readonly string[]): IngressRule[] {
  const had = new Set(group.ingress.flatMap((rule) => (clientOf(rule) === loadBalancer ? [rule.source] : [])));
  return mtuUnneeded(group, loadBalancer).filter(({ source }) => had.has(source) && !clients.includes(source));
}

/** Rules for packet sizes that are of no use to any other load balancer. */
function mtuUnneeded(group: ObservedSecurityGroup, loadBalancer: string): IngressRule[] {
  const others = group.ingress.filter((rule) => ![undefined, loadBalancer].includes(clientOf(rule)));
  const needed = new Set(others.map(({ source }) => source));
  return group.ingress.filter(({ description, source }) => description === descriptions.mtu && !needed.has(source));
}

/** Unless another load balancer lets in clients from the same sources by then. */
function revokeOf(
  group: ObservedSecurityGroup,
  rules: readonly IngressRule[],
  loadBalancer: string,
): PlannedSecurityGroupCall[] {
  return revoke(group, rules, { by: 'client rules', but: loadBalancer, sources: rules.map(({ source }) => source) });
}

/** Rules by addresses, where none is wanted: shared ones first, since those of this load balancer alone tell that it is here. */
function addressRulesOff(
  cluster: string,
  loadBalancer: string,
  group: ObservedSecurityGroup,
): PlannedSecurityGroupCall[] {
  const own = group.ingress.filter((rule) => isOf(rule, loadBalancer));
  if (own.length === 0) return [];
  return [
    ...sharedHealthOff(group, cluster, loadBalancer),
    ...revokeOf(group, mtuWithout(group, loadBalancer, []), loadBalancer),
    ...revoke(group, own),
  ];
}

/** The load balancer goes. */
export interface NodeRuleRemoval {
  readonly owner: Owner;
  readonly loadBalancer: string;
  /** Ids of the groups that it carries or carried, from which the nodes may have been told to let everything in. */
  readonly groups: readonly string[];
  /** Of these the one that goes with it. The classic controller lets it in to the nodes by a rule without a description. */
  readonly ownGroup: string | undefined;
}

/** Takes away the rules that only this load balancer needed; of shared ones those that nobody else needs. Rules of persons stay. Pure. */
export function planNodeRuleRemoval(
  removal: NodeRuleRemoval,
  facts: NetworkFacts,
): readonly PlannedSecurityGroupCall[] {
  const { owner, loadBalancer, groups, ownGroup } = removal;
  const calls: PlannedSecurityGroupCall[] = [];
  const nodes = new Set([...facts.instances.values()].flatMap((instance) => instance.groups));
  for (const group of facts.groups.values()) {
    calls.push(...addressRulesOff(owner.cluster, loadBalancer, group));
    // Two that went at the same time may each have seen the other's rules; the later one sees none.
    if (!group.ingress.some((rule) => isOf(rule, loadBalancer))) {
      calls.push(
        ...sharedHealthOff(group, owner.cluster, loadBalancer),
        ...revokeOf(group, mtuUnneeded(group, loadBalancer), loadBalancer),
      );
    }
    const mayBeClassic = facts.isCluster(group.tags) || nodes.has(group.id);
    const fromOwn = group.ingress.filter(
      ({ source, protocol, description }) =>
        ownGroup !== undefined &&
        source === ownGroup &&
        protocol === '-1' &&
        (description === descriptions.traffic(owner.cluster) || (description === undefined && mayBeClassic)),
    );
    if (group.id !== ownGroup) calls.push(...revoke(group, fromOwn));
    for (const source of groups) {
      if (source === ownGroup || (facts.users?.get(source) ?? []).some((name) => name !== loadBalancer)) continue;
      const fromSource = group.ingress.filter(
        (rule) =>
          rule.source === source && rule.protocol === '-1' && rule.description === descriptions.traffic(owner.cluster),
      );
      calls.push(...revoke(group, fromSource, { by: 'users of a group', group: source, but: loadBalancer }));
    }
  }
  return calls;
}

/** Health checks of those without groups: needed while another one's clients are let in; where they come from a load balancer's group, while that one's are. */
function sharedHealthOff(
  group: ObservedSecurityGroup,
  cluster: string,
  loadBalancer: string,
): PlannedSecurityGroupCall[] {
  const description = descriptions.sharedHealth(cluster);
  const shared = group.ingress.filter((rule) => rule.description === description);
  const others = group.ingress.filter((rule) => ![undefined, loadBalancer].includes(clientOf(rule)));
  const isGroup = ({ source }: IngressRule) => source.startsWith('sg-');
  const fromGroups = shared.filter((rule) => isGroup(rule) && !others.some(({ source }) => source === rule.source));
  const fromAddresses = others.length > 0 ? [] : shared.filter((rule) => !isGroup(rule));
  return [
    ...revokeOf(group, fromGroups, loadBalancer),
    ...revoke(group, fromAddresses, { by: 'client rules', but: loadBalancer }),
  ];
}

function revoke(
  group: ObservedSecurityGroup,
  rules: readonly IngressRule[],
  unless?: Needed,
): PlannedSecurityGroupCall[] {
  if (rules.length === 0) return [];
  return [plannedCall({ does: 'revoke ingress', group: group.id, rules, unless }, group.name)];
}

/** Whether what one rule lets in includes what the other does; a range counts only where it is everybody. */
export function covers(one: IngressRule, other: IngressRule): boolean {
  const everybody = other.source.includes(':') ? '::/0' : '0.0.0.0/0';
  const isCidr = other.source.includes('/');
  if (one.source !== other.source && !(isCidr && one.source === everybody)) return false;
  if (one.protocol === '-1') return true;
  if (one.protocol !== other.protocol) return false;
  if (one.protocol.startsWith('icmp'))
    return one.fromPort === -1 || ruleKey(one) === ruleKey({ ...other, source: one.source });
  return one.fromPort <= other.fromPort && one.toPort >= other.toPort;
}
