import { everyService, type Found, type Kind } from '../../../engine/resource.ts';
import { type GroupKindsParts, groupsSettleMs, showGroup, userOf } from './group-kinds.ts';
import { groupKinds, type NodeRule, usersOfRule } from './group-resources.ts';
import { type IngressRule, ruleKey } from './ingress-rule.ts';
import { descriptions } from './rule-descriptions.ts';
import type { Needed } from './security-group-calls.ts';

export interface NodeRuleSpec {
  /** Id of the group of the nodes. */
  readonly group: string;
  /** The source may be the name of a resource that is still to be made. */
  readonly rule: IngressRule;
}

/**
 * Rules in groups of the nodes, many in one call. Those that several load balancers need go with the last of them, as
 * the cloud shows; that is read again right before.
 */
export function createNodeRuleKind(parts: GroupKindsParts): Kind<NodeRuleSpec | undefined, NodeRule> {
  const { calls, view } = parts;
  const isTraffic = ({ body: { rule } }: Found<NodeRule>) => rule.description === descriptions.traffic(view.cluster);

  /** Who may need them still: looked at right before they are taken away. */
  function unless(found: readonly Found<NodeRule>[], but: string): Needed | undefined {
    const [first] = found as readonly [Found<NodeRule>];
    if (first.owner?.service !== everyService) return undefined;
    return {
      by: isTraffic(first) ? 'carriers' : 'rules',
      isNeeded: (group) =>
        found.some(({ body: { rule } }) =>
          usersOfRule({ group, rule }, view, parts.carriersOf)?.some((name) => name !== but),
        ),
    };
  }

  return {
    kind: groupKinds.rule,
    retryCreate: 'atOnce',
    settleMs: groupsSettleMs,
    merge: ([spec]) => spec,
    usedBy(found) {
      if (found.owner?.service !== everyService) return [];
      const users = usersOfRule(found.body, view, parts.carriersOf)?.map((name) => userOf(parts, name));
      // A person's rule may stand for that of the clients of a network load balancer: then no user shows.
      const mayBeHidden = !isTraffic(found) && !found.body.rule.source.startsWith('sg-');
      return users?.length === 0 && mayBeHidden ? undefined : users;
    },
    lane(item) {
      if ('want' in item) return `rules of ${item.want.spec?.group}`;
      const { group, rule } = item.found.body;
      if (item.found.owner?.service !== everyService) return `rules of ${group.id}, own`;
      const isOfOneSource = rule.description === descriptions.mtu || rule.source.startsWith('sg-');
      const which = isTraffic(item.found) || isOfOneSource ? rule.source : 'all';
      return `rules of ${group.id}, ${rule.description} ${which} ${rule.fromPort}`;
    },
    // There may be one of a traffic group that is gone, or goes.
    compare({ body }, spec) {
      const isSame = spec === undefined || body.rule.source === spec.rule.source;
      return isSame ? { same: true } : { replace: `it lets in ${body.rule.source}`, order: 'createFirst' };
    },
    async createMany(wants, io) {
      const [first] = wants;
      const rules = new Map<string, IngressRule>();
      for (const { want, idOf } of wants) {
        const { rule } = want.spec!;
        const source = rule.source.includes('/main') ? idOf(rule.source) : rule.source;
        rules.set(ruleKey({ ...rule, source }), { ...rule, source });
      }
      const group = first!.want.spec!.group;
      await calls.authorize(group, [...rules.values()], io);
      return { found: showGroup(parts, group) };
    },
    async removeMany(found, io) {
      const group = found[0]!.body.group.id;
      const rules = found.map(({ body }) => body.rule);
      await calls.revoke(group, rules, unless(found, view.nameOf(io.owner.service)), io);
      return { found: showGroup(parts, group) };
    },
  };
}
