import { createHash } from 'node:crypto';
import { names } from '../../common/well-known.ts';
import { isConflict, isNotFound, type KubeApi, type KubeObject } from '../kube/api.ts';
import { createShippedObjects, type ShippedObjects, shippedObjects } from '../kube/shipped-objects.ts';

/** Routes that were ours while their Node lived, for clouds that cannot tag routes. Kept in a ConfigMap, so that a change of leader forgets none. */
export interface RouteRecords {
  /**
   * Reads what is recorded for the scope, once; without the ConfigMap that is nothing. Called again it puts back what
   * the ConfigMap has lost since, because it was deleted or emptied. Throws a KubeError. Nothing else may be called
   * before it resolved once.
   *
   * @param former scopes under which older versions recorded the same: what they have is taken over
   */
  load(scope: string, former?: readonly string[]): Promise<void>;
  /** @param instance undefined = any */
  has(scope: string, destination: string, instance: string | undefined): boolean;
  all(scope: string): readonly RouteRecord[];
  /** Records and forgets; resolves when it is written, and writes nothing where nothing changes. Throws a KubeError. */
  change(scope: string, changes: RecordChanges): Promise<void>;
}

export interface RouteRecord {
  readonly destination: string;
  readonly instance: string;
}

export interface RecordChanges {
  readonly note?: readonly RouteRecord[];
  readonly drop?: readonly RouteRecord[];
}

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The ConfigMap, which the manifests ship. An object holds 1 MiB: some 15,000 routes. */
const path = `/api/v1/namespaces/${names.namespace}/configmaps/${names.routeRecords}`;
const maxTries = 5;

/** A key of a ConfigMap takes fewer characters than a scope has. */
function keyOf(scope: string): string {
  return createHash('sha256').update(scope).digest('hex').slice(0, 32);
}

/** Instances by destination: while a range moves from one Node to another, both are on record. */
type Records = Map<string, ReadonlySet<string>>;

export function createRouteRecords(api: KubeApi, shipped: ShippedObjects = createShippedObjects()): RouteRecords {
  const held = new Map<string, Records>();
  const formerOf = new Map<string, readonly string[]>();
  let queue: Promise<unknown> = Promise.resolve();

  const read = () => shipped.use(shippedObjects.routeRecords, () => api.call<ConfigMap>({ verb: 'get', path }));

  /** What is stored is changed; what is held in memory counts only where the ConfigMap has lost the scope. */
  async function write(scope: string, changes: RecordChanges): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const stored = await read();
      const records = recordsIn(stored, scope);
      const former = formerKeys(stored, scope);
      const lost = stored.data?.[keyOf(scope)] === undefined && records.size > 0;
      const changed = alter(records, changes);
      try {
        if (changed || lost || former.length > 0)
          await store(stored, {
            ...{ [keyOf(scope)]: print(scope, records) },
            ...Object.fromEntries(former.map((key) => [key, null])),
          });
        held.set(scope, records);
        return;
      } catch (error) {
        if (!isConflict(error) || attempt >= maxTries) throw error;
      }
    }
  }

  function formerKeys(stored: ConfigMap, scope: string): string[] {
    return (formerOf.get(scope) ?? []).map(keyOf).filter((key) => stored.data?.[key] !== undefined);
  }

  function recordsIn(stored: ConfigMap, scope: string): Records {
    const text = stored.data?.[keyOf(scope)];
    const records = text === undefined ? new Map(held.get(scope)) : parse(text);
    for (const key of formerKeys(stored, scope)) alter(records, { note: recordsOf(parse(stored.data?.[key])) });
    return records;
  }

  /** @param data `null` = the key goes */
  async function store({ metadata }: ConfigMap, data: Readonly<Record<string, string | null>>): Promise<void> {
    const body = { metadata: { resourceVersion: metadata.resourceVersion }, data };
    await api.call({ verb: 'patch', path, patch: 'merge', body, answer: 'metadata' });
  }

  async function readFirst(scope: string): Promise<Records> {
    try {
      return recordsIn(await read(), scope);
    } catch (error) {
      if (isNotFound(error)) return new Map();
      throw error;
    }
  }

  /** One at a time. */
  function queued(work: () => Promise<void> | undefined): Promise<void> {
    const done = queue.then(work);
    queue = done.catch(() => {});
    return done;
  }

  return {
    async load(scope, former = []) {
      formerOf.set(scope, former);
      const known = held.get(scope);
      if (known === undefined) held.set(scope, await readFirst(scope));
      else await queued(() => write(scope, {}));
    },
    has(scope, destination, instance) {
      const recorded = held.get(scope)?.get(destination);
      return recorded !== undefined && (instance === undefined || recorded.has(instance));
    },
    all: (scope) => recordsOf(held.get(scope) ?? new Map()),
    change: (scope, changes) =>
      queued(() => {
        const known = held.get(scope);
        return known && !alter(new Map(known), changes) ? undefined : write(scope, changes);
      }),
  };
}

function recordsOf(records: Records): RouteRecord[] {
  return [...records].flatMap(([destination, instances]) =>
    [...instances].map((instance) => ({ destination, instance })),
  );
}

function parse(text: string | undefined): Records {
  const records: Records = new Map();
  for (const line of (text ?? '').split('\n')) {
    const space = line.indexOf(' ');
    if (line.startsWith('#') || space < 1) continue;
    const destination = line.slice(0, space);
    records.set(destination, new Set(records.get(destination)).add(line.slice(space + 1)));
  }
  return records;
}

function print(scope: string, records: Records): string {
  const lines = [...records].flatMap(([destination, instances]) =>
    [...instances].map((each) => `${destination} ${each}`),
  );
  return [`# ${scope}`, ...lines.sort()].join('\n');
}

/** Answers whether anything changed. */
function alter(records: Records, { note = [], drop = [] }: RecordChanges): boolean {
  let changed = false;
  for (const { destination, instance } of drop) {
    const rest = new Set(records.get(destination));
    if (!rest.delete(instance)) continue;
    changed = true;
    if (rest.size > 0) records.set(destination, rest);
    else records.delete(destination);
  }
  for (const { destination, instance } of note) {
    if (records.get(destination)?.has(instance)) continue;
    changed = true;
    records.set(destination, new Set(records.get(destination)).add(instance));
  }
  return changed;
}
