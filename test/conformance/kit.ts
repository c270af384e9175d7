import type { ApiUnderTest } from './api-under-test.ts';
import { type Answer, type CallOptions, type Client, type KubeObject, makeClient, type Watch } from './client.ts';
import { like } from './like.ts';

/** One observed behaviour of a Kubernetes API server. */
export interface Fact {
  /** Stable name of the fact: a letter for the section and a number, more letters for its parts. */
  id: string;
  says: string;
  /** Why the embedded server may answer otherwise: the fact then runs on a real one only. */
  realOnly?: string;
  /** It disturbs others (restarts the server, forgets history): runs alone, after the others of its section. */
  alone?: boolean;
  run(k: Kit): Promise<void>;
}

export type PatchKind = 'merge' | 'strategic' | 'json' | 'apply';

export const patchTypes: Record<PatchKind, string> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};

/** What a fact is checked with. Everything made through it is removed after the fact. */
export interface Kit {
  api: ApiUnderTest;
  client: Client;
  /** The namespace of this run. */
  ns: string;
  /** A name that no other fact uses. */
  name(prefix?: string): string;
  get(path: string, options?: CallOptions): Promise<Answer>;
  post(path: string, body: unknown, options?: CallOptions): Promise<Answer>;
  put(path: string, body: unknown, options?: CallOptions): Promise<Answer>;
  patch(kind: PatchKind, path: string, body: unknown, options?: CallOptions): Promise<Answer>;
  delete(path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  watch(path: string, query?: CallOptions['query'], options?: CallOptions): Promise<Watch>;
  /** Creates and returns what is stored; throws unless 201. `parts` is merged over the smallest valid object. */
  node(parts?: Parts): Promise<KubeObject>;
  configMap(parts?: Parts): Promise<KubeObject>;
  service(parts?: Parts): Promise<KubeObject>;
  lease(parts?: Parts): Promise<KubeObject>;
  /** A ServiceAccount without rights, and a token for it. */
  account(): Promise<{ name: string; uid: string; token: string }>;
  /** A ServiceAccount with a Role of these rules in this run's namespace; they hold when it returns. */
  accountWith(rules: readonly object[]): Promise<{ name: string; token: string }>;
  /** Path of a collection or object in this run's namespace: `path('leases', 'x')`. */
  path(resource: Resource, name?: string): string;
  /** Runs `undo` after the fact. */
  later(undo: () => Promise<unknown> | undefined): void;
}

export interface Parts {
  metadata?: Record<string, unknown>;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  data?: Record<string, unknown>;
}

export type Resource = 'configmaps' | 'services' | 'leases' | 'events' | 'serviceaccounts' | 'pods' | 'secrets';

/** The run's shared part: one client, one namespace. */
export interface Run {
  api: ApiUnderTest;
  client: Client;
  ns: string;
  nextName(prefix: string): string;
}

export async function startRun(api: ApiUnderTest): Promise<Run> {
  const client = makeClient(api.url, api.caPem, api.adminToken);
  const mark = Math.random().toString(36).slice(2, 7).padEnd(5, '0');
  const ns = `conformance-${mark}`;
  const answer = await client.call('POST', '/api/v1/namespaces', {
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ns } },
  });
  if (answer.status !== 201) throw new Error(`cannot create namespace ${ns}: ${answer.status} ${answer.text}`);
  let count = 0;
  return { api, client, ns, nextName: (prefix) => `${prefix}-${mark}-${count++}` };
}

