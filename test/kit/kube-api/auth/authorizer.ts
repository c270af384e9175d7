import { at, type Json, listOf, textOf } from '../json.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../kinds/rbac.ts';
import type { World } from '../store/resource.ts';
import { kubeletRules, nodeOf } from './node-restriction.ts';
import type { Rule } from './rule.ts';
import type { User } from './user.ts';

/** An action on a resource or on a plain path. */
export type Attributes =
  | {
      readonly verb: string;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      /** '' = all namespaces, or a cluster-wide resource. */
      readonly namespace: string;
      readonly name: string;
    }
  | { readonly verb: string; readonly path: string };

export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

interface Granted {
  /** '' = everywhere. */
  readonly namespace: string;
  readonly rule: Rule;
  readonly reason: string;
}

export interface Authorizer {
  /** RBAC over the stored roles and bindings. Members of `system:masters` may do everything. */
  decide(user: User, attributes: Attributes): Decision;
  /** The rules that hold for a user in a namespace. */
  rules(user: User, namespace: string): Rule[];
}

const stored = [clusterRoles, clusterRoleBindings, roles, roleBindings];

export function rbacAuthorizer(world: World): Authorizer {
  const collections = stored.map((resource) => world.store.collection(resource.storage));
  const [clusterRoleItems, clusterBindings, roleItems, bindings] = collections.map(({ items }) => items);
  let cache = new Map<string, Granted[]>();
  let version = -1;

  function rulesOf(role: Json | undefined): Rule[] {
    return listOf(at(role, 'rules')).map((rule) => ({
      verbs: listOf(at(rule, 'verbs')).map(textOf),
      apiGroups: listOf(at(rule, 'apiGroups')).map(textOf),
      resources: listOf(at(rule, 'resources')).map(textOf),
      resourceNames: listOf(at(rule, 'resourceNames')).map(textOf),
      nonResourceURLs: listOf(at(rule, 'nonResourceURLs')).map(textOf),
    }));
  }

  function collect(user: User): Granted[] {
    const found: Granted[] = [];
    if (nodeOf(user) !== undefined) for (const rule of kubeletRules) found.push({ namespace: '', rule, reason: '' });
    for (const kind of ['ClusterRoleBinding', 'RoleBinding']) {
      const items = kind === 'ClusterRoleBinding' ? clusterBindings : bindings;
      for (const binding of items?.values() ?? []) {
        const subject = listOf(binding.value['subjects']).find((one) => names(one, user, binding.namespace));
        if (subject === undefined) continue;
        const roleKind = textOf(at(binding.value, 'roleRef', 'kind'));
        const roleName = textOf(at(binding.value, 'roleRef', 'name'));
        const role =
          roleKind === 'Role' ? roleItems?.get(`${binding.namespace}/${roleName}`) : clusterRoleItems?.get(roleName);
        const place =
          binding.namespace === ''
            ? JSON.stringify(binding.name)
            : JSON.stringify(`${binding.name}/${binding.namespace}`);
        const reason =
          `RBAC: allowed by ${kind} ${place} of ${roleKind} ${JSON.stringify(roleName)} to ` + `${shown(subject)}`;
        for (const rule of rulesOf(role?.value)) found.push({ namespace: binding.namespace, rule, reason });
      }
    }
    return found;
  }

  function granted(user: User): Granted[] {
    const now = collections.reduce((sum, collection) => sum + collection.version, 0);
    if (now !== version) {
      cache = new Map();
      version = now;
    }
    const id = `${user.name}\n${user.groups.join('\n')}`;
    let found = cache.get(id);
    if (!found) {
      found = collect(user);
      if (cache.size > 1_000) cache.clear();
      cache.set(id, found);
    }
    return found;
  }

  return {
    decide(user, attributes) {
      if (user.groups.includes('system:masters')) return { allowed: true, reason: '' };
      const namespace = 'path' in attributes ? '' : attributes.namespace;
      for (const { namespace: home, rule, reason } of granted(user)) {
        if (home !== '' && (home !== namespace || 'path' in attributes)) continue;
        if (covers(rule, attributes)) return { allowed: true, reason };
      }
      return { allowed: false, reason: '' };
    },
    rules(user, namespace) {
      const own = granted(user).filter((one) => one.namespace === '' || one.namespace === namespace);
      const all = own.map((one) => one.rule);
      if (!user.groups.includes('system:masters')) return all;
      const everything = { verbs: ['*'], resourceNames: [] };
      return [
        ...all,
        { ...everything, apiGroups: ['*'], resources: ['*'], nonResourceURLs: [] },
        { ...everything, apiGroups: [], resources: [], nonResourceURLs: ['*'] },
      ];
    },
  };
}

function names(subject: Json, user: User, bindingNamespace: string): boolean {
  const name = textOf(at(subject, 'name'));
  switch (at(subject, 'kind')) {
    case 'User':
      return user.name === name;
    case 'Group':
      return user.groups.includes(name);
    case 'ServiceAccount':
      return user.name === `system:serviceaccount:${textOf(at(subject, 'namespace')) || bindingNamespace}:${name}`;
    default:
      return false;
  }
}

function shown(subject: Json): string {
  const kind = textOf(at(subject, 'kind'));
  const name = textOf(at(subject, 'name'));
  const namespace = textOf(at(subject, 'namespace'));
  return `${kind} ${JSON.stringify(kind === 'ServiceAccount' ? `${name}/${namespace}` : name)}`;
}

function covers(rule: Rule, attributes: Attributes): boolean {
  if (!holds(rule.verbs, attributes.verb)) return false;
  if ('path' in attributes) {
    return rule.nonResourceURLs.some((one) =>
      one.endsWith('*') ? attributes.path.startsWith(one.slice(0, -1)) : one === attributes.path,
    );
  }
  const { group, resource, subresource, name } = attributes;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return (
    holds(rule.apiGroups, group) &&
    (holds(rule.resources, whole) || (subresource !== '' && rule.resources.includes(`*/${subresource}`))) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  );
}

function holds(list: readonly string[], wanted: string): boolean {
  return list.includes(wanted) || list.includes('*');
}
