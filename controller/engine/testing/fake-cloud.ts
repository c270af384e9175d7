import { CloudError, type CloudErrorKind } from '../../../common/cloud-error.ts';
import { type Clock, sleep } from '../../../common/process/clock.ts';
import type { Owner, Reference } from '../resource.ts';

export type Body = Readonly<Record<string, string | readonly string[]>>;

/** One resource in the fake cloud. */
export interface Thing {
  readonly id: string;
  readonly kind: string;
  readonly owner?: Owner | undefined;
  readonly key: string;
  readonly within?: string | undefined;
  readonly slots: readonly string[];
  readonly refs: readonly Reference[];
  readonly body: Body;
  readonly address?: string | undefined;
  readonly consent?: boolean;
  readonly retained?: boolean;
  readonly status?: 'ready' | 'pending' | 'failed';
  /** Made by others: must stay as it is. */
  readonly foreign?: boolean;
}

export type NewThing = Omit<Thing, 'id'>;

export interface CallHook {
  /** Before the effect; may throw. Answers what happens after it. */
  before(call: string, isWrite: boolean): 'lose' | 'crash' | undefined;
  crash(): never;
}

export interface FakeCloudOptions {
  readonly clock: Clock;
  /** For how long lists do not show a change. */
  readonly lagMs?: number;
  /** For how long a change of a locking thing lasts. */
  readonly operationMs?: number;
  readonly locking?: ReadonlySet<string>;
  /** Kinds that take changes without doing them. */
  readonly ignoring?: Set<string>;
}

