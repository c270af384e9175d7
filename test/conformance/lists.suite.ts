import { answered, type Fact, invalid, type Kit, refused } from './kit.ts';
import { absent, like } from './like.ts';

const nodes = '/api/v1/nodes';

type Listed = { metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number } };

/** `count` ConfigMaps under one label of their own, names in order. */
async function some(k: Kit, count: number): Promise<{ labelSelector: string; names: string[] }> {
  const group = k.name('g');
  const names: string[] = [];
  for (let i = 0; i < count; i++) names.push((await k.configMap({ metadata: { labels: { group } } })).metadata.name);
  return { labelSelector: `group=${group}`, names: names.sort() };
}

/** A namespace of its own, for facts about all of a collection. */
async function ownNamespace(k: Kit, count: number): Promise<string> {
  const name = k.name('ns');
  answered(await k.post('/api/v1/namespaces', { metadata: { name } }), 201);
  k.later(() => k.delete(`/api/v1/namespaces/${name}`));
  const at = `/api/v1/namespaces/${name}/configmaps`;
  for (let i = 0; i < count; i++) answered(await k.post(at, { metadata: { name: `c${i}` } }), 201);
  k.later(() => k.delete(at));
  return at;
}

export const lists: Fact[] = [
  {
    id: 'H1',
    says: 'a list carries the resourceVersion of the server, is sorted by name, and its items have no kind',
    async run(k) {
      const { labelSelector, names } = await some(k, 3);
      const later = await k.node();
      const list = await k.get(k.path('configmaps'), { query: { labelSelector } });
      answered(list, 200, { kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion: /^\d+$/ } });
      like(
        list.items,
        names.map((name) => ({ metadata: { name }, kind: absent, apiVersion: absent })),
      );
      const seen = BigInt((list.body as Listed).metadata.resourceVersion);
      like(seen >= BigInt(later.metadata.resourceVersion), true, `${seen} >= ${later.metadata.resourceVersion}`);
    },
  },
  {
    id: 'H1b',
    says: 'label selectors: equal, unequal, set, exists, not exists',
    async run(k) {
      const group = k.name('g');
      const make = async (labels: Record<string, string>) =>
        (await k.configMap({ metadata: { labels: { group, ...labels } } })).metadata.name;
      const [a, b, c] = [await make({ x: '1' }), await make({ x: '2' }), await make({ y: '1' })];
      for (const [selector, expected] of [
        ['x=1', [a]],
        ['x==1', [a]],
        ['x!=1', [b, c]],
        ['x in (1,2)', [a, b]],
        ['x notin (1)', [b, c]],
        ['x', [a, b]],
        ['!x', [c]],
      ] as const) {
        const list = await k.get(k.path('configmaps'), { query: { labelSelector: `group=${group},${selector}` } });
        like(list.items.map((item) => item.metadata.name).sort(), [...expected].sort(), selector);
      }
    },
  },
  {
    id: 'H2',
    says: 'pages show the snapshot of the first one and say how many remain',
    async run(k) {
      const at = await ownNamespace(k, 5);
      const first = await k.get(at, { query: { limit: 2 } });
      answered(first, 200, { metadata: { continue: /./, remainingItemCount: 3 }, items: [{}, {}] });
      const { resourceVersion } = (first.body as Listed).metadata;
      answered(await k.post(at, { metadata: { name: 'c9' } }), 201);
      answered(await k.delete(`${at}/c3`), 200);
      const names = first.items.map((item) => item.metadata.name);
      let token = (first.body as Listed).metadata.continue;
      for (let page = 0; token && page < 9; page++) {
        const next = await k.get(at, { query: { limit: 2, continue: token } });
        answered(next, 200, { metadata: { resourceVersion } });
        names.push(...next.items.map((item) => item.metadata.name));
        token = (next.body as Listed).metadata.continue;
      }
      like(names, ['c0', 'c1', 'c2', 'c3', 'c4']);
    },
  },
  {
    id: 'H2b',
    says: 'with a selector the number of the remaining is not told, and only matching ones come',
    async run(k) {
      const { labelSelector, names } = await some(k, 3);
      const first = await k.get(k.path('configmaps'), { query: { labelSelector, limit: 2 } });
      answered(first, 200, { metadata: { continue: /./, remainingItemCount: absent } });
      const token = (first.body as Listed).metadata.continue ?? '';
      const second = await k.get(k.path('configmaps'), { query: { labelSelector, limit: 2, continue: token } });
      answered(second, 200, { metadata: { continue: (value: unknown) => value === undefined || value === '' } });
      like(
        [...first.items, ...second.items].map((item) => item.metadata.name),
        names,
      );
    },
  },
  {
    id: 'H3',
    says: 'a continue token stands alone and must be readable',
    async run(k) {
      const first = await k.get(await ownNamespace(k, 2), { query: { limit: 1 } });
      const { resourceVersion, continue: token = '' } = (first.body as Listed).metadata;
      const query = { limit: 1, continue: token, resourceVersion };
      refused(await k.get(nodes, { query }), 400, 'BadRequest', {
        message: /specifying resource version is not allowed when using continue/,
      });
      refused(await k.get(nodes, { query: { limit: 1, continue: 'xx' } }), 400, 'BadRequest', {
        message: /continue/,
      });
    },
  },
  {
    id: 'H4',
    says: 'an expired continue token says so and gives one that goes on inconsistently',
    alone: true,
    async run(k) {
      if (!k.api.expireHistory) throw new Error('this server has no expireHistory');
      const at = await ownNamespace(k, 4);
      const first = await k.get(at, { query: { limit: 2 } });
      answered(await k.post(at, { metadata: { name: 'c9' } }), 201);
      await k.api.expireHistory();
      const token = (first.body as Listed).metadata.continue ?? '';
      const answer = await k.get(at, { query: { limit: 2, continue: token } });
      refused(answer, 410, 'Expired', {
        message: /^The provided continue parameter is too old to display a consistent list result\./,
        metadata: { continue: /./ },
      });
      const onward = (answer.body as Listed).metadata.continue ?? '';
      const rest = await k.get(at, { query: { limit: 9, continue: onward } });
      like(
        rest.items.map((item) => item.metadata.name),
        ['c2', 'c3', 'c9'],
      );
    },
  },
  {
    id: 'H5',
    says: 'resourceVersion 0 ignores the limit',
    async run(k) {
      const at = await ownNamespace(k, 3);
      const all = async () => (await k.get(at, { query: { limit: 1, resourceVersion: 0 } })).items.length;
      // Such a list comes from a cache that may lag behind.
      for (let i = 0; i < 50 && (await all()) < 3; i++) await new Promise((wake) => setTimeout(wake, 20));
      like(await all(), 3);
    },
  },
  {
    id: 'H6',
    says: 'NotOlderThan is at least as new, Exact is the list at that very moment',
    async run(k) {
      const at = await ownNamespace(k, 2);
      const then = ((await k.get(at)).body as Listed).metadata.resourceVersion;
      const added = await k.post(at, { metadata: { name: 'c9' } });
      const { resourceVersion } = added.object.metadata;
      const names = async (query: Record<string, string>) =>
        (await k.get(at, { query })).items.map((item) => item.metadata.name);
      like(await names({ resourceVersion, resourceVersionMatch: 'NotOlderThan' }), ['c0', 'c1', 'c9']);
      like(await names({ resourceVersion: then, resourceVersionMatch: 'Exact' }), ['c0', 'c1']);
      like(await names({ resourceVersion: then, limit: '9' }), ['c0', 'c1']);
    },
  },
  {
    id: 'H6b',
    says: 'an exact list of a forgotten moment is expired',
    alone: true,
    async run(k) {
      if (!k.api.expireHistory) throw new Error('this server has no expireHistory');
      const { resourceVersion } = (await k.configMap()).metadata;
      await k.configMap();
      await k.api.expireHistory();
      const query = { resourceVersion, resourceVersionMatch: 'Exact' };
      refused(await k.get(k.path('configmaps'), { query }), 410, 'Expired', {
        message: /The resourceVersion for the provided list is too old\./,
      });
    },
  },
  {
    id: 'H7',
    says: 'a resourceVersion from the future times out after three seconds and says what is current',
    async run(k) {
      const answer = await k.get(nodes, {
        query: { resourceVersion: 999_999_999, resourceVersionMatch: 'NotOlderThan' },
      });
      refused(answer, 504, 'Timeout', {
        message: /^Timeout: Too large resource version: 999999999, current: \d+$/,
        details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
      });
      like(answer.headers['retry-after'], '1');
    },
  },
  {
    id: 'H8',
    says: 'bad list options are refused, a negative limit is not',
    async run(k) {
      const list = (query: Record<string, string>) => k.get(nodes, { query });
      const match = await list({ resourceVersionMatch: 'Exact' });
      invalid(match, 'resourceVersionMatch', 'FieldValueForbidden');
      refused(match, 422, 'Invalid', { details: { kind: 'ListOptions' } });
      like((await list({ resourceVersion: 'abc', resourceVersionMatch: 'Exact' })).status, 400);
      refused(await list({ labelSelector: 'a b' }), 400, 'BadRequest', { message: /unable to parse requirement/ });
      like((await list({ limit: 'abc' })).status, 400);
      like((await list({ limit: '-1' })).status, 200);
    },
  },
  {
    id: 'H9',
    says: 'an object read by name gives what a list gives, and kind besides',
    async run(k) {
      const made = await k.configMap({ data: { a: '1' } });
      const { name } = made.metadata;
      answered(await k.get(k.path('configmaps', name)), 200, {
        kind: 'ConfigMap',
        data: { a: '1' },
        metadata: made.metadata,
      });
      refused(await k.get(k.path('configmaps', 'none')), 404, 'NotFound', {
        details: { name: 'none', kind: 'configmaps' },
      });
    },
  },
  {
    id: 'H10',
    says: 'Pods are listed by node name and phase',
    async run(k) {
      const on = k.name('host');
      const pod = async (nodeName: string | undefined) => {
        const name = k.name('p');
        const spec = { containers: [{ name: 'c', image: 'i' }], ...(nodeName ? { nodeName } : {}) };
        answered(
          await k.post(k.path('pods'), { metadata: { name }, spec: { ...spec, serviceAccountName: 'default' } }),
          201,
        );
        k.later(() => k.delete(k.path('pods', name), undefined, { query: { gracePeriodSeconds: 0 } }));
        return name;
      };
      const account = await k.post(k.path('serviceaccounts'), { metadata: { name: 'default' } });
      like([201, 409].includes(account.status), true, account.text);
      const mine = await pod(on);
      const done = await pod(on);
      await pod(undefined);
      answered(await k.patch('merge', `${k.path('pods', done)}/status`, { status: { phase: 'Succeeded' } }), 200);
      const list = async (fieldSelector: string) =>
        (await k.get('/api/v1/pods', { query: { fieldSelector } })).items.map((item) => item.metadata.name);
      like(await list(`spec.nodeName=${on}`), [mine, done].sort());
      like(await list(`spec.nodeName=${on},status.phase!=Succeeded`), [mine]);
    },
  },
];
