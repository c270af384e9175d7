import { answered, type Fact, type Kit, refused } from './kit.ts';
import { absent, like } from './like.ts';

const nodes = '/api/v1/nodes';
const initialEnd = { 'k8s.io/initial-events-end': 'true' };

/** Two labelled ConfigMaps and what selects them; the second one's resourceVersion is the newest. */
async function two(k: Kit) {
  const group = k.name('g');
  const metadata = { labels: { group } };
  const [a, b] = [await k.configMap({ metadata }), await k.configMap({ metadata })];
  return { a, b, group, labelSelector: `group=${group}`, at: k.path('configmaps') };
}

/** Waits until the server's cache, from which such watches are served, knows the newest write. */
async function cached(k: Kit, at: string, labelSelector: string, count: number): Promise<void> {
  for (let i = 0; i < 50; i++) {
    if ((await k.get(at, { query: { labelSelector, resourceVersion: 0 } })).items.length >= count) return;
    await new Promise((wake) => setTimeout(wake, 20));
  }
}

export const watches: Fact[] = [
  {
    id: 'I1',
    says: 'a watch is chunked lines of typed objects that carry their kind; limit means nothing',
    async run(k) {
      const { a, b, labelSelector, at } = await two(k);
      for (const watch of ['1', 'true', 'yes']) {
        const stream = await k.watch(at, { watch, labelSelector, limit: 1 });
        like(stream.headers, { 'content-type': /^application\/json/, 'transfer-encoding': 'chunked' });
        like(await stream.take(2), [
          { type: 'ADDED', object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: a.metadata.name } } },
          { type: 'ADDED', object: { metadata: { name: b.metadata.name } } },
        ]);
        stream.close();
      }
      for (const watch of ['0', 'false']) {
        answered(await k.get(at, { query: { watch, labelSelector } }), 200, { kind: 'ConfigMapList' });
      }
    },
  },
  {
    id: 'I1b',
    says: 'the head of a watch comes before any event',
    async run(k) {
      const { resourceVersion } = (await k.configMap()).metadata;
      const watch = await k.watch(k.path('configmaps'), { resourceVersion, labelSelector: `group=${k.name()}` });
      like(watch.status, 200);
    },
  },
  {
    id: 'I2',
    says: 'from a resourceVersion on, what came after it is replayed as it was',
    async run(k) {
      const { a, labelSelector, at } = await two(k);
      const { name, resourceVersion } = a.metadata;
      for (const value of ['1', '2']) answered(await k.patch('merge', `${at}/${name}`, { data: { value } }), 200);
      answered(await k.delete(`${at}/${name}`), 200);
      const watch = await k.watch(at, { resourceVersion, labelSelector: `${labelSelector}` });
      like(await watch.take(4), [
        { type: 'ADDED' },
        { type: 'MODIFIED', object: { metadata: { name }, data: { value: '1' } } },
        { type: 'MODIFIED', object: { metadata: { name }, data: { value: '2' } } },
        { type: 'DELETED', object: { metadata: { name }, data: { value: '2' } } },
      ]);
    },
  },
  {
    id: 'I3',
    says: 'without a resourceVersion, or from 0, every object comes first as ADDED, by name, then what happens',
    async run(k) {
      const { a, b, labelSelector, at } = await two(k);
      await cached(k, at, labelSelector, 2);
      for (const query of [{}, { resourceVersion: 0 }]) {
        const watch = await k.watch(at, { ...query, labelSelector });
        const names = [a.metadata, b.metadata].sort((x, y) => (x.name < y.name ? -1 : 1));
        like(
          await watch.take(2),
          names.map(({ name }) => ({ type: 'ADDED', object: { metadata: { name } } })),
        );
        const changed = await k.patch('merge', `${at}/${a.metadata.name}`, { data: { at: k.name() } });
        const { resourceVersion } = changed.object.metadata;
        like(await watch.next(), { type: 'MODIFIED', object: { metadata: { resourceVersion } } });
      }
    },
  },
  {
    id: 'I4',
    says: 'timeoutSeconds ends a watch cleanly, without a word',
    async run(k) {
      const started = performance.now();
      const watch = await k.watch(k.path('configmaps'), { timeoutSeconds: 1, labelSelector: `group=${k.name()}` });
      like(await watch.rest(), []);
      like(performance.now() - started > 900, true, 'not before its time');
      like((await k.get(nodes, { query: { watch: 1, timeoutSeconds: 'abc' } })).status, 400);
    },
  },
  {
    id: 'I5',
    says: 'a resourceVersion that is too old gives one ERROR event of 410 Expired, and the end',
    alone: true,
    async run(k) {
      if (!k.api.expireHistory) throw new Error('this server has no expireHistory');
      const { resourceVersion } = (await k.configMap()).metadata;
      await k.configMap();
      await k.api.expireHistory();
      const watch = await k.watch(k.path('configmaps'), { resourceVersion });
      like(await watch.rest(), [
        {
          type: 'ERROR',
          object: {
            kind: 'Status',
            status: 'Failure',
            message: /^too old resource version: \d+ \(\d+\)$/,
            reason: 'Expired',
            code: 410,
          },
        },
      ]);
    },
  },
  {
    id: 'I5b',
    says: 'from the newest resourceVersion a watch goes on after history was forgotten',
    alone: true,
    async run(k) {
      if (!k.api.expireHistory) throw new Error('this server has no expireHistory');
      await k.configMap();
      await k.api.expireHistory();
      const list = await k.get(k.path('configmaps'));
      const { resourceVersion } = (list.body as { metadata: { resourceVersion: string } }).metadata;
      const watch = await k.watch(k.path('configmaps'), { resourceVersion });
      const { name } = (await k.configMap()).metadata;
      like(await watch.next(), { type: 'ADDED', object: { metadata: { name } } });
    },
  },
  {
    id: 'I6',
    says: 'a resourceVersion that is no number is an error of the server',
    async run(k) {
      const answer = await k.get(nodes, { query: { watch: 1, resourceVersion: 'abc' } });
      like(answer.status, 500, answer.text);
      like(answer.body, { kind: 'Status', message: /resourceVersion: Invalid value: "abc"/ });
    },
  },
  {
    id: 'I7',
    says: 'a resourceVersion from the future gives silence until the timeout',
    async run(k) {
      const watch = await k.watch(k.path('configmaps'), { resourceVersion: 999_999_999, timeoutSeconds: 1 });
      await k.configMap();
      like(await watch.rest(), []);
    },
  },
  {
    id: 'I8',
    says: 'DELETED shows the last state with the resourceVersion of the deletion',
    async run(k) {
      const made = await k.configMap({ data: { a: '1' } });
      const { name, resourceVersion } = made.metadata;
      const watch = await k.watch(k.path('configmaps'), { fieldSelector: `metadata.name=${name}`, resourceVersion });
      answered(await k.delete(k.path('configmaps', name)), 200);
      const event = await watch.next();
      like(event, { type: 'DELETED', object: { data: { a: '1' }, metadata: { uid: made.metadata.uid } } });
      like(BigInt(event?.object.metadata.resourceVersion ?? 0) > BigInt(resourceVersion), true);
    },
  },
  {
    id: 'I9',
    says: 'an object that starts to match is ADDED, one that stops is DELETED as it was before',
    async run(k) {
      const group = k.name('g');
      const made = await k.configMap();
      const { name, resourceVersion } = made.metadata;
      const watch = await k.watch(k.path('configmaps'), { labelSelector: `group=${group}`, resourceVersion });
      const label = (value: string | null) =>
        k.patch('merge', k.path('configmaps', name), { metadata: { labels: { group: value } } });
      answered(await label(group), 200);
      const stopped = await label(null);
      const [added, deleted] = await watch.take(2);
      like(added, { type: 'ADDED', object: { metadata: { name, labels: { group } } } });
      const { resourceVersion: last } = stopped.object.metadata;
      like(deleted, { type: 'DELETED', object: { metadata: { name, labels: { group }, resourceVersion: last } } });
    },
  },
  {
    id: 'I9b',
    says: 'a field selector is followed in the same way',
    async run(k) {
      const { name, resourceVersion } = (await k.node()).metadata;
      const fieldSelector = `metadata.name=${name},spec.unschedulable=true`;
      const watch = await k.watch(nodes, { fieldSelector, resourceVersion });
      for (const unschedulable of [true, null]) {
        answered(await k.patch('merge', `${nodes}/${name}`, { spec: { unschedulable } }), 200);
      }
      like(await watch.take(2), [{ type: 'ADDED' }, { type: 'DELETED', object: { spec: { unschedulable: true } } }]);
    },
  },
  {
    id: 'I10',
    says: 'a quiet watch gets a bookmark about once a minute, moved by writes to other resources',
    alone: true,
    async run(k) {
      const { resourceVersion } = (await k.configMap()).metadata;
      const labelSelector = `group=${k.name()}`;
      const watch = await k.watch(k.path('configmaps'), { allowWatchBookmarks: true, resourceVersion, labelSelector });
      const other = await k.node();
      // A real server's cache learns of writes elsewhere when someone reads this resource; without news, no bookmark.
      answered(await k.get(k.path('configmaps')), 200);
      // A real server takes its minute; the first bookmark may come a little after it.
      k.api.passTime?.(80_000);
      const event = await watch.next(k.api.passTime ? 5_000 : 80_000);
      like(event, { type: 'BOOKMARK', object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: absent } } });
      const seen = BigInt(event?.object.metadata.resourceVersion ?? 0);
      like(seen >= BigInt(other.metadata.resourceVersion), true, `${seen} >= ${other.metadata.resourceVersion}`);
    },
  },
  {
    id: 'I11',
    says: 'a streamed list is ADDED for all, a bookmark that ends it, then what happens',
    async run(k) {
      const { labelSelector, at } = await two(k);
      const stream = { sendInitialEvents: true, allowWatchBookmarks: true, resourceVersionMatch: 'NotOlderThan' };
      for (const query of [{}, { resourceVersion: 0 }]) {
        await cached(k, at, labelSelector, 2);
        const watch = await k.watch(at, { ...stream, ...query, labelSelector });
        like(await watch.take(3), [
          { type: 'ADDED' },
          { type: 'ADDED' },
          {
            type: 'BOOKMARK',
            object: { kind: 'ConfigMap', metadata: { annotations: initialEnd, resourceVersion: /^\d+$/ } },
          },
        ]);
        const later = await k.configMap({ metadata: { labels: { group: k.name() } } });
        answered(await k.delete(`${at}/${later.metadata.name}`), 200);
        watch.close();
      }
    },
  },
  {
    id: 'I12',
    says: 'a streamed list must say NotOlderThan',
    async run(k) {
      const answer = await k.get(nodes, { query: { watch: 1, sendInitialEvents: true, allowWatchBookmarks: true } });
      refused(answer, 422, 'Invalid', {
        message: /sendInitialEvents requires setting resourceVersionMatch to NotOlderThan/,
        details: { kind: 'ListOptions' },
      });
    },
  },
  {
    id: 'I14',
    says: 'after a restart the objects and resourceVersions are the same, and a watch goes on from before',
    alone: true,
    async run(k) {
      if (!k.api.restart) return;
      const { name, resourceVersion, uid } = (await k.configMap()).metadata;
      await k.api.restart();
      answered(await k.get(k.path('configmaps', name)), 200, { metadata: { uid, resourceVersion } });
      const watch = await k.watch(k.path('configmaps'), { fieldSelector: `metadata.name=${name}`, resourceVersion });
      answered(await k.patch('merge', k.path('configmaps', name), { data: { a: '1' } }), 200);
      like(await watch.next(), { type: 'MODIFIED', object: { data: { a: '1' } } });
    },
  },
];
