import { forbidden } from '../api-error.ts';
import { at, deepEqual, type JsonObject, objectOf } from '../json.ts';
import { leases } from '../kinds/lease.ts';
import { nodes } from '../kinds/node.ts';
import type { Resource } from '../store/resource.ts';
import type { Rule } from './rule.ts';
import type { User } from './user.ts';

/** A kubelet as the API server names it. */
export function kubeletUser(node: string): User {
  return { name: `system:node:${node}`, uid: '', groups: ['system:nodes', 'system:authenticated'], extra: {} };
}

/** The node a kubelet speaks for; undefined for everybody else. */
export function nodeOf(user: User | undefined): string | undefined {
  if (!user?.groups.includes('system:nodes') || !user.name.startsWith('system:node:')) return undefined;
  return user.name.slice('system:node:'.length);
}

function rule(apiGroup: string, resources: string[], verbs: string[]): Rule {
  return { verbs, apiGroups: [apiGroup], resources, resourceNames: [], nonResourceURLs: [] };
}

const read = ['get', 'list', 'watch'];

/** What every kubelet may ask for (ClusterRole `system:node`); admission narrows it to its own node. */
export const kubeletRules: readonly Rule[] = [
  rule('', ['nodes'], [...read, 'create', 'update', 'patch']),
  rule('', ['nodes/status'], ['update', 'patch']),
  rule('', ['pods'], [...read, 'create', 'delete']),
  rule('', ['pods/status'], ['update', 'patch']),
  rule('', ['services', 'configmaps', 'secrets', 'persistentvolumes', 'persistentvolumeclaims'], read),
  rule('', ['serviceaccounts/token'], ['create']),
  rule('', ['events'], ['create', 'update', 'patch']),
  rule('events.k8s.io', ['events'], ['create', 'update', 'patch']),
  rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update', 'patch', 'delete']),
  rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  rule('authorization.k8s.io', ['subjectaccessreviews', 'localsubjectaccessreviews'], ['create']),
];

const ownLabels = /^(.*\.)?node-restriction\.kubernetes\.io\//;

/**
 * The NodeRestriction admission: a kubelet writes its own Node and its own Lease, never removes a taint, never sets the
 * restricted labels. Throws 403. Every other user passes.
 */
export function restrictKubelet(
  user: User | undefined,
  resource: Resource,
  namespace: string,
  name: string,
  value: JsonObject | undefined,
  old: JsonObject | undefined,
): void {
  const own = nodeOf(user);
  if (own === undefined) return;
  const refuse = (why: string) => forbidden(resource, name, why);
  if (resource === leases) {
    if (namespace === 'kube-node-lease' && name === own) return;
    const where = namespace === 'kube-node-lease' ? `lease "${name}"` : `leases outside of "kube-node-lease"`;
    throw refuse(`can only access node lease with the same name as the requesting node, not ${where}`);
  }
  if (resource !== nodes) return;
  if (name !== own) throw refuse(`node "${own}" is not allowed to modify node "${name}"`);
  if (old && value && !deepEqual(at(old, 'spec', 'taints'), at(value, 'spec', 'taints'))) {
    throw refuse(`node "${own}" is not allowed to modify taints`);
  }
  const labels = objectOf(at(value, 'metadata', 'labels'));
  const before = objectOf(at(old, 'metadata', 'labels'));
  const changed = Object.keys(labels).filter((key) => ownLabels.test(key) && labels[key] !== before[key]);
  if (changed.length > 0) throw refuse(`is not allowed to modify labels: ${changed.join(', ')}`);
}
