import { CloudError } from '../../../common/cloud-error.ts';
import { type Machines, readable, seenById } from '../machines.ts';
import type { SimulatedClient } from './client.ts';
import { cloud } from './fault.ts';
import { idOf, nameOf, readInstance } from './instance-answer.ts';

/** Up to so many names are searched for one by one; more are picked from one list of the region. */
const maxNameSearches = 3;

/** The instances of one region. An item that cannot be read hides no other one. */
export function createInstances(client: SimulatedClient, region: string): Machines {
  return {
    holds: () => true,
    async all(ids, signal) {
      const seen = await seenById(
        await client.lookup(ids, signal),
        (item) => idOf(item) ?? '',
        (item) => readInstance(item, region, 'list', 'instances.lookup'),
      );
      const withoutId = seen.get('');
      // It may be any of those that the answer leaves out, so nothing is concluded about them.
      return withoutId === undefined ? seen : new Map(ids.map((id) => [id, seen.get(id) ?? withoutId]));
    },
    async named(names, signal) {
      const isList = names.length > maxNameSearches;
      const items = isList
        ? await client.list(signal)
        : (await Promise.all(names.map((name) => client.named(name, signal)))).flat();
      const operation = isList ? 'instances.list' : 'instances.find';
      const asked = new Set<string | undefined>(names);
      const hits = items.filter((item) => asked.has(nameOf(item)));
      return Promise.all(hits.map((item) => readable(() => readInstance(item, region, 'list', operation))));
    },
    async get(id, signal) {
      const operation = 'instances.get';
      const item = await client.get(id, signal);
      if (idOf(item) === id) return readInstance(item, region, 'id', operation);
      const message = `id: ${JSON.stringify(idOf(item))}, expected ${id}`;
      throw new CloudError({ kind: 'Invalid', cloud, operation, message });
    },
  };
}
