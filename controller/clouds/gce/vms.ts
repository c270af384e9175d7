import { CloudError } from '../../../common/cloud-error.ts';
import type { AnswerFields } from '../answer-fields.ts';
import type { ApiRequest } from '../json-api.ts';
import { type Machines, type Seen, seenById } from '../machines.ts';
import type { GceClient } from './client.ts';
import { type GceConfig, namePattern } from './config.ts';
import { cloud, throwProved } from './fault.ts';
import { type InstanceView, idOf, instanceFields, isNamed, readInstance } from './instance.ts';

/** VMs by our ids, and the zones whose VMs are missing. */
interface Read {
  readonly seen: ReadonlyMap<string, Seen>;
  readonly unreachable: ReadonlySet<string>;
}

/** Up to so many names are searched one by one. */
const namesAtOnce = 3;
const zoneOf = (id: string) => id.split('/')[1]!;
const nameOf = (id: string) => id.split('/')[2]!;
const nowhere: ReadonlySet<string> = new Set();

/**
 * VMs of one project, for one pass: each list is read at most once. VMs of one zone are listed there; those of several,
 * over all zones.
 */
export function createVms(
  client: GceClient,
  config: Pick<GceConfig, 'named' | 'namePrefix' | 'ipv6First'>,
  project: string,
): Machines {
  const view: InstanceView = { project, ipv6First: config.ipv6First };
  const lists = new Map<string, Promise<Read>>();

  async function search(zone: string | undefined, filter: string | undefined, options: Partial<ApiRequest>) {
    const [paging, where] = ['nextPageToken', filter === undefined ? [] : [['filter', filter] as const]];
    let [items, unreachable]: [readonly AnswerFields[], ReadonlySet<string>] = [[], nowhere];
    if (zone === undefined) {
      const fields = `items/*/instances(${instanceFields}),items/*/warning/code,unreachables,warning/code,${paging}`;
      const path = `/projects/${project}/aggregated/instances`;
      const request = {
        ...options,
        path,
        operation: 'instances.aggregatedList',
        query: [...where, ['fields', fields]],
      };
      ({ items, unreachable } = await client.aggregated(request as ApiRequest, 'instances'));
    } else {
      const fields = `items(${instanceFields}),warning/code,${paging}`;
      const path = `/projects/${project}/zones/${zone}/instances`;
      const query = [...where, ['fields', fields] as const];
      items = await client.list({ ...options, path, operation: 'instances.list', query });
    }
    return { seen: await seenById(items, keyOf, (vm) => readInstance(vm, 'list', view)), unreachable };
  }
  function all(zone: string | undefined, prefix: string, signal: AbortSignal | undefined): Promise<Read> {
    const filter = prefix === '' ? undefined : `name eq ${prefix}.*`;
    const key = `${zone ?? ''} ${prefix}`;
    const read = lists.get(key) ?? search(zone, filter, { urgency: 'refresh', signal });
    lists.set(key, read);
    return read;
  }
  /** One without zone or name has a key that is no id: it may be any VM. */
  function keyOf(vm: AnswerFields, at: number): string {
    try {
      return idOf(vm, view);
    } catch {
      return `//${at}`;
    }
  }
  /** The prefix, where few of the names begin otherwise: each of those costs a request of its own. */
  function prefixOf(names: readonly string[], others: number): string {
    const { namePrefix = '' } = config;
    return names.filter((name) => !name.startsWith(namePrefix)).length > others ? '' : namePrefix;
  }
  const notReached = (zone: string): Seen => {
    const message = `zone ${zone} was not reached`;
    return {
      state: 'unknown',
      error: new CloudError({ kind: 'Unavailable', cloud, operation: 'instances.aggregatedList', message }),
    };
  };

  return {
    holds: () => true,
    async all(ids, signal) {
      const zones = new Set(ids.map(zoneOf));
      const prefix = prefixOf(ids.map(nameOf), namesAtOnce);
      const { seen, unreachable } = await all(zones.size === 1 ? [...zones][0] : undefined, prefix, signal);
      const missing = ids.filter((id) => !seen.has(id) && unreachable.has(zoneOf(id)));
      return new Map([...seen, ...missing.map((id) => [id, notReached(zoneOf(id))] as const)]);
    },
    async named(names, signal) {
      const possible = names.filter((name) => namePattern.test(name));
      const { named } = config;
      const zone = named !== undefined && 'zone' in named ? named.zone : undefined;
      const reads =
        possible.length > namesAtOnce
          ? [await all(zone, prefixOf(possible, 0), signal)]
          : await Promise.all(possible.map((name) => search(zone, `name = "${name}"`, { signal })));
      // One VM may be in several answers.
      const seen = new Map(reads.flatMap((read) => [...read.seen]));
      const unreachable = new Set(reads.flatMap((read) => [...read.unreachable]));
      return [
        ...[...seen].flatMap(([id, one]) => (isNamed(named, zoneOf(id)) ? [one] : [])),
        ...[...unreachable].flatMap((name) => (isNamed(named, name) ? [notReached(name)] : [])),
      ];
    },
    async get(id, signal) {
      const [, zone, name] = id.split('/');
      const resource = `zones/${zone}/instances/${name}`;
      const path = `/projects/${project}/${resource}`;
      const request = { path, operation: 'instances.get', query: [['fields', instanceFields]], signal } as const;
      return readInstance(await client.call(request).catch(throwProved(resource)), 'id', view);
    },
  };
}
