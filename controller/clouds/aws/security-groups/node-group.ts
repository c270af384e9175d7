import { awsError } from '../errors.ts';
import type { InstanceFacts, NetworkFacts } from './network-facts.ts';

/**
 * The groups that let load balancers in to these instances, each once, sorted by ids, and what is to be said of members
 * that have no such group. Instances that nothing is known of are left out: they are gone, or are looked up before they
 * are registered.
 */
export function nodeGroupsOf(instances: readonly string[], facts: NetworkFacts) {
  const groups = new Set<string>();
  const problems = new Map<string, string>();
  for (const id of instances) {
    const known = facts.instances.get(id);
    if (known === undefined) continue;
    const kind = [facts.cluster.has(known.tags), ...[...known.groups].sort()].join(' ');
    const chosen = nodeGroupOf(known, facts);
    if (chosen.group !== undefined) groups.add(chosen.group);
    else if (!problems.has(kind)) problems.set(kind, `instance ${id}: ${chosen.problem}`);
  }
  return { groups: [...groups].sort(), problems: [...problems.values()] };
}

/**
 * Why load balancers may not let in some of these instances, by their ids: no group of theirs may be opened. Of
 * instances that nothing is known of AWS itself says whether they are there.
 */
function closedNodes(instances: Iterable<string>, facts: NetworkFacts): ReadonlyMap<string, string> {
  const closed = new Map<string, string>();
  for (const id of instances) {
    const known = facts.instances.get(id);
    const chosen = known && nodeGroupOf(known, facts);
    if (chosen && chosen.group === undefined) closed.set(id, chosen.problem);
  }
  return closed;
}

/**
 * Before instances become members.
 *
 * @param members by instance id: their providerIDs
 * @throws CloudError that names those that no group of theirs may be opened for; the others can be sent again without
 *   them
 */
export function refuseClosedNodes(members: ReadonlyMap<string, string>, facts: NetworkFacts, operation: string): void {
  const closed = closedNodes(members.keys(), facts);
  if (closed.size === 0) return;
  const message = [...closed].map(([id, problem]) => `instance ${id}: ${problem}`).join('; ');
  const subjects = [...closed.keys()].map((id) => members.get(id) ?? id);
  throw awsError('Invalid', operation, message, { subjects });
}

/**
 * The one that carries the cluster's tag. Where none does, the only one of an instance that carries that tag itself:
 * the classic controller sees no other instances. What a kubelet says of its Node proves nothing here, since it may
 * name any instance of the account.
 */
function nodeGroupOf(
  { groups: ids, tags }: InstanceFacts,
  facts: NetworkFacts,
): { readonly group: string } | { readonly group?: never; readonly problem: string } {
  const tagged = ids.filter((id) => facts.cluster.marks(facts.groups.get(id)?.tags ?? {}));
  const candidates = tagged.length > 0 ? tagged : ids;
  const [only, second] = candidates;
  const names = candidates.map((id) => `${id} (${facts.groups.get(id)?.name ?? 'of another VPC'})`).join(', ');
  if (only === undefined) return { problem: 'it has no security group' };
  if (second === undefined) {
    if (tagged.length > 0 || facts.cluster.has(tags)) return { group: only };
    return {
      problem: `neither it nor its security group ${names} carries the tag of the cluster; expected it on one of them`,
    };
  }
  if (tagged.length > 1) {
    return { problem: `the security groups ${names} all carry the tag of the cluster; expected it on one of them` };
  }
  return { problem: `it has the security groups ${names}; expected the tag of the cluster on one of them` };
}
