import { type Clock, systemClock } from '../../common/process/clock.ts';
import { names } from '../../common/well-known.ts';
import type { KubeApiServer } from '../kit/kube-api/start-kube-api.ts';
import { startKubeApi } from '../kit/kube-api/start-kube-api.ts';

export interface BoundObject {
  readonly kind: 'Pod' | 'Node' | 'Secret';
  readonly name: string;
  readonly uid: string;
}

export interface TokenRequest {
  readonly account?: string;
  readonly namespace?: string;
  readonly audience?: string | undefined;
  readonly bound?: BoundObject;
}

/** The embedded Kubernetes API on a real port, and what people and kubelets do to it. */
export interface Cluster {
  readonly server: KubeApiServer;
  /** @returns the uid */
  putNode(name: string): string;
  deleteNode(name: string): void;
  /** A pod of the agents' ServiceAccount unless told otherwise, bound to that node whether that exists or not. */
  putPod(node: string, account?: string, namespace?: string): BoundObject;
  deletePod(pod: BoundObject): void;
  putSecret(): BoundObject;
  /** For longer than any run. */
  issue(request: TokenRequest): string;
  /** The same, so long ago that it has ended. */
  issueLongAgo(request: TokenRequest): string;
  stop(): Promise<void>;
}

export const otherNamespace = 'default';
export const otherAccount = 'not-the-agent';
/** May read metrics and nothing else. */
export const scrapeAccount = 'prometheus';

const tokenSeconds = 43_200;

export async function startCluster(): Promise<Cluster> {
  const real = systemClock();
  let offsetMs = 0;
  const clock: Clock = { ...real, now: () => real.now() + offsetMs };
  const server = await startKubeApi({ clock, historyLimit: 500 });
  const path = (namespace: string, kind: string) => `/api/v1/namespaces/${namespace}/${kind}`;
  let counter = 0;

  function ask(method: string, at: string, body?: object): { metadata: { uid: string }; status: { token: string } } {
    const answer = server.core.handle({
      method,
      path: at,
      query: new URLSearchParams(method === 'DELETE' ? { gracePeriodSeconds: '0' } : {}),
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (answer.watch !== undefined || answer.status > 299) {
      throw new Error(`${method} ${at}: ${answer.status} ${answer.watch === undefined ? answer.body : ''}`);
    }
    return JSON.parse(answer.body);
  }

  function issue(request: TokenRequest, expirationSeconds = tokenSeconds): string {
    const { account = names.agent, namespace = names.namespace, audience, bound } = request;
    const spec = {
      expirationSeconds,
      audiences: [audience ?? names.audience],
      ...(bound ? { boundObjectRef: { apiVersion: 'v1', ...bound } } : {}),
    };
    const at = `${path(namespace, 'serviceaccounts')}/${account}/token`;
    return ask('POST', at, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }).status.token;
  }

  for (const [namespace, name] of [
    [names.namespace, names.agent],
    [names.namespace, otherAccount],
    [names.namespace, scrapeAccount],
    [otherNamespace, names.agent],
  ] as const) {
    ask('POST', path(namespace, 'serviceaccounts'), { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
  }

  const rbac = 'rbac.authorization.k8s.io';
  const roles = `/apis/${rbac}/v1/clusterroles`;
  const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }];
  ask('POST', roles, { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: scrapeAccount }, rules });
  ask('POST', `/apis/${rbac}/v1/clusterrolebindings`, {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: scrapeAccount },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: scrapeAccount },
    subjects: [{ kind: 'ServiceAccount', namespace: names.namespace, name: scrapeAccount }],
  });

  return {
    server,
    putNode: (name) =>
      ask('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } }).metadata.uid,
    deleteNode: (name) => void ask('DELETE', `/api/v1/nodes/${name}`),
    putPod(node, account = names.agent, namespace = names.namespace) {
      counter += 1;
      const name = `pod-${counter}`;
      const { uid } = ask('POST', path(namespace, 'pods'), {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { nodeName: node, serviceAccountName: account, containers: [{ name: 'agent', image: 'agent' }] },
      }).metadata;
      return { kind: 'Pod', name, uid };
    },
    deletePod: ({ name }) => void ask('DELETE', `${path(names.namespace, 'pods')}/${name}`),
    putSecret() {
      counter += 1;
      const name = `secret-${counter}`;
      const { uid } = ask('POST', path(names.namespace, 'secrets'), {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name },
      }).metadata;
      return { kind: 'Secret', name, uid };
    },
    issue: (request) => issue(request),
    issueLongAgo(request) {
      offsetMs = -3_600_000;
      try {
        return issue(request, 600);
      } finally {
        offsetMs = 0;
      }
    },
    stop: () => server.stop(),
  };
}
