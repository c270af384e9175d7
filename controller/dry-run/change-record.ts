import type { PlannedChange } from './planned-change.ts';

/** What a run without effect would have changed, and what it could not find out. */
export interface ChangeRecord {
  add(change: PlannedChange): void;
  /** Replaces the changes of this key; what was in it before keeps its time. */
  set(key: string, changes: readonly PlannedChange[]): void;
  /** Something could not be read. It counts until it succeeds. */
  failed(what: string, why: string): void;
  succeeded(what: string): void;
  changes(): readonly PlannedChange[];
  problems(): readonly string[];
}

export interface ChangeRecordOptions {
  /** Called once for each change. */
  readonly onChange?: (change: PlannedChange) => void;
  /** How far ahead of the present the run is, milliseconds. Default: not at all. */
  readonly aheadMs?: () => number;
}

/** Less than this is at once for people: delays that collect changes, and second reads. */
const atOnceMs = 10_000;

export function createChangeRecord({ onChange, aheadMs = () => 0 }: ChangeRecordOptions = {}): ChangeRecord {
  const changesOf = new Map<string, readonly PlannedChange[]>();
  const problems = new Map<string, string>();
  let keys = 0;

  function set(key: string, changes: readonly PlannedChange[]): void {
    const before = new Map(changesOf.get(key)?.map((change) => [textOf(change), change]));
    const inMs = Math.round(aheadMs() / 1000) * 1000;
    const stamped = changes.map((change) => {
      const known = before.get(textOf(change));
      if (known !== undefined) return known;
      const made = inMs < atOnceMs ? change : { ...change, inMs };
      onChange?.(made);
      return made;
    });
    changesOf.set(key, stamped);
  }

  return {
    set,
    add(change) {
      keys += 1;
      set(`change ${keys}`, [change]);
    },
    failed: (what, why) => void problems.set(what, `${what}: ${why}`),
    succeeded: (what) => void problems.delete(what),
    changes: () => [...changesOf.values()].flat(),
    problems: () => [...problems.values()],
  };
}

function textOf({ of, object, action, what }: PlannedChange): string {
  return JSON.stringify([of, object, action, what]);
}
