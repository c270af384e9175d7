import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, type JsonObject, objectOf, textOf } from '../json.ts';
import { code, meta, testApi } from '../testing/test-api.ts';
import { issuer } from './service-account-token.ts';
import { serviceAccountUser } from './user.ts';

const system = '/api/v1/namespaces/kube-system';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const viewer = { name: 'viewer', uid: 'v', groups: ['system:authenticated'], extra: {} };

function withViewer() {
  return testApi({ tokens: new Map([['viewer-token', viewer]]) });
}

function bearer(token: string) {
  return { user: null, headers: { authorization: `Bearer ${token}` } };
}

test('a request without a token is anonymous and forbidden, a wrong token is unauthorized', () => {
  const { call } = withViewer();
  const refused = call('GET', '/api/v1/nodes', undefined, { user: null });
  assert.deepEqual(code(refused), [
    403,
    'Forbidden',
    'nodes is forbidden: User "system:anonymous" cannot list resource "nodes" in API group "" at the cluster scope',
  ]);
  assert.deepEqual(refused.body['details'], { kind: 'nodes' });
  assert.deepEqual(code(call('GET', '/api/v1/nodes', undefined, bearer('nope'))), [
    401,
    'Unauthorized',
    'Unauthorized',
  ]);
  assert.equal(call('GET', '/api', undefined, { user: null }).status, 403);
});

test('health is open to all users, single checks are not', () => {
  const { call } = withViewer();
  for (const path of ['/livez', '/readyz', '/healthz'])
    assert.equal(call('GET', path, undefined, { user: null }).text, 'ok');
  assert.equal(call('GET', '/livez/ping', undefined, { user: null }).status, 403);
});

test('a refusal names verb, resource, group and namespace, before the body is looked at', () => {
  const { call } = withViewer();
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x';
  const refused = call('GET', lease, undefined, bearer('viewer-token'));
  assert.equal(
    code(refused)[2],
    'leases.coordination.k8s.io "x" is forbidden: User "viewer" cannot get resource "leases" in API group ' +
      '"coordination.k8s.io" in the namespace "kube-system"',
  );
  assert.deepEqual(refused.body['details'], { name: 'x', group: 'coordination.k8s.io', kind: 'leases' });
  const status = call('PATCH', '/api/v1/nodes/n/status', 'not json', bearer('viewer-token'));
  assert.match(code(status)[2], /cannot patch resource "nodes\/status"/);
  assert.equal(at(status.body, 'details', 'kind'), 'nodes');
});

test('a ClusterRole grants by verb, resource and name, at once and until it is gone', () => {
  const { call } = withViewer();
  const get = (path: string) => call('GET', path, undefined, bearer('viewer-token')).status;
  const rules = [
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] },
    { apiGroups: [''], resources: ['configmaps'], resourceNames: ['one'], verbs: ['*'] },
  ];
  call('POST', `${rbac}/clusterroles`, { metadata: { name: 'r' }, rules });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' };
  const binding = { metadata: { name: 'b' }, roleRef, subjects: [{ kind: 'User', name: 'viewer' }] };
  assert.equal(get('/api/v1/nodes'), 403);
  assert.equal(call('POST', `${rbac}/clusterrolebindings`, binding).status, 201);
  assert.equal(get('/api/v1/nodes'), 200);
  assert.equal(call('DELETE', '/api/v1/nodes/x', undefined, bearer('viewer-token')).status, 403);
  assert.equal(get(`${system}/configmaps/one`), 404);
  assert.equal(get(`${system}/configmaps/two`), 403);
  call('DELETE', `${rbac}/clusterrolebindings/b`);
  assert.equal(get('/api/v1/nodes'), 403);
});