/** Runs one fact with a kit of its own and removes what it made, also when it fails. */
export async function runFact(fact: Fact, run: Run): Promise<void> {
  const undo: (() => Promise<unknown> | undefined)[] = [];
  try {
    await fact.run(makeKit(run, undo));
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

function makeKit(run: Run, undo: (() => Promise<unknown> | undefined)[]): Kit {
  const { client, ns } = run;
  const path = (resource: Resource, name?: string) => {
    const group = resource === 'leases' ? '/apis/coordination.k8s.io/v1' : '/api/v1';
    return `${group}/namespaces/${ns}/${resource}${name === undefined ? '' : `/${name}`}`;
  };
  const create = async (collection: string, object: KubeObject, parts: Parts) => {
    const body = { ...object, ...parts, metadata: { ...object.metadata, ...parts.metadata } };
    const answer = await client.call('POST', collection, { body });
    if (answer.status !== 201) throw new Error(`POST ${collection}: ${answer.status} ${answer.text}`);
    undo.push(() => erase(client, `${collection}/${answer.object.metadata.name}`));
    return answer.object;
  };
  const blank = (apiVersion: string, kind: string, prefix: string) =>
    ({ apiVersion, kind, metadata: { name: run.nextName(prefix) } }) as unknown as KubeObject;
  const kit: Kit = {
    api: run.api,
    client,
    ns,
    path,
    name: (prefix = 'x') => run.nextName(prefix),
    get: (at, options) => client.call('GET', at, options),
    post: (at, body, options) => client.call('POST', at, { body, ...options }),
    put: (at, body, options) => client.call('PUT', at, { body, ...options }),
    patch: (kind, at, body, options) => client.call('PATCH', at, { body, type: patchTypes[kind], ...options }),
    delete: (at, body, options) => client.call('DELETE', at, { ...(body === undefined ? {} : { body }), ...options }),
    async watch(at, query, options) {
      const watch = await client.watch(at, query, options);
      undo.push(async () => watch.close());
      return watch;
    },
    node: (parts = {}) => create('/api/v1/nodes', blank('v1', 'Node', 'n'), parts),
    configMap: (parts = {}) => create(path('configmaps'), blank('v1', 'ConfigMap', 'c'), parts),
    service: (parts = {}) =>
      create(path('services'), blank('v1', 'Service', 's'), {
        ...parts,
        spec: { ports: [{ port: 80 }], ...parts.spec },
      }),
    lease: (parts = {}) => create(path('leases'), blank('coordination.k8s.io/v1', 'Lease', 'l'), parts),
    accountWith: (rules) => accountWith(kit, rules),
    async account() {
      const made = await create(path('serviceaccounts'), blank('v1', 'ServiceAccount', 'a'), {});
      const { name, uid } = made.metadata;
      const answer = await client.call('POST', `${path('serviceaccounts', name)}/token`, { body: { spec: {} } });
      if (answer.status !== 201) throw new Error(`token of ${name}: ${answer.status} ${answer.text}`);
      return { name, uid, token: String(answer.object.status?.['token']) };
    },
    later: (step) => void undo.push(step),
  };
  return kit;
}

async function accountWith(k: Kit, rules: readonly object[]): Promise<{ name: string; token: string }> {
  const { name, token } = await k.account();
  const role = k.name('role');
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${k.ns}`;
  const object = (kind: string, parts: object) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name: role },
    ...parts,
  });
  // What is asked for last shows that the authorizer, which learns of bindings by a watch of its own, knows the Role.
  const probe = { apiGroups: [''], resources: ['configmaps'], resourceNames: [role], verbs: ['get'] };
  answered(await k.post(`${rbac}/roles`, object('Role', { rules: [...rules, probe] })), 201);
  k.later(() => k.delete(`${rbac}/roles/${role}`));
  const binding = {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role },
    subjects: [{ kind: 'ServiceAccount', name, namespace: k.ns }],
  };
  answered(await k.post(`${rbac}/rolebindings`, object('RoleBinding', binding)), 201);
  k.later(() => k.delete(`${rbac}/rolebindings/${role}`));
  const known = async () => (await k.get(k.path('configmaps', role), { token })).status === 404;
  for (let i = 0; i < 100 && !(await known()); i++) await new Promise((wake) => setTimeout(wake, 50));
  like(await known(), true);
  return { name, token };
}

async function erase(client: Client, path: string): Promise<void> {
  const answer = await client.call('DELETE', path, { query: { gracePeriodSeconds: 0 } });
  const left = answer.object as KubeObject | undefined;
  if (answer.status === 200 && left?.metadata?.finalizers) {
    await client.call('PATCH', path, { body: { metadata: { finalizers: null } }, type: patchTypes.merge });
  }
}

/** The answer is the usual Status object of a refusal. Only what is named is compared. */
export function refused(
  answer: Answer,
  code: number,
  reason: string | symbol,
  more: Record<string, unknown> = {},
): void {
  const note = `${answer.status} ${answer.text.slice(0, 300)}`;
  like(answer.status, code, note);
  like(answer.body, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, ...more }, note);
}

/** 422 Invalid whose causes hold one with this field and, where given, reason. Their number is not looked at. */
export function invalid(answer: Answer, field: string, reason?: string, message?: RegExp): void {
  refused(answer, 422, 'Invalid', message ? { message } : {});
  const details = (answer.body as { details?: { causes?: { field?: string; reason?: string }[] } }).details;
  const fits = details?.causes?.some((cause) => cause.field === field && (!reason || cause.reason === reason));
  like(fits ?? false, true, `no cause ${field} ${reason ?? ''} in ${JSON.stringify(details)}`);
}

/** The status is this one; the message shows the text when it is not. */
export function answered(answer: Answer, code: number, body?: unknown): void {
  like(answer.status, code, answer.text.slice(0, 400));
  if (body !== undefined) like(answer.body, body);
}
