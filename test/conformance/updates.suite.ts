import { answered, type Fact, refused } from './kit.ts';
import { like } from './like.ts';

const nodes = '/api/v1/nodes';
const modified = 'the object has been modified; please apply your changes to the latest version and try again';

/** PUT and optimistic locking. */
export const updates: Fact[] = [
  {
    id: 'C1',
    says: 'an update with an old resourceVersion is a conflict',
    async run(k) {
      const node = await k.node();
      const { name } = node.metadata;
      answered(await k.patch('merge', `${nodes}/${name}`, { metadata: { labels: { a: '1' } } }), 200);
      refused(await k.put(`${nodes}/${name}`, node), 409, 'Conflict', {
        message: `Operation cannot be fulfilled on nodes "${name}": ${modified}`,
        details: { name, kind: 'nodes' },
      });
      const lease = await k.lease();
      const at = k.path('leases', lease.metadata.name);
      answered(await k.patch('merge', at, { spec: { holderIdentity: 'a' } }), 200);
      refused(await k.put(at, lease), 409, 'Conflict', {
        message: `Operation cannot be fulfilled on leases.coordination.k8s.io "${lease.metadata.name}": ${modified}`,
        details: { name: lease.metadata.name, group: 'coordination.k8s.io', kind: 'leases' },
      });
    },
  },
  {
    id: 'C1b',
    says: 'an old resourceVersion is a conflict on the status subresource too',
    async run(k) {
      const node = await k.node();
      const at = `${nodes}/${node.metadata.name}`;
      answered(await k.patch('merge', at, { metadata: { labels: { a: '1' } } }), 200);
      refused(await k.put(`${at}/status`, node), 409, 'Conflict');
      const { resourceVersion } = node.metadata;
      refused(await k.patch('strategic', `${at}/status`, { metadata: { resourceVersion } }), 409, 'Conflict');
    },
  },
  {
    id: 'C2',
    says: 'an update without resourceVersion overwrites everything but the status',
    async run(k) {
      const node = await k.node({
        metadata: { labels: { a: '1' } },
        spec: { unschedulable: true },
        status: { addresses: [{ type: 'Hostname', address: 'h' }] },
      });
      const { name } = node.metadata;
      const answer = await k.put(`${nodes}/${name}`, { metadata: { name, labels: { b: '2' } } });
      answered(answer, 200, { status: { addresses: [{ type: 'Hostname', address: 'h' }] } });
      like(answer.object.metadata.labels, (labels: object) => Object.keys(labels).join() === 'b');
      like(answer.object.spec?.['taints'] ?? [], []);
      like(answer.object.spec?.['unschedulable'] ?? false, false);
    },
  },
  {
    id: 'C3',
    says: 'an update or patch that changes nothing keeps the resourceVersion and makes no event',
    async run(k) {
      const node = await k.node({ metadata: { labels: { a: '1' } } });
      const { name, resourceVersion } = node.metadata;
      const fieldSelector = `metadata.name=${name}`;
      const watch = await k.watch(nodes, { fieldSelector, resourceVersion });
      const same = { metadata: { resourceVersion } };
      answered(await k.put(`${nodes}/${name}`, node), 200, same);
      answered(await k.put(`${nodes}/${name}/status`, node), 200, same);
      answered(await k.patch('merge', `${nodes}/${name}`, { metadata: { labels: { a: '1' } } }), 200, same);
      answered(await k.patch('strategic', `${nodes}/${name}/status`, { status: { conditions: [] } }), 200, same);
      answered(await k.patch('json', `${nodes}/${name}`, []), 200, same);
      answered(await k.patch('merge', `${nodes}/${name}`, { metadata: { labels: { last: 'x' } } }), 200);
      like(await watch.next(), { type: 'MODIFIED', object: { metadata: { labels: { last: 'x' } } } });
    },
  },
  {
    id: 'C4',
    says: 'an update of an absent Node or ConfigMap is not found',
    async run(k) {
      const name = k.name();
      refused(await k.put(`${nodes}/${name}`, { metadata: { name } }), 404, 'NotFound', {
        message: `nodes "${name}" not found`,
        details: { name, kind: 'nodes' },
      });
      refused(await k.put(`${nodes}/${name}`, { metadata: { name, resourceVersion: '5' } }), 404, 'NotFound');
      refused(await k.put(k.path('configmaps', name), { metadata: { name } }), 404, 'NotFound');
    },
  },
  {
    id: 'C4b',
    says: 'an update of an absent Lease or Service creates it; a patch does not',
    async run(k) {
      const name = k.name();
      const at = { lease: k.path('leases', name), service: k.path('services', name) };
      for (const path of Object.values(at)) {
        refused(await k.patch('merge', path, { metadata: { labels: { a: '1' } } }), 404, 'NotFound');
        k.later(() => k.delete(path));
      }
      answered(await k.put(at.lease, { metadata: { name, resourceVersion: '5' }, spec: {} }), 201);
      answered(await k.put(at.service, { metadata: { name }, spec: { ports: [{ port: 80 }] } }), 201);
    },
  },
  {
    id: 'C5',
    says: 'another name in the body is a bad request',
    async run(k) {
      const { name } = (await k.node()).metadata;
      const message = `the name of the object (other) does not match the name on the URL (${name})`;
      refused(await k.put(`${nodes}/${name}`, { metadata: { name: 'other' } }), 400, 'BadRequest', { message });
      refused(await k.patch('merge', `${nodes}/${name}`, { metadata: { name: 'other' } }), 400, 'BadRequest', {
        message,
      });
    },
  },
  {
    id: 'C6',
    says: 'a foreign uid is a conflict in an update and immutable in a patch',
    async run(k) {
      const { name, uid } = (await k.node()).metadata;
      const foreign = { metadata: { name, uid: 'nope' } };
      refused(await k.put(`${nodes}/${name}`, foreign), 409, 'Conflict', {
        message: new RegExp(`Precondition failed: UID in precondition: nope, UID in object meta: ${uid}$`),
      });
      refused(await k.patch('merge', `${nodes}/${name}`, foreign), 422, 'Invalid', {
        message: /metadata\.uid: Invalid value: "nope": field is immutable/,
      });
    },
  },
  {
    id: 'C7',
    says: 'a resourceVersion in a patch is checked',
    async run(k) {
      const { name, resourceVersion } = (await k.node()).metadata;
      const at = `${nodes}/${name}`;
      const guarded = (value: string) => ({ metadata: { resourceVersion, labels: { a: value } } });
      answered(await k.patch('merge', at, guarded('1')), 200);
      for (const kind of ['merge', 'strategic'] as const) {
        refused(await k.patch(kind, at, guarded('2')), 409, 'Conflict', {
          message: `Operation cannot be fulfilled on nodes "${name}": ${modified}`,
          details: { name, kind: 'nodes' },
        });
      }
      answered(await k.get(at), 200, { metadata: { labels: { a: '1' } } });
    },
  },
  {
    id: 'C8',
    says: 'one counter serves all resources, and a list right after a write is not older than it',
    async run(k) {
      for (let i = 0; i < 5; i++) {
        const lease = BigInt((await k.lease()).metadata.resourceVersion);
        const list = await k.get(nodes, { query: { limit: 1 } });
        const seen = BigInt((list.body as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
        like(seen >= lease, true, `${seen} >= ${lease}`);
        const node = BigInt((await k.node()).metadata.resourceVersion);
        like(node > lease, true, `${node} > ${lease}`);
      }
    },
  },
];