test('a Role grants in its namespace alone, also to a ServiceAccount', () => {
  const { call } = testApi();
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }];
  call('POST', `${rbac}/namespaces/kube-system/roles`, { metadata: { name: 'r' }, rules });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' };
  const subjects = [{ kind: 'ServiceAccount', name: 'agent', namespace: 'kube-system' }];
  call('POST', `${rbac}/namespaces/kube-system/rolebindings`, { metadata: { name: 'b' }, roleRef, subjects });
  const user = serviceAccountUser('kube-system', 'agent', '');
  assert.equal(call('GET', `${system}/configmaps`, undefined, { user }).status, 200);
  assert.equal(call('GET', '/api/v1/namespaces/default/configmaps', undefined, { user }).status, 403);
  assert.equal(call('GET', '/api/v1/configmaps', undefined, { user }).status, 403);
});

function withAgent(nodeName = 'n1') {
  const api = testApi();
  if (nodeName === 'n1') api.call('POST', '/api/v1/nodes', { metadata: { name: 'n1' } });
  const account = api.call('POST', `${system}/serviceaccounts`, { metadata: { name: 'agent' } }).body;
  const spec = { nodeName, serviceAccountName: 'agent', containers: [{ name: 'c', image: 'i' }] };
  const pod = api.call('POST', `${system}/pods`, { metadata: { name: 'p' }, spec }).body;
  const request = (more: JsonObject = {}) =>
    api.call('POST', `${system}/serviceaccounts/agent/token`, {
      spec: {
        audiences: ['mooring'],
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: meta(pod)['uid'] },
        ...more,
      },
    });
  const review = (token: string, ...audiences: string[]) => {
    const reply = api.call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token, audiences } });
    assert.equal(reply.status, 201);
    return objectOf(reply.body['status']);
  };
  const token = textOf(at(request().body, 'status', 'token'));
  const uid = (object: JsonObject) => textOf(meta(object)['uid']);
  return { ...api, account, pod, request, review, token, uid };
}

function claimsOf(token: string): JsonObject {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JsonObject;
}

test('a token bound to a Pod names pod, node and account', () => {
  const { call, token, account, pod, uid, request } = withAgent();
  const { jti, ...claims } = claimsOf(token);
  const node = call('GET', '/api/v1/nodes/n1').body;
  assert.match(textOf(jti), /^[0-9a-f-]{36}$/);
  assert.deepEqual(claims, {
    aud: ['mooring'],
    iss: issuer,
    sub: 'system:serviceaccount:kube-system:agent',
    iat: 1_767_225_600,
    nbf: 1_767_225_600,
    exp: 1_767_229_200,
    'kubernetes.io': {
      namespace: 'kube-system',
      node: { name: 'n1', uid: uid(node) },
      pod: { name: 'p', uid: uid(pod) },
      serviceaccount: { name: 'agent', uid: uid(account) },
    },
  });
  assert.equal(at(request().body, 'status', 'expirationTimestamp'), '2026-01-01T01:00:00Z');
});

test('a token review has the extras of pod and node', () => {
  const { review, token, account, pod, uid, call } = withAgent();
  const status = review(token, 'mooring', 'another');
  assert.deepEqual(status['audiences'], ['mooring']);
  assert.deepEqual(status['user'], {
    username: 'system:serviceaccount:kube-system:agent',
    uid: uid(account),
    groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
    extra: {
      'authentication.kubernetes.io/credential-id': [`JTI=${textOf(claimsOf(token)['jti'])}`],
      'authentication.kubernetes.io/node-name': ['n1'],
      'authentication.kubernetes.io/node-uid': [uid(call('GET', '/api/v1/nodes/n1').body)],
      'authentication.kubernetes.io/pod-name': ['p'],
      'authentication.kubernetes.io/pod-uid': [uid(pod)],
    },
  });
});

test('a foreign audience is refused with both named, and the API server itself takes its own alone', () => {
  const { review, token, call } = withAgent();
  assert.deepEqual(review(token, 'other'), {
    user: {},
    error: '[invalid bearer token, token audiences ["mooring"] is invalid for the target audiences ["other"]]',
  });
  assert.equal(call('GET', '/api/v1/nodes', undefined, bearer(token)).status, 401);
});

