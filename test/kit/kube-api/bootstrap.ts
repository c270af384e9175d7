import { create } from './api/create.ts';
import type { Target } from './api/target.ts';
import type { JsonObject } from './json.ts';
import { configMaps } from './kinds/config.ts';
import { namespaces } from './kinds/namespace.ts';
import { clusterRoleBindings, clusterRoles, rbacGroup, roles } from './kinds/rbac.ts';
import type { Registry } from './kinds/registry.ts';
import type { Resource, World } from './store/resource.ts';

const paths = ['/api', '/api/*', '/apis', '/apis/*', '/healthz', '/livez', '/openapi', '/openapi/*', '/readyz'];
const versions = ['/version', '/version/'];

function rule(group: string, resources: string[], verbs: string[]): JsonObject {
  return { verbs, apiGroups: [group], resources };
}

const clusterRoleRules: Record<string, JsonObject[]> = {
  'cluster-admin': [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ],
  'system:discovery': [{ verbs: ['get'], nonResourceURLs: [...paths, ...versions] }],
  'system:public-info-viewer': [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/livez', '/readyz', ...versions] }],
  'system:basic-user': [
    rule('authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'], ['create']),
    rule('authentication.k8s.io', ['selfsubjectreviews'], ['create']),
  ],
  'system:auth-delegator': [
    rule('authentication.k8s.io', ['tokenreviews'], ['create']),
    rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
  ],
};

const bindingSubjects: Record<string, string[]> = {
  'cluster-admin': ['system:masters'],
  'system:discovery': ['system:authenticated'],
  'system:basic-user': ['system:authenticated'],
  'system:public-info-viewer': ['system:authenticated', 'system:unauthenticated'],
};

const authenticationReader: JsonObject = {
  verbs: ['get', 'list', 'watch'],
  apiGroups: [''],
  resources: ['configmaps'],
  resourceNames: ['extension-apiserver-authentication'],
};

/** Puts in place what every cluster has from the start. @param caPem shown as the client CA; may be '' */
export function bootstrap(world: World, registry: Registry, caPem: string): void {
  const add = (resource: Resource, namespace: string, name: string, body: JsonObject) => {
    const target: Target = { world, resource, namespace, name, subresource: '', user: undefined };
    create(target, { metadata: { name }, ...body }, { dryRun: false, validation: 'Strict', warnings: [] });
  };
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) add(namespaces, '', name, {});
  const defaults = { labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } };
  for (const [name, rules] of Object.entries(clusterRoleRules)) {
    add(clusterRoles, '', name, { metadata: { name, ...defaults }, rules });
  }
  for (const [name, groups] of Object.entries(bindingSubjects)) {
    const subjects = groups.map((group) => ({ kind: 'Group', apiGroup: rbacGroup, name: group }));
    const roleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name };
    add(clusterRoleBindings, '', name, { metadata: { name, ...defaults }, subjects, roleRef });
  }
  add(roles, 'kube-system', 'extension-apiserver-authentication-reader', { rules: [authenticationReader] });
  add(configMaps, 'kube-system', 'extension-apiserver-authentication', {
    data: {
      'client-ca-file': caPem,
      'requestheader-allowed-names': '["front-proxy-client"]',
      'requestheader-client-ca-file': caPem,
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-username-headers': '["X-Remote-User"]',
    },
  });
  const services = registry.find('v1', 'services');
  if (!services) return;
  add(services, 'default', 'kubernetes', {
    metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }] },
  });
}
