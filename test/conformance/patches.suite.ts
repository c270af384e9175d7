import { answered, type Fact, invalid, type Kit, refused } from './kit.ts';
import { absent } from './like.ts';

const nodes = '/api/v1/nodes';
const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'm' };

async function nodeWith(k: Kit, status: Record<string, unknown>): Promise<string> {
  return `${nodes}/${(await k.node({ status })).metadata.name}/status`;
}

/** Merge, strategic merge and JSON patches. */
export const patches: Fact[] = [
  {
    id: 'D1',
    says: 'a patch must say which kind it is',
    async run(k) {
      const { name } = (await k.node()).metadata;
      const answer = await k.client.call('PATCH', `${nodes}/${name}`, { body: {} });
      refused(answer, 415, 'UnsupportedMediaType', { details: {} });
    },
  },
  {
    id: 'D2',
    says: 'a merge patch deletes by null and replaces lists whole',
    async run(k) {
      const node = await k.node({
        metadata: { labels: { a: '1', b: '2' } },
        spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] },
      });
      const at = `${nodes}/${node.metadata.name}`;
      const taints = [{ key: 'y', effect: 'NoExecute' }];
      const answer = await k.patch('merge', at, { metadata: { labels: { a: null } }, spec: { taints } });
      answered(answer, 200, { metadata: { labels: { a: absent, b: '2' } }, spec: { taints } });
      const broken = await k.patch('merge', at, undefined, { text: '{"metadata":' });
      refused(broken, 400, 'BadRequest', { message: /unexpected end of JSON input/ });
    },
  },
  {
    id: 'D3',
    says: 'a JSON patch that fails is a 422 of one text',
    async run(k) {
      const { name } = (await k.node({ metadata: { labels: { a: '1' } } })).metadata;
      for (const operation of [
        { op: 'test', path: '/metadata/labels/a', value: '2' },
        { op: 'frobnicate', path: '/metadata/labels/a' },
        { op: 'remove', path: '/metadata/labels/none' },
      ]) {
        refused(await k.patch('json', `${nodes}/${name}`, [operation]), 422, 'Invalid', {
          message: 'the server rejected our request due to an error in our request',
          details: {},
        });
      }
      refused(await k.patch('json', `${nodes}/${name}`, { op: 'add' }), 400, 'BadRequest');
    },
  },
  {
    id: 'D3b',
    says: 'a JSON patch tests, adds, replaces and removes, with ~1 for a slash',
    async run(k) {
      const { name } = (await k.node({ metadata: { labels: { 'a.b/c': '1', gone: 'x' } } })).metadata;
      const answer = await k.patch('json', `${nodes}/${name}`, [
        { op: 'test', path: '/metadata/labels/a.b~1c', value: '1' },
        { op: 'replace', path: '/metadata/labels/a.b~1c', value: '2' },
        { op: 'replace', path: '/metadata/labels/new', value: 'n' },
        { op: 'remove', path: '/metadata/labels/gone' },
        { op: 'add', path: '/spec/taints/0', value: { key: 'x', effect: 'NoSchedule' } },
      ]);
      answered(answer, 200, {
        metadata: { labels: { 'a.b/c': '2', new: 'n', gone: absent } },
        spec: { taints: [{ key: 'x' }, { key: 'node.kubernetes.io/not-ready' }] },
      });
    },
  },
  {
    id: 'D4',
    says: 'a strategic merge patch merges conditions by type, a new one in front',
    async run(k) {
      const at = await nodeWith(k, { conditions: [ready] });
      const merged = await k.patch('strategic', at, {
        status: { conditions: [{ type: 'CloudInitialized', status: 'True' }] },
      });
      answered(merged, 200, { status: { conditions: [{ type: 'CloudInitialized', status: 'True' }, ready] } });
      const changed = await k.patch('strategic', at, { status: { conditions: [{ type: 'Ready', status: 'False' }] } });
      answered(changed, 200, { status: { conditions: [{ type: 'CloudInitialized' }, { ...ready, status: 'False' }] } });
    },
  },
  {
    id: 'D4b',
    says: 'a strategic merge patch deletes a condition by $patch and orders them by $setElementOrder',
    async run(k) {
      const at = await nodeWith(k, { conditions: [ready, { type: 'Other', status: 'True' }] });
      const ordered = await k.patch('strategic', at, {
        status: {
          '$setElementOrder/conditions': [{ type: 'Other' }, { type: 'Ready' }],
          conditions: [{ type: 'Ready', status: 'False' }],
        },
      });
      answered(ordered, 200, { status: { conditions: [{ type: 'Other' }, { type: 'Ready', status: 'False' }] } });
      const deleted = await k.patch('strategic', at, { status: { conditions: [{ type: 'Other', $patch: 'delete' }] } });
      answered(deleted, 200, { status: { conditions: [{ type: 'Ready' }] } });
    },
  },
  {
    id: 'D5',
    says: 'over a stored list a strategic merge patch collapses two addresses of one type into the last',
    async run(k) {
      const hostname = { type: 'Hostname', address: 'h' };
      const at = await nodeWith(k, { addresses: [hostname] });
      const addresses = [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalIP', address: 'fd00::1' },
      ];
      const answer = await k.patch('strategic', at, { status: { addresses } });
      answered(answer, 200, { status: { addresses: [addresses[1], hostname] } });
    },
  },
  {
    id: 'D5a',
    says: 'where no list is stored it takes both addresses, and fails when repeated',
    async run(k) {
      const at = await nodeWith(k, {});
      const addresses = [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalIP', address: 'fd00::1' },
      ];
      answered(await k.patch('strategic', at, { status: { addresses } }), 200, { status: { addresses } });
      refused(await k.patch('strategic', at, { status: { addresses } }), 422, 'Invalid', {
        message: /Duplicate value/,
      });
    },
  },
  {
    id: 'D5b',
    says: 'of two stored addresses of one type a strategic merge patch replaces the first',
    async run(k) {
      const second = { type: 'InternalIP', address: 'fd00::1' };
      const at = await nodeWith(k, { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }, second] });
      const changed = { type: 'InternalIP', address: '10.0.0.9' };
      const answer = await k.patch('strategic', at, { status: { addresses: [changed] } });
      answered(answer, 200, { status: { addresses: [changed, second] } });
    },
  },
  {
    id: 'D5c',
    says: 'a list that begins with $patch: replace takes dual-stack addresses as they are',
    async run(k) {
      const at = await nodeWith(k, { addresses: [{ type: 'Hostname', address: 'h' }], conditions: [ready] });
      const addresses = [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalIP', address: 'fd00::1' },
      ];
      const replace = {
        status: { addresses: [{ $patch: 'replace' }, ...addresses], conditions: [{ type: 'X', status: 'True' }] },
      };
      answered(await k.patch('strategic', at, replace), 200, {
        status: { addresses, conditions: [{ type: 'X' }, ready] },
      });
      const merged = [...addresses, { type: 'InternalIP', address: '10.0.0.2' }];
      answered(await k.patch('merge', at, { status: { addresses: merged } }), 200, { status: { addresses: merged } });
    },
  },
  {
    id: 'D5d',
    says: 'a strategic merge patch puts entries of one type side by side, whatever order they were sent in',
    async run(k) {
      const at = await nodeWith(k, { addresses: [{ type: 'Hostname', address: 'h' }] });
      const [a, h, b] = [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: 'h' },
        { type: 'InternalIP', address: 'fd00::1' },
      ];
      const answer = await k.patch('strategic', at, { status: { addresses: [{ $patch: 'replace' }, a, h, b] } });
      answered(answer, 200, { status: { addresses: [a, b, h] } });
      const merged = await k.patch('merge', at, { status: { addresses: [a, h, b] } });
      answered(merged, 200, { status: { addresses: [a, h, b] } });
      const empty = await k.patch('strategic', at, { status: { addresses: [] } });
      answered(empty, 200, { status: { addresses: [a, b, h] } });
    },
  },
  {
    id: 'D6',
    says: 'a strategic merge patch replaces taints whole, null empties them',
    async run(k) {
      const { name } = (await k.node({ spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } })).metadata;
      const taints = [{ key: 'b', effect: 'NoSchedule' }];
      answered(await k.patch('strategic', `${nodes}/${name}`, { spec: { taints } }), 200, { spec: { taints } });
      const emptied = await k.patch('strategic', `${nodes}/${name}`, { spec: { taints: null } });
      answered(emptied, 200, { spec: { taints: absent } });
    },
  },
  {
    id: 'D7',
    says: 'a strategic merge patch unites finalizers, the new one in front, and deletes by $deleteFromPrimitiveList',
    async run(k) {
      const { name } = (await k.configMap({ metadata: { finalizers: ['c.example/a'] } })).metadata;
      const at = k.path('configmaps', name);
      const added = await k.patch('strategic', at, { metadata: { finalizers: ['c.example/b'] } });
      answered(added, 200, { metadata: { finalizers: ['c.example/b', 'c.example/a'] } });
      const taken = await k.patch('strategic', at, {
        metadata: { '$deleteFromPrimitiveList/finalizers': ['c.example/a'] },
      });
      answered(taken, 200, { metadata: { finalizers: ['c.example/b'] } });
    },
  },
  {
    id: 'D7b',
    says: 'a strategic merge patch unites podCIDRs',
    async run(k) {
      const { name } = (await k.node()).metadata;
      const answer = await k.patch('strategic', `${nodes}/${name}`, {
        spec: { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] },
      });
      answered(answer, 200, { spec: { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] } });
    },
  },
  {
    id: 'D8',
    says: 'a patch of an absent object is not found, whatever its kind',
    async run(k) {
      const name = k.name();
      const message = `nodes "${name}" not found`;
      for (const kind of ['merge', 'strategic'] as const) {
        refused(await k.patch(kind, `${nodes}/${name}`, {}), 404, 'NotFound', { message });
        refused(await k.patch(kind, `${nodes}/${name}/status`, {}), 404, 'NotFound', { message });
      }
      refused(await k.patch('json', `${nodes}/${name}`, []), 404, 'NotFound', { message });
    },
  },
  {
    id: 'D9',
    says: 'force and long field managers are refused on a merge patch',
    async run(k) {
      const { name } = (await k.node()).metadata;
      const patch = (query: Record<string, string>) => k.patch('merge', `${nodes}/${name}`, {}, { query });
      invalid(await patch({ force: 'true' }), 'force', 'FieldValueForbidden');
      invalid(await patch({ fieldManager: 'm'.repeat(129) }), 'fieldManager');
    },
  },
  {
    id: 'D15',
    says: 'a status patch may carry a resourceVersion, and its answer guards the next patch of the object',
    async run(k) {
      const node = await k.node({ spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } });
      const at = `${nodes}/${node.metadata.name}`;
      const { resourceVersion } = node.metadata;
      const first = await k.patch('strategic', `${at}/status`, {
        metadata: { resourceVersion },
        status: { conditions: [ready] },
      });
      answered(first, 200);
      const guarded = { metadata: { resourceVersion: first.object.metadata.resourceVersion }, spec: { taints: [] } };
      answered(await k.patch('merge', at, guarded), 200, { status: { conditions: [ready] } });
      refused(await k.patch('merge', at, { ...guarded, spec: { unschedulable: true } }), 409, 'Conflict');
    },
  },
];