test('a Pod on a Node that does not exist gets a token without the uid of the node', () => {
  const { review, token } = withAgent('ghost');
  const extra = objectOf(at(review(token, 'mooring'), 'user', 'extra'));
  assert.deepEqual(extra['authentication.kubernetes.io/node-name'], ['ghost']);
  assert.equal(extra['authentication.kubernetes.io/node-uid'], undefined);
});

test('a token that was seen lately lives on for ten seconds after its Pod is gone', async () => {
  const { review, token, call, clock } = withAgent();
  assert.equal(review(token, 'mooring')['authenticated'], true);
  call('DELETE', `${system}/pods/p`, { gracePeriodSeconds: 0 });
  await clock.advance(9_000);
  assert.equal(review(token, 'mooring')['authenticated'], true);
  await clock.advance(1_500);
  const { authenticated, error } = review(token, 'mooring');
  assert.deepEqual(
    [authenticated, error],
    [undefined, '[invalid bearer token, service account token has been invalidated]'],
  );
});

test('a token keeps the uid of a Node that was deleted and created again', async () => {
  const { review, token, call, clock, uid } = withAgent();
  const before = uid(call('GET', '/api/v1/nodes/n1').body);
  call('DELETE', '/api/v1/nodes/n1');
  call('POST', '/api/v1/nodes', { metadata: { name: 'n1' } });
  await clock.advance(20_000);
  const extra = objectOf(at(review(token, 'mooring'), 'user', 'extra'));
  assert.deepEqual(extra['authentication.kubernetes.io/node-uid'], [before]);
  assert.notEqual(uid(call('GET', '/api/v1/nodes/n1').body), before);
});

test('garbage, expired tokens and tokens of a deleted account are not authenticated', async () => {
  const { review, token, call, clock } = withAgent();
  assert.deepEqual(review('garbage', 'mooring'), { user: {}, error: 'invalid bearer token' });
  assert.deepEqual(review(`${token.slice(0, -4)}AAAA`, 'mooring'), { user: {}, error: 'invalid bearer token' });
  call('DELETE', `${system}/serviceaccounts/agent`);
  assert.equal(review(token, 'mooring')['error'], '[invalid bearer token, serviceaccounts "agent" not found]');
  call('POST', `${system}/serviceaccounts`, { metadata: { name: 'agent' } });
  assert.match(textOf(review(token, 'mooring')['error']), /does not match claim/);
  await clock.advance(3_600_000);
  assert.match(textOf(review(token, 'mooring')['error']), /service account token has expired/);
});

