import { answered, type Fact, invalid, refused } from './kit.ts';
import { absent, like } from './like.ts';

const nodes = '/api/v1/nodes';
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

function nodeNamed(name: string | undefined, metadata: Record<string, unknown> = {}) {
  return { apiVersion: 'v1', kind: 'Node', metadata: { ...(name === undefined ? {} : { name }), ...metadata } };
}

/** POST on a collection. */
export const create: Fact[] = [
  {
    id: 'B1',
    says: 'a created Node gets uid, resourceVersion and a time of whole seconds, keeps its status, has no generation',
    async run(k) {
      const node = await k.node({
        status: { addresses: [{ type: 'Hostname', address: 'a' }], conditions: [{ type: 'Ready', status: 'True' }] },
      });
      like(node, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: {
          uid: uuid,
          resourceVersion: /^\d+$/,
          creationTimestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
          generation: absent,
        },
        status: {
          addresses: [{ type: 'Hostname', address: 'a' }],
          conditions: [{ type: 'Ready', status: 'True' }],
          daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
          nodeInfo: { kubeletVersion: '', machineID: '' },
        },
      });
    },
  },
  {
    id: 'B2',
    says: 'every new Node gets the not-ready taint after its own ones, Ready or not',
    async run(k) {
      const own = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
      const status = { conditions: [{ type: 'Ready', status: 'True' }] };
      const node = await k.node({ spec: { taints: [own] }, status });
      like(node.spec, { taints: [own, notReady] });
      like((await k.node()).spec, { taints: [notReady] });
    },
  },
  {
    id: 'B2b',
    says: 'a kubelet creates its own Node, and no other',
    async run(k) {
      const name = 'node-0';
      const token = k.api.nodeToken(name);
      k.later(() => k.delete(`${nodes}/${name}`));
      answered(await k.post(nodes, nodeNamed(name), { token }), 201, { metadata: { name } });
      answered(await k.post(nodes, nodeNamed(k.name()), { token }), 403);
    },
  },
  {
    id: 'B3',
    says: 'a name that is taken is a conflict of its own reason',
    async run(k) {
      const { metadata } = await k.node();
      refused(await k.post(nodes, nodeNamed(metadata.name)), 409, 'AlreadyExists', {
        message: `nodes "${metadata.name}" already exists`,
        details: { name: metadata.name, kind: 'nodes' },
      });
    },
  },
  {
    id: 'B4',
    says: 'a resourceVersion on a new object is an error of the server',
    async run(k) {
      const answer = await k.post(nodes, nodeNamed(k.name(), { resourceVersion: '1' }));
      refused(answer, 500, absent, { message: 'resourceVersion should not be set on objects to be created' });
    },
  },
  {
    id: 'B5',
    says: 'uid and times given by the client are ignored',
    async run(k) {
      const given = {
        uid: 'mine',
        creationTimestamp: '2001-01-01T00:00:00Z',
        deletionTimestamp: '2001-01-01T00:00:00Z',
      };
      const { metadata } = await k.node({ metadata: given });
      like(metadata, { uid: uuid, creationTimestamp: /^2[0-9]{3}-(?!01-01T00:00:00Z)/, deletionTimestamp: absent });
      like(String(metadata['creationTimestamp']).startsWith('2001'), false);
    },
  },
  {
    id: 'B6',
    says: 'a bad name is invalid; details carry the Kind, not the resource',
    async run(k) {
      const answer = await k.post(nodes, nodeNamed('Bad_Name'));
      invalid(answer, 'metadata.name', 'FieldValueInvalid');
      refused(answer, 422, 'Invalid', {
        message:
          /^Node "Bad_Name" is invalid: metadata\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain/,
        details: { name: 'Bad_Name', kind: 'Node' },
      });
    },
  },
  {
    id: 'B7',
    says: 'a name or generateName is required',
    async run(k) {
      const answer = await k.post(nodes, nodeNamed(undefined));
      invalid(answer, 'metadata.name', 'FieldValueRequired', /name or generateName is required/);
    },
  },
  {
    id: 'B8',
    says: 'generateName is a prefix for five characters and stays in the object',
    async run(k) {
      const answer = await k.post(nodes, nodeNamed(undefined, { generateName: 'gen-' }));
      k.later(() => k.delete(`${nodes}/${answer.object.metadata.name}`));
      answered(answer, 201, { metadata: { name: /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/, generateName: 'gen-' } });
    },
  },
  {
    id: 'B9',
    says: 'several faults come in one answer, one cause each',
    async run(k) {
      const body = {
        ...nodeNamed(k.name(), { labels: { 'a b': 'x' } }),
        spec: { taints: [{ key: 'a', effect: 'Bogus' }] },
      };
      const answer = await k.post(nodes, body);
      refused(answer, 422, 'Invalid', { message: /is invalid: \[.*, .*\]$/s });
      invalid(answer, 'metadata.labels');
    },
  },
  {
    id: 'B10',
    says: 'broken JSON, a wrong kind and a wrong type are bad requests',
    async run(k) {
      const send = (text: string) => k.post(nodes, undefined, { text });
      refused(await send('{"a":'), 400, 'BadRequest', {
        message: /^the object provided is unrecognized \(must be of type Node\)/,
      });
      refused(await send('{"kind":"Service","apiVersion":"v1","metadata":{"name":"x"}}'), 400, 'BadRequest', {
        message: /^Service in version "v1" cannot be handled as a Node/,
      });
      refused(await send('{"kind":"Node","apiVersion":"v1","spec":{"unschedulable":"no"}}'), 400, 'BadRequest', {
        message: /cannot unmarshal string into Go struct field .*unschedulable of type bool/,
      });
    },
  },
  {
    id: 'B10b',
    says: 'a body without kind and apiVersion is taken for what the path says',
    async run(k) {
      const name = k.name();
      k.later(() => k.delete(`${nodes}/${name}`));
      answered(await k.post(nodes, { metadata: { name } }), 201, { kind: 'Node', apiVersion: 'v1' });
    },
  },
  {
    id: 'B11',
    says: 'an unknown media type is unsupported; none, or one with a charset, is JSON',
    async run(k) {
      refused(await k.post(nodes, nodeNamed('x'), { type: 'text/plain' }), 415, 'UnsupportedMediaType', {
        message: /^the body of the request was in an unknown format - accepted media types include: application\/json/,
      });
      for (const type of [null, 'application/json; charset=utf-8']) {
        const name = k.name();
        k.later(() => k.delete(`${nodes}/${name}`));
        answered(await k.post(nodes, nodeNamed(name), { type }), 201);
      }
    },
  },
  {
    id: 'B11b',
    says: 'YAML is a media type for bodies',
    async run(k) {
      const name = k.name();
      k.later(() => k.delete(`${nodes}/${name}`));
      const text = `apiVersion: v1\nkind: Node\nmetadata:\n  name: ${name}\n`;
      answered(await k.post(nodes, undefined, { text, type: 'application/yaml' }), 201);
    },
  },
  {
    id: 'B12',
    says: 'an unknown field is dropped',
    async run(k) {
      const node = await k.node({ spec: { bogus: 1 } });
      like(node.spec, { bogus: absent });
    },
  },
  {
    id: 'B12b',
    says: 'an unknown field is warned of, and refused by those who are strict',
    async run(k) {
      const name = k.name();
      k.later(() => k.delete(`${nodes}/${name}`));
      const body = { ...nodeNamed(name), spec: { bogus: 1 } };
      const strict = { query: { fieldValidation: 'Strict' } };
      refused(await k.post(nodes, body, strict), 400, 'BadRequest', { message: /unknown field "spec\.bogus"/ });
      const lax = await k.post(nodes, body);
      like(lax.headers['warning'], /299 - "unknown field \\"spec\.bogus\\""/);
      invalid(await k.patch('merge', `${nodes}/${name}`, { spec: { bogus: 2 } }, strict), 'patch');
    },
  },
  {
    id: 'B13',
    says: 'a dry run answers as the real one, stores nothing and gives no resourceVersion',
    async run(k) {
      const name = k.name();
      const answer = await k.post(nodes, nodeNamed(name), { query: { dryRun: 'All' } });
      answered(answer, 201, { metadata: { name, uid: uuid, resourceVersion: absent } });
      answered(await k.get(`${nodes}/${name}`), 404);
      refused(await k.post(nodes, nodeNamed(name), { query: { dryRun: 'Some' } }), 422, 'Invalid', {
        message: /supported values: "All"/,
        details: { kind: 'CreateOptions' },
      });
    },
  },
  {
    id: 'B13b',
    says: 'a dry run of update, patch and delete changes nothing either',
    async run(k) {
      const { metadata } = await k.configMap({ data: { a: '1' } });
      const at = k.path('configmaps', metadata.name);
      const query = { dryRun: 'All' };
      answered(await k.patch('merge', at, { data: { a: '2' } }, { query }), 200, { data: { a: '2' } });
      answered(await k.put(at, { metadata: { name: metadata.name }, data: { a: '3' } }, { query }), 200);
      answered(await k.delete(at, undefined, { query }), 200);
      answered(await k.get(at), 200, { data: { a: '1' }, metadata: { resourceVersion: metadata.resourceVersion } });
    },
  },
  {
    id: 'B14',
    says: 'a namespace that is not there is not found for creating and empty for listing',
    async run(k) {
      const at = '/api/v1/namespaces/no-such-namespace/configmaps';
      refused(await k.post(at, { metadata: { name: 'a' } }), 404, 'NotFound', {
        message: 'namespaces "no-such-namespace" not found',
        details: { name: 'no-such-namespace', kind: 'namespaces' },
      });
      answered(await k.get(at), 200, { kind: 'ConfigMapList', items: [] });
      refused(
        await k.post(k.path('configmaps'), { metadata: { name: 'a', namespace: 'default' } }),
        400,
        'BadRequest',
        {
          message: 'the namespace of the provided object does not match the namespace sent on the request',
        },
      );
    },
  },
  {
    id: 'B15',
    says: 'a namespace that is going away takes nothing new, and default never goes',
    async run(k) {
      const name = k.name('ns');
      answered(await k.post('/api/v1/namespaces', { metadata: { name } }), 201);
      const at = `/api/v1/namespaces/${name}/configmaps`;
      answered(await k.post(at, { metadata: { name: 'holds', finalizers: ['c.example/hold'] } }), 201);
      k.later(() => k.patch('merge', `${at}/holds`, { metadata: { finalizers: null } }));
      answered(await k.delete(`/api/v1/namespaces/${name}`), 200);
      const answer = await k.post(at, { metadata: { name: 'a' } });
      refused(answer, 403, 'Forbidden', {
        message:
          `configmaps "a" is forbidden: unable to create new content in namespace ${name} because it is being ` +
          'terminated',
      });
      like((answer.body as { details: unknown }).details, { causes: [{ reason: 'NamespaceTerminating' }] });
      refused(await k.delete('/api/v1/namespaces/default'), 403, 'Forbidden', {
        message: /this namespace may not be deleted$/,
      });
    },
  },
  {
    id: 'B16',
    says: 'an answer can be a Table or metadata alone, and nothing the server lacks',
    async run(k) {
      const { metadata } = await k.node();
      const at = `${nodes}/${metadata.name}`;
      refused(await k.get(at, { headers: { accept: 'text/csv' } }), 406, 'NotAcceptable');
      const table = await k.get(at, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
      answered(table, 200, { kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
      const { columnDefinitions, rows } = table.body as { columnDefinitions: { name: string }[]; rows: unknown[] };
      like(columnDefinitions[0], { name: 'Name', type: 'string', format: 'name' });
      like(rows, [
        { cells: (cells: unknown[]) => cells[0] === metadata.name && cells.length === columnDefinitions.length },
      ]);
    },
  },
  {
    id: 'B16b',
    says: 'PartialObjectMetadata works for get, list, patch and watch',
    async run(k) {
      const { metadata } = await k.node();
      const at = `${nodes}/${metadata.name}`;
      const accept = (as: string) => ({ headers: { accept: `application/json;as=${as};g=meta.k8s.io;v=v1` } });
      const partial = {
        kind: 'PartialObjectMetadata',
        metadata: { name: metadata.name },
        spec: absent,
        status: absent,
      };
      answered(await k.get(at, accept('PartialObjectMetadata')), 200, partial);
      const body = { metadata: { labels: { a: 'b' } } };
      answered(await k.patch('merge', at, body, accept('PartialObjectMetadata')), 200, partial);
      const query = { fieldSelector: `metadata.name=${metadata.name}` };
      const list = await k.get(nodes, { query, ...accept('PartialObjectMetadataList') });
      answered(list, 200, {
        kind: 'PartialObjectMetadataList',
        items: [{ metadata: { name: metadata.name }, status: absent }],
      });
      const watch = await k.watch(nodes, query, accept('PartialObjectMetadata'));
      like(await watch.next(), { type: 'ADDED', object: partial });
    },
  },
  {
    id: 'B16c',
    says: 'of several forms that are accepted the first known one is given, fit or not; refusals stay what they are',
    async run(k) {
      const forms = ['PartialObjectMetadata', 'PartialObjectMetadataList'].map(
        (as) => `application/json;as=${as};g=meta.k8s.io;v=v1`,
      );
      const either = { headers: { accept: [...forms, 'application/json'].join(',') } };
      const options = { headers: { accept: `${forms[0]},application/json` } };
      const { name } = (await k.node()).metadata;
      const at = `${nodes}/${name}`;
      answered(await k.get(at, options), 200, { kind: 'PartialObjectMetadata', spec: absent });
      // The first form decides, whether it fits a list or not.
      refused(await k.get(nodes, { ...either, query: { limit: 1 } }), 406, 'NotAcceptable');
      answered(await k.get(at, either), 200, { kind: 'PartialObjectMetadata' });
      const patched = await k.patch('strategic', `${at}/status`, { status: { conditions: [] } }, options);
      answered(patched, 200, {
        kind: 'PartialObjectMetadata',
        metadata: { name, resourceVersion: /^\d+$/ },
        status: absent,
      });
      const foreign = { metadata: { resourceVersion: '1' } };
      refused(await k.patch('merge', at, foreign, options), 409, 'Conflict');
      refused(await k.get(`${nodes}/${k.name()}`, options), 404, 'NotFound');
      answered(await k.delete(at, undefined, options), 200);
    },
  },
];
