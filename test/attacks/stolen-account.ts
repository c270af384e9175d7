import assert from 'node:assert/strict';
import { names } from '../../common/well-known.ts';
import type { CallOptions, Client } from '../conformance/client.ts';

/** One attempt with a stolen token of the controller's ServiceAccount. */
export interface Attempt {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly options?: CallOptions;
  /** Default 403. */
  readonly refusals?: readonly number[];
}

const core = `/api/v1/namespaces/${names.namespace}`;
const leases = `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases`;
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const merge = 'application/merge-patch+json';
const apply = 'application/apply-patch+yaml';
const token = 'bootstrap-token-abcdef';

const metadata = (name: string) => ({ name, namespace: names.namespace });
const secret = (name: string, type: string) => ({ apiVersion: 'v1', kind: 'Secret', metadata: metadata(name), type });
const configMap = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: metadata(name),
  data: { mapUsers: '- groups: [system:masters]' },
});
const lease = (name: string) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: metadata(name),
  spec: { holderIdentity: 'thief' },
});
const binding = (kind: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  metadata: { name: 'thief' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ kind: 'ServiceAccount', name: names.controller, namespace: names.namespace }],
});

/** What would make the account an administrator, or let it touch what is not the controller's. */
export const attempts: readonly Attempt[] = [
  {
    what: 'create a bootstrap token',
    method: 'POST',
    path: `${core}/secrets`,
    options: { body: secret(token, 'bootstrap.kubernetes.io/token') },
  },
  {
    what: 'create a bootstrap token under its name, by apply',
    method: 'PATCH',
    path: `${core}/secrets/${token}`,
    options: { body: secret(token, 'bootstrap.kubernetes.io/token'), type: apply, query: { fieldManager: 'thief' } },
  },
  {
    what: 'create the ConfigMap aws-auth',
    method: 'POST',
    path: `${core}/configmaps`,
    options: { body: configMap('aws-auth') },
  },
  {
    what: 'create the ConfigMap aws-auth under its name, by apply',
    method: 'PATCH',
    path: `${core}/configmaps/aws-auth`,
    options: { body: configMap('aws-auth'), type: apply, query: { fieldManager: 'thief' } },
  },
  {
    what: 'change the ConfigMap aws-auth',
    method: 'PATCH',
    path: `${core}/configmaps/aws-auth`,
    options: { body: { data: {} }, type: merge },
  },
  {
    what: 'create a Secret of its own name',
    method: 'POST',
    path: `${core}/secrets`,
    options: { body: secret(names.certificates, 'Opaque') },
  },
  {
    what: 'create a Secret elsewhere',
    method: 'POST',
    path: '/api/v1/namespaces/default/secrets',
    options: { body: { metadata: { name: 'x' } } },
  },
  { what: 'list the Secrets', method: 'GET', path: `${core}/secrets` },
  { what: 'read another Secret', method: 'GET', path: `${core}/secrets/${token}` },
  {
    what: 'change another Secret',
    method: 'PATCH',
    path: `${core}/secrets/${token}`,
    options: { body: { data: {} }, type: merge },
  },
  {
    what: 'make its own Secret a bootstrap token',
    method: 'PATCH',
    path: `${core}/secrets/${names.certificates}`,
    options: { body: { type: 'bootstrap.kubernetes.io/token' }, type: merge },
    refusals: [422],
  },
  {
    what: 'give its own Secret another name',
    method: 'PATCH',
    path: `${core}/secrets/${names.certificates}`,
    options: { body: { metadata: { name: token } }, type: merge },
    refusals: [400, 422],
  },
  { what: 'delete its own Secret', method: 'DELETE', path: `${core}/secrets/${names.certificates}` },
  {
    what: 'replace its own ConfigMap',
    method: 'PUT',
    path: `${core}/configmaps/${names.certificates}`,
    options: { body: configMap(names.certificates) },
  },
  { what: 'create a Lease', method: 'POST', path: leases, options: { body: lease('kube-scheduler') } },
  {
    what: 'create a Lease of its own name by POST',
    method: 'POST',
    path: leases,
    options: { body: lease(names.lease) },
  },
  {
    what: 'take the Lease of another controller',
    method: 'PUT',
    path: `${leases}/kube-controller-manager`,
    options: { body: lease('kube-controller-manager') },
  },
  {
    what: 'create another Lease through the path of its own',
    method: 'PUT',
    path: `${leases}/${names.replicasLease}`,
    options: { body: lease('kube-controller-manager') },
    refusals: [400],
  },
  {
    what: 'create a Lease elsewhere',
    method: 'PUT',
    path: `/apis/coordination.k8s.io/v1/namespaces/default/leases/${names.lease}`,
    options: { body: { metadata: { name: names.lease }, spec: {} } },
  },
  {
    what: "renew a kubelet's lease",
    method: 'PATCH',
    path: `/apis/coordination.k8s.io/v1/namespaces/${names.nodeLeaseNamespace}/leases/n1`,
    options: { body: { spec: {} }, type: merge },
  },
  {
    what: 'have a token of another account issued',
    method: 'POST',
    path: `${core}/serviceaccounts/clusterrole-aggregation-controller/token`,
    options: { body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} } },
  },
  {
    what: 'bind itself to cluster-admin',
    method: 'POST',
    path: `${rbac}/clusterrolebindings`,
    options: { body: binding('ClusterRoleBinding') },
  },
  {
    what: 'bind itself to cluster-admin in kube-system',
    method: 'POST',
    path: `${rbac}/namespaces/${names.namespace}/rolebindings`,
    options: { body: binding('RoleBinding') },
  },
  {
    what: 'widen its own ClusterRole',
    method: 'PATCH',
    path: `${rbac}/clusterroles/${names.controller}`,
    options: { body: { rules: [] }, type: merge },
  },
  {
    what: 'act as an administrator',
    method: 'GET',
    path: `${core}/secrets`,
    options: { headers: { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' } },
  },
  {
    what: 'approve a certificate',
    method: 'PATCH',
    path: '/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval',
    options: { body: { status: {} }, type: merge },
  },
  { what: 'start a pod', method: 'POST', path: `${core}/pods`, options: { body: { metadata: { name: 'x' } } } },
  { what: 'reach a kubelet through the API server', method: 'GET', path: '/api/v1/nodes/n1/proxy/pods' },
  { what: 'register a Node', method: 'POST', path: '/api/v1/nodes', options: { body: { metadata: { name: 'x' } } } },
  {
    what: 'draw traffic with externalIPs',
    method: 'PATCH',
    path: '/api/v1/namespaces/default/services/kubernetes',
    options: { body: { spec: { externalIPs: ['192.0.2.1'] } }, type: merge },
  },
  { what: 'delete a Service', method: 'DELETE', path: '/api/v1/namespaces/default/services/kubernetes' },
];

/** Makes the attempt, and throws unless the API server refuses it as it should. */
export async function assertRefused(client: Client, stolen: string, attempt: Attempt): Promise<void> {
  const { what, method, path, options, refusals = [403] } = attempt;
  const { status, text } = await client.call(method, path, { ...options, token: stolen });
  assert.ok(refusals.includes(status), `${what}: ${status} ${text.slice(0, 300)}`);
}