test('an empty token is a bad request', () => {
  const { call } = testApi();
  assert.equal(call('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: '' } }).status, 400);
});

test('a token is refused for a foreign pod, a wrong uid, a short life, an unknown account', () => {
  const { request, call } = withAgent();
  const reference = (more: object) => ({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', ...more } });
  assert.equal(request(reference({ uid: 'nope' })).status, 409);
  assert.equal(request(reference({ name: 'q' })).status, 404);
  assert.equal(request(reference({ kind: 'Foo' })).status, 400);
  assert.equal(request({ expirationSeconds: 5 }).status, 422);
  call('POST', `${system}/serviceaccounts`, { metadata: { name: 'other' } });
  const other = call('POST', `${system}/serviceaccounts/other/token`, { spec: reference({}) });
  assert.match(code(other)[2], /pod running with different serviceaccount name/);
  assert.equal(call('POST', `${system}/serviceaccounts/nobody/token`, { spec: {} }).status, 404);
});

test('a token for the API server works as its account', () => {
  const { call, request } = withAgent();
  const token = textOf(at(request({ audiences: [] }).body, 'status', 'token'));
  const who = call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, bearer(token));
  assert.equal(at(who.body, 'status', 'userInfo', 'username'), 'system:serviceaccount:kube-system:agent');
  assert.match(
    code(call('GET', '/api/v1/nodes', undefined, bearer(token)))[2],
    /User "system:serviceaccount:kube-system:agent"/,
  );
});

test('access reviews answer as RBAC decides', () => {
  const { call } = testApi();
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const ask = (spec: object) => call('POST', path, { spec });
  const nodes = { resourceAttributes: { verb: 'get', resource: 'nodes' } };
  assert.deepEqual(ask({ user: 'bob', ...nodes }).body['status'], { allowed: false });
  assert.deepEqual(ask({ user: 'bob', groups: ['system:masters'], ...nodes }).body['status'], { allowed: true });
  const version = { nonResourceAttributes: { verb: 'get', path: '/version' } };
  const seen = objectOf(ask({ user: 'bob', groups: ['system:authenticated'], ...version }).body['status']);
  assert.equal(seen['allowed'], true);
  assert.match(
    textOf(seen['reason']),
    /^RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery"/,
  );
  assert.equal(ask({ user: 'bob' }).status, 422);
  assert.equal(ask(nodes).status, 422);
});

test('impersonation needs the right to it', () => {
  const { call } = withViewer();
  const as = (token: string, headers: Record<string, string>) =>
    call(
      'POST',
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      {},
      {
        user: null,
        headers: { authorization: `Bearer ${token}`, ...headers },
      },
    );
  const bob = as('admin-token', { 'impersonate-user': 'bob' });
  assert.deepEqual(at(bob.body, 'status', 'userInfo'), { username: 'bob', groups: ['system:authenticated'] });
  const refused = as('viewer-token', { 'impersonate-user': 'bob' });
  assert.equal(
    code(refused)[2],
    'users "bob" is forbidden: User "viewer" cannot impersonate resource "users" in API group "" at the cluster scope',
  );
});

test('kubectl asks about itself in protobuf', () => {
  const { core } = withViewer();
  const text = (field: number, value: string | Buffer) => {
    const bytes = Buffer.from(value);
    return Buffer.concat([Buffer.from([field * 8 + 2, bytes.length]), bytes]);
  };
  const attributes = Buffer.concat([text(2, 'list'), text(3, ''), text(5, 'nodes')]);
  const type = Buffer.concat([text(1, 'authorization.k8s.io/v1'), text(2, 'SelfSubjectAccessReview')]);
  const body = Buffer.concat([Buffer.from('k8s\0'), text(1, type), text(2, text(2, text(1, attributes)))]);
  const ask = (token: string) => {
    const answer = core.handle({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      query: new URLSearchParams(),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.kubernetes.protobuf' },
      body,
    });
    assert.ok(answer.watch === undefined);
    return JSON.parse(answer.body) as JsonObject;
  };
  const own = ask('admin-token');
  assert.deepEqual(at(own, 'spec', 'resourceAttributes'), { verb: 'list', resource: 'nodes' });
  assert.deepEqual([own['status'], ask('viewer-token')['status']], [{ allowed: true }, { allowed: false }]);
});

test('a kubelet writes its own Node, Lease and status, and removes no taint', () => {
  const { call, core } = testApi();
  const own = bearer(core.nodeToken('n1'));
  assert.equal(core.nodeToken('n1'), core.nodeToken('n1'));
  const create = (name: string) => call('POST', '/api/v1/nodes', { metadata: { name } }, own).status;
  assert.deepEqual([create('n1'), create('n2')], [201, 403]);
  const merge = { ...own, headers: { ...own.headers, 'content-type': 'application/merge-patch+json' } };
  assert.equal(call('PATCH', '/api/v1/nodes/n1/status', { status: { phase: 'x' } }, merge).status, 200);
  assert.equal(call('PATCH', '/api/v1/nodes/n1', { spec: { providerID: 'a://b' } }, merge).status, 200);
  assert.match(
    code(call('PATCH', '/api/v1/nodes/n1', { spec: { taints: null } }, merge))[2],
    /not allowed to modify taints/,
  );
  assert.equal(call('DELETE', '/api/v1/nodes/n1', undefined, own).status, 403);
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  assert.equal(call('POST', lease, { metadata: { name: 'n1' } }, own).status, 201);
  assert.equal(call('POST', lease, { metadata: { name: 'n2' } }, own).status, 403);
});
