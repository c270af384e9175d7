import { answered, type Fact, invalid, type Kit, refused } from './kit.ts';
import { absent, like } from './like.ts';

const nodes = '/api/v1/nodes';

function applied(name: string, parts: Record<string, unknown> = {}) {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, ...parts };
}

function apply(k: Kit, path: string, body: unknown, query: Record<string, string> = { fieldManager: 'm1' }) {
  return k.patch('apply', path, body, { query });
}

const rows: Omit<Fact, 'realOnly'>[] = [
  {
    id: 'D8b',
    says: 'server-side apply creates an absent object, but not through status',
    async run(k) {
      const name = k.name();
      k.later(() => k.delete(`${nodes}/${name}`));
      answered(await apply(k, `${nodes}/${name}/status`, applied(name)), 404);
      answered(await apply(k, `${nodes}/${name}`, applied(name)), 201);
    },
  },
  {
    id: 'D9b',
    says: 'server-side apply needs a field manager',
    async run(k) {
      const { name } = (await k.node()).metadata;
      const answer = await apply(k, `${nodes}/${name}`, applied(name), {});
      invalid(answer, 'fieldManager', 'FieldValueRequired', /is required for apply patch/);
    },
  },
  {
    id: 'D10',
    says: 'applying a field that another manager holds is a conflict unless forced',
    async run(k) {
      const { name } = (await k.node()).metadata;
      const labels = (a: string) => applied(name, { metadata: { name, labels: { a } } });
      answered(await apply(k, `${nodes}/${name}`, labels('1')), 200);
      const answer = await apply(k, `${nodes}/${name}`, labels('2'), { fieldManager: 'm2' });
      refused(answer, 409, 'Conflict', {
        message: 'Apply failed with 1 conflict: conflict with "m1": .metadata.labels.a',
        details: {
          causes: [{ reason: 'FieldManagerConflict', field: '.metadata.labels.a' }],
          name: absent,
          kind: absent,
        },
      });
      answered(await apply(k, `${nodes}/${name}`, labels('2'), { fieldManager: 'm2', force: 'true' }), 200, {
        metadata: { labels: { a: '2' } },
      });
    },
  },
  {
    id: 'D11',
    says: 'a field that its manager no longer applies is removed, and repeating changes nothing',
    async run(k) {
      const { name } = (await k.node()).metadata;
      const labels = (values: Record<string, string>) => applied(name, { metadata: { name, labels: values } });
      answered(await apply(k, `${nodes}/${name}`, labels({ a: '1', b: '2' })), 200);
      const first = await apply(k, `${nodes}/${name}`, labels({ b: '2' }));
      answered(first, 200, { metadata: { labels: { a: absent, b: '2' } } });
      const { resourceVersion } = first.object.metadata;
      answered(await apply(k, `${nodes}/${name}`, labels({ b: '2' })), 200, { metadata: { resourceVersion } });
    },
  },
  {
    id: 'D12',
    says: 'an applied body names its kind and no managed fields',
    async run(k) {
      const { name } = (await k.node()).metadata;
      refused(await apply(k, `${nodes}/${name}`, { metadata: { name } }), 400, 'BadRequest', {
        message: /invalid object type/,
      });
      const managed = applied(name, { metadata: { name, managedFields: [{ manager: 'x', operation: 'Apply' }] } });
      refused(await apply(k, `${nodes}/${name}`, managed), 400, 'BadRequest', {
        message: /metadata\.managedFields must be nil/,
      });
    },
  },
  {
    id: 'D13',
    says: 'server-side apply cannot write two addresses of one type',
    async run(k) {
      const { name } = (await k.node()).metadata;
      const addresses = ['10.0.0.1', 'fd00::1'].map((address) => ({ type: 'InternalIP', address }));
      const answer = await apply(k, `${nodes}/${name}/status`, applied(name, { status: { addresses } }));
      like(answer.status, 500);
      like(answer.body, { message: /duplicate entries for key \[type="InternalIP"\]/ });
    },
  },
  {
    id: 'D14',
    says: 'applied taints are one value and replace what admission put there',
    async run(k) {
      const name = k.name();
      k.later(() => k.delete(`${nodes}/${name}`));
      const taints = (key: string) => [{ key, effect: 'NoSchedule' }];
      const set = (key: string) => apply(k, `${nodes}/${name}`, applied(name, { spec: { taints: taints(key) } }));
      answered(await set('a'), 201, { spec: { taints: [...taints('a'), ...taints('node.kubernetes.io/not-ready')] } });
      answered(await set('b'), 200, { spec: { taints: taints('b') } });
    },
  },
];

/** Server-side apply. */
export const serverSideApply: Fact[] = rows.map((row) => ({ ...row, realOnly: 'server-side apply' }));

/** What a server without server-side apply must say instead. */
export const withoutApply: Fact[] = [
  {
    id: 'D8c',
    says: 'a server that has no server-side apply answers 415, as clients expect who fall back',
    async run(k) {
      if (k.api.kind === 'real') return;
      const { name } = (await k.node()).metadata;
      like((await apply(k, `${nodes}/${name}`, applied(name))).status, 415);
    },
  },
];
