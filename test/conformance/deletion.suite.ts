import { answered, type Fact, invalid, refused } from './kit.ts';
import { absent, like } from './like.ts';

const nodes = '/api/v1/nodes';

/** Deletion, preconditions, finalizers. */
export const deletion: Fact[] = [
  {
    id: 'G1',
    says: 'a finalizer holds a deleted object, marked, with one MODIFIED event; deleting again changes nothing',
    async run(k) {
      const { name, resourceVersion } = (await k.configMap({ metadata: { finalizers: ['c.example/a'] } })).metadata;
      const at = k.path('configmaps', name);
      const watch = await k.watch(k.path('configmaps'), { fieldSelector: `metadata.name=${name}`, resourceVersion });
      const first = await k.delete(at);
      answered(first, 200, {
        kind: 'ConfigMap',
        metadata: { deletionTimestamp: /Z$/, deletionGracePeriodSeconds: 0, finalizers: ['c.example/a'] },
      });
      const second = await k.delete(at);
      answered(second, 200, { metadata: { resourceVersion: first.object.metadata.resourceVersion } });
      answered(await k.patch('merge', at, { data: { last: 'x' } }), 200);
      const [deleting, last] = await watch.take(2);
      like(deleting, { type: 'MODIFIED', object: { metadata: { deletionTimestamp: /Z$/ }, data: absent } });
      like(last, { type: 'MODIFIED', object: { data: { last: 'x' } } });
    },
  },
  {
    id: 'G2',
    says: 'a deleted object takes no new finalizer, other changes it does, and it cannot be brought back',
    async run(k) {
      const { name } = (await k.node({ metadata: { finalizers: ['c.example/a'] } })).metadata;
      const at = `${nodes}/${name}`;
      answered(await k.delete(at), 200);
      const added = await k.patch('merge', at, { metadata: { finalizers: ['c.example/a', 'c.example/z'] } });
      invalid(
        added,
        'metadata.finalizers',
        'FieldValueForbidden',
        /no new finalizers can be added if the object is being deleted/,
      );
      answered(await k.patch('merge', at, { metadata: { labels: { a: '1' } } }), 200);
      const status = { conditions: [{ type: 'Ready', status: 'False' }] };
      answered(await k.patch('strategic', `${at}/status`, { status }), 200, { status });
      const back = await k.patch('merge', at, { metadata: { deletionTimestamp: null } });
      answered(back, 200, { metadata: { deletionTimestamp: /Z$/ } });
    },
  },
  {
    id: 'G3',
    says: 'taking the last finalizer off a deleted object removes it with one DELETED event that still shows it',
    async run(k) {
      for (const way of ['patch', 'put'] as const) {
        const made = await k.configMap({ metadata: { finalizers: ['c.example/a'] } });
        const { name } = made.metadata;
        const at = k.path('configmaps', name);
        const deleted = (await k.delete(at)).object;
        const { resourceVersion } = deleted.metadata;
        const watch = await k.watch(k.path('configmaps'), { fieldSelector: `metadata.name=${name}`, resourceVersion });
        const answer =
          way === 'patch'
            ? await k.patch('merge', at, { metadata: { finalizers: null } })
            : await k.put(at, { ...deleted, metadata: { ...deleted.metadata, finalizers: [] } });
        answered(answer, 200, { metadata: { name, resourceVersion, finalizers: absent } });
        answered(await k.get(at), 404);
        const event = await watch.next();
        like(event, { type: 'DELETED', object: { metadata: { finalizers: ['c.example/a'] } } }, way);
        like(BigInt(event?.object.metadata.resourceVersion ?? 0) > BigInt(resourceVersion), true, way);
      }
    },
  },
  {
    id: 'G3b',
    says: 'the finalizer of a Service is taken off in the same way',
    async run(k) {
      const finalizers = ['service.kubernetes.io/load-balancer-cleanup'];
      const { name } = (await k.service({ metadata: { finalizers } })).metadata;
      const at = k.path('services', name);
      answered(await k.delete(at), 200, { kind: 'Service', metadata: { deletionTimestamp: /Z$/, finalizers } });
      answered(await k.patch('merge', at, { metadata: { finalizers: [] } }), 200);
      answered(await k.get(at), 404);
    },
  },
  {
    id: 'G4',
    says: 'a finalizer is a qualified name',
    async run(k) {
      const { name } = (await k.configMap()).metadata;
      const answer = await k.patch('merge', k.path('configmaps', name), { metadata: { finalizers: ['plain'] } });
      refused(answer, 422, 'Invalid', {
        message: /name is neither a standard finalizer name nor is it fully qualified/,
      });
    },
  },
  {
    id: 'G5',
    says: 'an absent object cannot be deleted',
    async run(k) {
      const name = k.name();
      refused(await k.delete(`${nodes}/${name}`), 404, 'NotFound', { details: { name, kind: 'nodes' } });
    },
  },
  {
    id: 'G6',
    says: 'a precondition on uid or resourceVersion that differs is a conflict and deletes nothing',
    async run(k) {
      const { name, uid, resourceVersion } = (await k.node()).metadata;
      const at = `${nodes}/${name}`;
      const on = (preconditions: object) => k.delete(at, { kind: 'DeleteOptions', apiVersion: 'v1', preconditions });
      refused(await on({ uid: 'x' }), 409, 'Conflict', {
        message:
          `Operation cannot be fulfilled on Node "${name}": the UID in the precondition (x) does not match the ` +
          `UID in record (${uid}). The object might have been deleted and then recreated`,
        details: { name, kind: 'Node' },
      });
      refused(await on({ uid, resourceVersion: '1' }), 409, 'Conflict', {
        message: /the ResourceVersion in the precondition \(1\) does not match/,
      });
      answered(await k.get(at), 200);
      answered(await on({ uid, resourceVersion }), 200, { status: 'Success' });
    },
  },
  {
    id: 'G7',
    says: 'a foreground deletion waits for a garbage collector',
    realOnly: 'propagation policies',
    async run(k) {
      const { name } = (await k.configMap()).metadata;
      const at = k.path('configmaps', name);
      const query = { propagationPolicy: 'Foreground' };
      answered(await k.delete(at, undefined, { query }), 200, { metadata: { finalizers: ['foregroundDeletion'] } });
      answered(await k.patch('merge', at, { metadata: { finalizers: null } }), 200);
    },
  },
  {
    id: 'G7b',
    says: 'a background deletion, as kubectl asks for, deletes at once; an unknown policy is invalid',
    async run(k) {
      const { name } = (await k.configMap()).metadata;
      const at = k.path('configmaps', name);
      refused(await k.delete(at, { propagationPolicy: 'Sideways' }), 422, 'Invalid', {
        details: { kind: 'DeleteOptions' },
      });
      answered(await k.delete(at, { propagationPolicy: 'Background' }), 200, { status: 'Success' });
      answered(await k.get(at), 404);
    },
  },
  {
    id: 'G8',
    says: 'deleting a collection by selector answers with what was deleted, one event each',
    async run(k) {
      const labels = { group: k.name('g') };
      const labelSelector = `group=${labels.group}`;
      const names = [(await k.configMap({ metadata: { labels } })).metadata.name];
      const last = await k.configMap({ metadata: { labels } });
      names.push(last.metadata.name);
      const other = await k.configMap();
      const { resourceVersion } = last.metadata;
      const watch = await k.watch(k.path('configmaps'), { labelSelector, resourceVersion });
      const answer = await k.delete(k.path('configmaps'), undefined, { query: { labelSelector } });
      answered(answer, 200, { kind: 'ConfigMapList' });
      like(answer.items.map((item) => item.metadata.name).sort(), names.sort());
      like(await watch.take(2), [{ type: 'DELETED' }, { type: 'DELETED' }]);
      answered(await k.get(k.path('configmaps', other.metadata.name)), 200);
    },
  },
];
