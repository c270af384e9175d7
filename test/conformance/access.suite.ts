import { answered, type Fact, refused } from './kit.ts';
import { absent, like } from './like.ts';

const notTheirs = (verb: string, user: string) =>
  new RegExp(`^nodes is forbidden: User "${user}" cannot ${verb} resource "nodes"`);

/** Authentication, authorization, addressing, discovery. */
export const access: Fact[] = [
  {
    id: 'A1',
    says: 'a request without a token is anonymous and forbidden, not unauthorized',
    async run(k) {
      refused(await k.get('/api/v1/nodes', { token: null }), 403, 'Forbidden', {
        message: notTheirs('list', 'system:anonymous'),
        details: { kind: 'nodes' },
      });
    },
  },
  {
    id: 'A2',
    says: 'an unknown bearer token is unauthorized, without details',
    async run(k) {
      refused(await k.get('/api/v1/nodes', { token: 'nobody-knows-this' }), 401, 'Unauthorized', {
        message: 'Unauthorized',
        details: absent,
      });
    },
  },
  {
    id: 'A3',
    says: 'a user without the right is told user, verb, resource and namespace',
    async run(k) {
      const { name, token } = await k.account();
      const user = `system:serviceaccount:${k.ns}:${name}`;
      refused(
        await k.get('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x', { token }),
        403,
        'Forbidden',
        {
          message:
            `leases.coordination.k8s.io "x" is forbidden: User "${user}" cannot get resource "leases" in API ` +
            'group "coordination.k8s.io" in the namespace "kube-system"',
          details: { name: 'x', group: 'coordination.k8s.io', kind: 'leases' },
        },
      );
    },
  },
  {
    id: 'A3b',
    says: 'authorization comes before body and media type, and names the subresource',
    async run(k) {
      const { token } = await k.account();
      const options = { token, text: 'no json', type: 'text/plain' };
      refused(await k.client.call('PATCH', '/api/v1/nodes/x/status', options), 403, 'Forbidden', {
        message: /cannot patch resource "nodes\/status" in API group "" at the cluster scope/,
        details: { name: 'x', kind: 'nodes' },
      });
    },
  },
  {
    id: 'A3c',
    says: 'a Role and its binding give a ServiceAccount exactly the rights they name',
    async run(k) {
      const { token } = await k.accountWith([
        { apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'], verbs: ['get'] },
      ]);
      answered(await k.get(k.path('configmaps', 'mine'), { token }), 404);
      answered(await k.get(k.path('configmaps', 'other'), { token }), 403);
      answered(await k.delete(k.path('configmaps', 'mine'), undefined, { token }), 403);
    },
  },
  {
    id: 'A4',
    says: 'livez, readyz and healthz are open and say ok in plain text',
    async run(k) {
      for (const path of ['/livez', '/readyz', '/healthz']) {
        const answer = await k.get(path, { token: null });
        like({ status: answer.status, text: answer.text }, { status: 200, text: 'ok' }, path);
        like(answer.headers['content-type'], /^text\/plain/, path);
      }
      answered(await k.get('/livez/ping', { token: null }), 403);
      answered(await k.get('/api', { token: null }), 403);
    },
  },
  {
    id: 'A5',
    says: 'an unknown resource is a Status 404, an unknown group a plain one',
    async run(k) {
      const node = await k.node();
      for (const path of ['/api/v1/nope', `/api/v1/nodes/${node.metadata.name}/nope`]) {
        refused(await k.get(path), 404, 'NotFound', {
          message: 'the server could not find the requested resource',
          details: {},
        });
      }
      const group = await k.get('/apis/nope.io/v1');
      like({ status: group.status, text: group.text.trim() }, { status: 404, text: '404 page not found' });
      like(group.headers['content-type'], /^text\/plain/);
    },
  },
  {
    id: 'A6',
    says: 'a method that the path has not is a Status 405',
    async run(k) {
      const node = await k.node();
      const at = `/api/v1/nodes/${node.metadata.name}`;
      const message = 'the server does not allow this method on the requested resource';
      for (const [method, path] of [
        ['POST', at],
        ['PUT', '/api/v1/nodes'],
        ['PATCH', '/api/v1/nodes'],
        ['POST', `${at}/status`],
        ['DELETE', `${at}/status`],
        ['OPTIONS', '/api/v1/nodes'],
      ] as const) {
        const answer = await k.client.call(method, path, { body: {} });
        refused(answer, 405, 'MethodNotAllowed', { message, details: {} });
      }
      like((await k.client.call('HEAD', '/api/v1/nodes')).status, 405);
    },
  },
  {
    id: 'A7',
    says: 'a trailing slash is the same path, a doubled one is not found',
    async run(k) {
      answered(await k.get('/api/v1/nodes/', { query: { limit: 1 } }), 200, { kind: 'NodeList' });
      like((await k.get('/api//v1/nodes')).status, (status: number) => status === 404 || status === 301);
    },
  },
  {
    id: 'A9',
    says: 'answers are JSON that must not be cached, without ETag',
    async run(k) {
      const { headers } = await k.get('/api/v1/nodes', { query: { limit: 1 } });
      like(headers['content-type'], /^application\/json/);
      like(headers['cache-control'], 'no-cache, private');
      like(headers['etag'], absent);
      like(headers['date'], /GMT$/);
    },
  },
  {
    id: 'A9b',
    says: 'answers carry an audit id and their flow',
    realOnly: 'priority and fairness, audit headers',
    async run(k) {
      const { headers } = await k.get('/api/v1/nodes', { query: { limit: 1 } });
      like(headers, {
        'audit-id': /./,
        'x-kubernetes-pf-flowschema-uid': /./,
        'x-kubernetes-pf-prioritylevel-uid': /./,
      });
    },
  },
  {
    id: 'A10',
    says: 'small answers are not compressed',
    async run(k) {
      const answer = await k.get('/version', { headers: { 'accept-encoding': 'gzip' } });
      like(answer.headers['content-encoding'], absent);
    },
  },
  {
    id: 'A10b',
    says: 'a large list is compressed for those who ask',
    realOnly: 'compression',
    async run(k) {
      const made = await k.configMap({ data: { filler: 'mooring '.repeat(50_000) } });
      const query = { fieldSelector: `metadata.name=${made.metadata.name}` };
      const { headers } = await k.get(k.path('configmaps'), { query, headers: { 'accept-encoding': 'gzip' } });
      like(headers, { 'content-encoding': 'gzip', vary: /Accept-Encoding/i });
    },
  },
  {
    id: 'A11',
    says: 'discovery names versions, groups, and the resources with their verbs',
    async run(k) {
      answered(await k.get('/version'), 200, { major: '1', minor: /^\d+/, gitVersion: /^v1\./ });
      answered(await k.get('/api'), 200, { kind: 'APIVersions', versions: ['v1'] });
      const groups = await k.get('/apis');
      answered(groups, 200, { kind: 'APIGroupList', apiVersion: 'v1' });
      const names = (groups.body as { groups: { name: string }[] }).groups.map((group) => group.name);
      for (const name of ['coordination.k8s.io', 'authentication.k8s.io', 'authorization.k8s.io', 'events.k8s.io']) {
        like(names.includes(name), true, `${name} in ${names}`);
      }
      const core = await k.get('/api/v1');
      answered(core, 200, { kind: 'APIResourceList', groupVersion: 'v1' });
      const rows = (core.body as { resources: { name: string; verbs: string[] }[] }).resources;
      const row = (name: string) => rows.find((entry) => entry.name === name);
      like(row('nodes'), { singularName: 'node', namespaced: false, kind: 'Node', shortNames: ['no'] });
      for (const verb of ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']) {
        like(row('nodes')?.verbs.includes(verb), true, verb);
      }
      like([...(row('nodes/status')?.verbs ?? [])].sort(), ['get', 'patch', 'update']);
    },
  },
  {
    id: 'A11b',
    says: 'aggregated discovery is given to those who ask for it',
    realOnly: 'aggregated discovery',
    async run(k) {
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
      for (const path of ['/api', '/apis']) {
        answered(await k.get(path, { headers: { accept } }), 200, {
          kind: 'APIGroupDiscoveryList',
          apiVersion: 'apidiscovery.k8s.io/v2',
        });
      }
    },
  },
  {
    id: 'A12',
    says: 'a body over 3 MiB is too large',
    async run(k) {
      const body = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'large' },
        data: { x: 'x'.repeat(3_200_000) },
      };
      refused(await k.post(k.path('configmaps'), body), 413, 'RequestEntityTooLarge', {
        message: 'Request entity too large: limit is 3145728',
      });
    },
  },
  {
    id: 'A12b',
    says: 'annotations over 256 KiB in all are invalid',
    async run(k) {
      const metadata = { name: k.name(), annotations: { a: 'x'.repeat(262_145) } };
      const answer = await k.post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata });
      refused(answer, 422, 'Invalid', { message: /may not be more than 262144 bytes/ });
    },
  },
];