/** Things with ids, containers, references, slots, a lock and lists that lag; every call can fail. */
export function createFakeCloud(options: FakeCloudOptions) {
  const { clock, lagMs = 0, operationMs = 0, locking = new Set<string>(), ignoring = new Set<string>() } = options;
  const things = new Map<string, Thing>();
  const history: { readonly atMs: number; readonly id: string; readonly thing: Thing | undefined }[] = [];
  const operations = new Map<string, { readonly untilMs: number; readonly lock: string }>();
  const calls: string[] = [];
  const writes: string[] = [];
  const violations: string[] = [];
  let hook: CallHook | undefined;
  let next = 1;

  function error(kind: CloudErrorKind, message: string): CloudError {
    return new CloudError({ kind, cloud: 'fake', operation: calls.at(-1) ?? '', message });
  }
  function set(id: string, thing: Thing | undefined): void {
    if (thing === undefined) things.delete(id);
    else things.set(id, thing);
    history.push({ atMs: clock.monotonic(), id, thing });
  }
  function add(thing: NewThing, id = `${thing.kind}-${next++}`): Thing {
    const one = { ...thing, id };
    set(id, one);
    return one;
  }
  async function call<T>(what: string, isWrite: boolean, effect: () => T): Promise<T> {
    await sleep(clock, 10);
    calls.push(what);
    const after = hook?.before(what, isWrite);
    const answer = effect();
    if (isWrite) writes.push(what);
    if (after === 'crash') hook!.crash();
    await sleep(clock, 10);
    if (after === 'lose') throw error('Timeout', 'no answer');
    return structuredClone(answer);
  }
  function lockOf(thing: { readonly kind: string; readonly within?: string | undefined }, id?: string) {
    if (id !== undefined && locking.has(thing.kind)) return id;
    const container = thing.within === undefined ? undefined : things.get(thing.within);
    return container !== undefined && locking.has(container.kind) ? container.id : undefined;
  }
  function isBusy(lock: string): boolean {
    return [...operations.values()].some((one) => one.lock === lock && one.untilMs > clock.monotonic());
  }
  function begin(lock: string | undefined): string | undefined {
    if (lock === undefined || operationMs === 0) return undefined;
    if (isBusy(lock)) {
      violations.push(`busy ${calls.at(-1)}`);
      throw error('Busy', 'locked');
    }
    const id = `op-${next++}`;
    operations.set(id, { untilMs: clock.monotonic() + operationMs, lock });
    return id;
  }
  function get(id: string): Thing {
    const thing = things.get(id);
    if (thing === undefined) throw error('NotFound', id);
    return thing;
  }
  function invalid(message: string): CloudError {
    violations.push(`${calls.at(-1)}: ${message}`);
    return error('Invalid', message);
  }
  function check(thing: NewThing, id?: string): void {
    for (const slot of thing.slots) {
      const holder = [...things.values()].find((one) => one.id !== id && one.slots.includes(slot));
      if (holder !== undefined) throw error('Taken', `${slot} by ${holder.id}`);
    }
    for (const ref of thing.refs) if (!things.has(ref.id)) throw invalid(`${ref.id} does not exist`);
    if (thing.within !== undefined && !things.has(thing.within)) throw error('NotFound', thing.within);
  }
  function drop(id: string): void {
    for (const part of things.values()) if (part.within === id) drop(part.id);
    set(id, undefined);
  }
  function insideOf(id: string): ReadonlySet<string> {
    const inside = new Set([id]);
    for (const one of things.values()) if (one.within !== undefined && inside.has(one.within)) inside.add(one.id);
    return inside;
  }

  return {
    things,
    calls,
    writes,
    /** Calls that a correct order never makes. */
    violations,
    ignoring,
    add,
    set,
    call,
    error,
    setHook(now: CallHook | undefined) {
      hook = now;
    },
    /** The resources that lists show now. */
    listed(): readonly Thing[] {
      if (lagMs === 0) return [...things.values()];
      const shown = new Map<string, Thing | undefined>();
      for (const { atMs, id, thing } of history) if (atMs <= clock.monotonic() - lagMs) shown.set(id, thing);
      return [...shown.values()].filter((one) => one !== undefined);
    },
    isPending: (id: string) => isBusy(id),
    operationOf: (lock: string) =>
      [...operations].find(([, one]) => one.lock === lock && one.untilMs > clock.monotonic())?.[0],
    list: () => call('list', false, () => undefined),
    read: (id: string) => call(`read ${id}`, false, () => things.get(id)),
    create(thing: NewThing, parts: readonly NewThing[] = []) {
      return call(`create ${thing.kind} ${thing.key}`, true, () => {
        check(thing);
        const lock = lockOf(thing);
        const operation = begin(lock);
        const made = add(thing);
        const keys = new Map<string, string>();
        for (const part of parts) {
          const refs = part.refs.map((ref) => ({ ...ref, id: keys.get(ref.id) ?? ref.id }));
          const slots = part.slots.map((slot) => slot.replace('{within}', made.id));
          keys.set(`${part.kind}/${part.key}`, add({ ...part, refs, slots, within: made.id }).id);
        }
        const own = locking.has(made.kind) ? begin(made.id) : undefined;
        return { made, operation: operation ?? own };
      });
    },
    update(id: string, patch: Partial<NewThing>) {
      return call(`update ${id} ${Object.keys(patch)}`, true, () => {
        const thing = get(id);
        const operation = begin(lockOf(thing, id));
        const now = { ...thing, ...patch };
        check(now, id);
        if (!ignoring.has(thing.kind)) set(id, now);
        return { now, operation };
      });
    },
    remove(id: string) {
      return call(`delete ${id}`, true, () => {
        const thing = get(id);
        const inside = insideOf(id);
        const referrer = [...things.values()].find(
          (one) => !inside.has(one.id) && one.refs.some((ref) => inside.has(ref.id) && !ref.loose),
        );
        if (referrer !== undefined) throw invalid(`in use by ${referrer.id}`);
        const operation = begin(lockOf(thing, id));
        if (!ignoring.has(thing.kind)) drop(id);
        return { operation };
      });
    },
    poll(ids: readonly string[]) {
      return call('poll', false, () =>
        ids.map((id) => [id, (operations.get(id)?.untilMs ?? 0) > clock.monotonic() ? 'running' : 'done'] as const),
      );
    },
  };
}

export type FakeCloud = ReturnType<typeof createFakeCloud>;
