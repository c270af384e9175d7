import { CloudError } from '../../../common/cloud-error.ts';
import type { ApiRequest, JsonApi } from '../json-api.ts';
import { type Machines, readable, seenById } from '../machines.ts';
import { cloud } from './fault.ts';
import { idOf, nameOf, readInstance } from './instance-answer.ts';
import { everyPage } from './pages.ts';

const instancesPath = '/instances';
/** Well below what servers take as a request line. */
const maxQueryLength = 1500;
/** Up to so many names are searched for one by one; more are picked from one list of the region. */
const maxNameSearches = 3;

/** The instances of one region. An item that cannot be read hides no other one. */
export function createInstances(api: JsonApi, region: string): Machines {
  async function items(request: Omit<ApiRequest, 'path'>): Promise<readonly unknown[]> {
    const pages = await everyPage(api, { path: instancesPath, ...request });
    return pages.flatMap((page) => {
      const { items } = page.json();
      if (!Array.isArray(items)) throw page.wrong('items', 'a list');
      return items;
    });
  }

  return {
    holds: () => true,
    async all(ids, signal) {
      const operation = 'instances.lookup';
      const joined = ids.join(',');
      const isLong = joined.length > maxQueryLength;
      const request = isLong
        ? ({ method: 'POST', path: `${instancesPath}:lookup`, body: { ids } } as const)
        : { query: [['ids', joined]] as const };
      const seen = await seenById(
        await items({ operation, ...request, signal }),
        (item) => idOf(item) ?? '',
        (item) => readInstance(item, region, 'list', operation),
      );
      const withoutId = seen.get('');
      // It may be any of those that the answer leaves out, so nothing is concluded about them.
      return withoutId === undefined ? seen : new Map(ids.map((id) => [id, seen.get(id) ?? withoutId]));
    },
    async named(names, signal) {
      const isList = names.length > maxNameSearches;
      const operation = isList ? 'instances.list' : 'instances.find';
      const queries = isList ? [['limit', '1000'] as const] : names.map((name) => ['name', name] as const);
      const found = await Promise.all(queries.map((one) => items({ operation, query: [one], signal })));
      const asked = new Set<string | undefined>(names);
      const hits = found.flat().filter((item) => asked.has(nameOf(item)));
      return Promise.all(hits.map((item) => readable(() => readInstance(item, region, 'list', operation))));
    },
    async get(id, signal) {
      const operation = 'instances.get';
      // An empty answer is an object without an id, not an absence.
      const item = (await api.call({ operation, path: `${instancesPath}/${id}`, signal })).json();
      if (idOf(item) === id) return readInstance(item, region, 'id', operation);
      const message = `id: ${JSON.stringify(idOf(item))}, expected ${id}`;
      throw new CloudError({ kind: 'Invalid', cloud, operation, message });
    },
  };
}
