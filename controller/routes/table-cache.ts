import type { ObservedRoute, Routes, RouteTable } from '../clouds/routes.ts';

/** The route table of one scope as last read, plus our own changes since. */
export interface TableCache<R extends ObservedRoute> {
  /** Undefined until it was read once. */
  readonly table: RouteTable<R> | undefined;
  /** Monotonic start of the last read; minus infinity before the first one and after `invalidate`. */
  readonly readAtMs: number;
  /** The last read showed a route that is or may be ours, so the credential does see the table. */
  readonly sawOurs: boolean;
  /** Reads the table again. A failure leaves the cached table. Throws a CloudError. */
  read(cluster: string, signal: AbortSignal | undefined): Promise<void>;
  /** Records a route that we created. */
  added(route: R): void;
  has(id: string): boolean;
  removed(route: R): void;
  /** After a failure: the cached table may be outdated. */
  invalidate(): void;
}

interface Held<R extends ObservedRoute> {
  readonly byId: Map<string, R>;
  quota: RouteTable<R>['quota'];
}

export function createTableCache<R extends ObservedRoute>(routes: Routes<R>, now: () => number): TableCache<R> {
  let held: Held<R> | undefined;
  /** Derived from `held` on demand. */
  let table: RouteTable<R> | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  /** Our changes during a read, whose answer may not contain them. */
  let ownChanges: ((held: Held<R>) => void)[] = [];
  let invalidations = 0;
  let sawOurs = false;

  async function readOnce(cluster: string, signal: AbortSignal | undefined): Promise<void> {
    const startedMs = now();
    const invalidationsBefore = invalidations;
    ownChanges = [];
    const answer = await routes.observe(cluster, signal);
    const next: Held<R> = { byId: new Map(answer.routes.map((route) => [route.id, route])), quota: answer.quota };
    sawOurs = answer.routes.some(({ ours }) => ours !== false);
    for (const repeat of ownChanges) repeat(next);
    held = next;
    table = undefined;
    if (invalidations === invalidationsBefore) readAtMs = startedMs;
  }

  function change(step: (held: Held<R>) => void): void {
    if (reading) ownChanges.push(step);
    if (held) step(held);
    table = undefined;
  }

  return {
    get table() {
      if (held) table ??= { routes: [...held.byId.values()], quota: held.quota };
      return table;
    },
    get sawOurs() {
      return sawOurs;
    },
    get readAtMs() {
      return readAtMs;
    },
    read(cluster, signal) {
      reading ??= readOnce(cluster, signal).finally(() => {
        reading = undefined;
      });
      return reading;
    },
    added: (route) =>
      change((current) => {
        if (!current.byId.has(route.id)) use(current, 1);
        current.byId.set(route.id, route);
      }),
    removed: (route) =>
      change((current) => {
        if (current.byId.delete(route.id)) use(current, -1);
      }),
    has: (id) => held?.byId.has(id) ?? false,
    invalidate() {
      invalidations += 1;
      readAtMs = Number.NEGATIVE_INFINITY;
    },
  };
}

function use<R extends ObservedRoute>(held: Held<R>, by: number): void {
  if (held.quota) held.quota = { ...held.quota, used: held.quota.used + by };
}
