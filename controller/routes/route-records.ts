import { createHash } from 'node:crypto';
import { isConflict, isNotFound, type KubeApi, type KubeObject } from '../kube/api.ts';
import { pathOf, type ShippedObjects } from '../kube/shipped-objects.ts';

/**
 * Records of the routes that we created for existing Nodes, for clouds that cannot tag routes. Stored in a ConfigMap,
 * so that they survive a change of leader.
 */
export interface RouteRecords {
  /**
   * Reads the records of the scope, once; none without the ConfigMap. Later calls restore records that the ConfigMap
   * lost because it was deleted or emptied. Throws a KubeError. No other method may be called before it has resolved
   * once.
   *
   * @param former scopes under which earlier versions recorded the same routes; their records are taken over
   */
  load(scope: string, former?: readonly string[]): Promise<void>;
  /**
   * Whether a route from the range to this target, or to this address, was recorded.
   *
   * @param target undefined = any
   */
  has(scope: string, destination: string, target: string | undefined, via?: string): boolean;
  all(scope: string): readonly RouteRecord[];
  /** Adds and drops records. Resolves when they are written; writes only changes. Throws a KubeError. */
  change(scope: string, changes: RecordChanges): Promise<void>;
}

export interface RouteRecord {
  readonly destination: string;
  /**
   * The instance, or an `addressTarget`. Where a cloud routes to addresses, a route is recorded with both: the instance
   * alone would prove nothing any more once another one has its address.
   */
  readonly target: string;
}

export const addressTarget = (address: string) => `via ${address}`;

export interface RecordChanges {
  readonly note?: readonly RouteRecord[];
  readonly drop?: readonly RouteRecord[];
}

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const maxTries = 5;

/** A digest, because a scope may be longer than the key of a ConfigMap may be. */
function keyOf(scope: string): string {
  return createHash('sha256').update(scope).digest('hex').slice(0, 32);
}

/** Targets by destination: while a range moves from one Node to another, both are recorded. */
type Records = Map<string, ReadonlySet<string>>;

/** In the ConfigMap that the manifests ship. It has room for 1 MiB: some 10,000 routes. */
export function createRouteRecords(api: KubeApi, shipped: ShippedObjects): RouteRecords {
  const path = pathOf(shipped.objects.routeRecords);
  const held = new Map<string, Records>();
  const formerOf = new Map<string, readonly string[]>();
  let queue: Promise<unknown> = Promise.resolve();

  const read = () => shipped.use(shipped.objects.routeRecords, () => api.call<ConfigMap>({ verb: 'get', path }));

  /** Changes the stored records. Those in memory are used only where the ConfigMap has lost the scope. */
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
            [keyOf(scope)]: print(scope, records),
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

  /** @param data `null` removes the key */
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
    has(scope, destination, target, via) {
      const recorded = held.get(scope)?.get(destination);
      if (recorded === undefined || target === undefined) return recorded !== undefined;
      return recorded.has(target) || (via !== undefined && recorded.has(addressTarget(via)));
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
  return [...records].flatMap(([destination, targets]) => [...targets].map((target) => ({ destination, target })));
}

/** An address is on a line that older versions take for a comment: they would drop it as one without a route. */
const addressMark = '#';
const isAddress = (target: string) => target.startsWith(addressTarget(''));

function parse(text: string | undefined): Records {
  const records: Records = new Map();
  for (const line of (text ?? '').split('\n')) {
    const [, mark, destination, target = ''] = /^(#?)([^\s#]+) (.+)$/.exec(line) ?? [];
    if (destination === undefined || isAddress(target) !== (mark === addressMark)) continue;
    records.set(destination, new Set(records.get(destination)).add(target));
  }
  return records;
}

function print(scope: string, records: Records): string {
  const lines = recordsOf(records).map(
    ({ destination, target }) => `${isAddress(target) ? addressMark : ''}${destination} ${target}`,
  );
  return [`# ${scope}`, ...lines.sort()].join('\n');
}

/** Returns whether anything changed. */
function alter(records: Records, { note = [], drop = [] }: RecordChanges): boolean {
  let changed = false;
  for (const { destination, target } of drop) {
    const rest = new Set(records.get(destination));
    if (!rest.delete(target)) continue;
    changed = true;
    if (rest.size > 0) records.set(destination, rest);
    else records.delete(destination);
  }
  for (const { destination, target } of note) {
    if (records.get(destination)?.has(target)) continue;
    changed = true;
    records.set(destination, new Set(records.get(destination)).add(target));
  }
  return changed;
}
