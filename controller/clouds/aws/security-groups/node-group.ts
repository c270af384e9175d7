import type { NetworkFacts } from './network-facts.ts';

/** Groups that let load balancers in to the members, and what is to be said of members that have no such group. */
export interface NodeGroups {
  /** Ids, sorted. */
  readonly groups: readonly string[];
  readonly problems: readonly string[];
}

/** The groups of all these instances, each once. Instances that nothing is known of are left out: they are gone, or are looked up when they are registered. */
export function nodeGroupsOf(instances: readonly string[], facts: NetworkFacts): NodeGroups {
  const groups = new Set<string>();
  const problems = new Map<string, string>();
  for (const id of instances) {
    const known = facts.instances.get(id);
    if (known === undefined) continue;
    const kind = [...known.groups].sort().join(' ');
    const chosen = nodeGroupOf(known.groups, facts);
    if (chosen.group !== undefined) groups.add(chosen.group);
    else if (!problems.has(kind)) problems.set(kind, `instance ${id}: ${chosen.problem}`);
  }
  return { groups: [...groups].sort(), problems: [...problems.values()] };
}

/** The one that carries the cluster's tag; where none does, the only one. */
function nodeGroupOf(
  ids: readonly string[],
  facts: NetworkFacts,
): { readonly group: string } | { readonly group?: never; readonly problem: string } {
  const tagged = ids.filter((id) => facts.isCluster(facts.groups.get(id)?.tags ?? {}));
  const candidates = tagged.length > 0 ? tagged : ids;
  const [only, second] = candidates;
  if (only !== undefined && second === undefined) return { group: only };
  const names = candidates.map((id) => `${id} (${facts.groups.get(id)?.name ?? 'of another VPC'})`).join(', ');
  if (tagged.length > 1) {
    return { problem: `the security groups ${names} all carry the tag of the cluster; expected it on one of them` };
  }
  if (only === undefined) return { problem: 'it has no security group' };
  return { problem: `it has the security groups ${names}; expected the tag of the cluster on one of them` };
}
