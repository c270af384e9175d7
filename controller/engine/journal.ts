import { kindOf, type Owner, type ResourceName } from './resource.ts';

/** The state that has to survive a crash, stored with the Service. */
export interface JournalState {
  /** Resources may have been created for this owner. */
  readonly claimed: boolean;
  readonly ids: Readonly<Record<ResourceName, string>>;
  /** Creates that may have been sent and whose id is not known. */
  readonly tried: readonly ResourceName[];
}

export interface JournalStore {
  load(owner: Owner): Promise<JournalState | undefined>;
  save(owner: Owner, state: JournalState): Promise<void>;
}

/** The journal of one owner. Changes stay in memory until `save`, which writes only if something has changed. */
export interface Journal {
  readonly state: JournalState;
  /** No claim was stored before: nothing can have been created for this owner. */
  readonly isFirstClaim: boolean;
  /** Before creates that are not safe to repeat. Saved together with the first claim. */
  intend(names: readonly ResourceName[]): void;
  made(name: ResourceName, id: string): void;
  /** The create was certainly not done: it was never sent, or was refused. */
  notMade(name: ResourceName): void;
  /** The answer to the create was lost: its result may appear from now on. */
  unknown(name: ResourceName): void;
  gone(kind: string, id: string): void;
  /** The results of all creates that were tried are visible now, or do not exist. */
  seen(): void;
  /** No resource exists, and none can still appear. */
  clear(): void;
  /** Creates whose results may not be visible yet. */
  readonly unseen: readonly ResourceName[];
  /** For how long a search may still miss the result of a create; `searchedAtMs`: when the latest search began. */
  unseenMs(name: ResourceName, settleMs: number, searchedAtMs: number): number;
  /** For how long a search may still miss what an earlier process created, or show what it removed. */
  inheritedMs(settleMs: number, searchedAtMs: number): number;
  save(): Promise<void>;
}

const empty: JournalState = { claimed: false, ids: {}, tried: [] };

/** One journal for each owner, loaded once. */
export interface Journals {
  of(owner: Owner): Promise<Journal>;
  /** The loaded one; otherwise an empty one. */
  now(owner: Owner): Journal;
  /** Replaces what was loaded: another process has written it. */
  replace(owner: Owner, stored: JournalState | undefined): void;
  forget(owner: Owner): void;
}

/** @param nowMs monotonic time */
export function createJournals(store: JournalStore, nowMs: () => number): Journals {
  const startedAtMs = nowMs();
  const journals = new Map<string, Journal>();

  function replace(owner: Owner, stored: JournalState | undefined): Journal {
    // Another process may have acted right before it wrote this.
    const sinceMs = journals.has(owner.service) ? nowMs() : startedAtMs;
    const journal = createJournal(store, owner, stored, sinceMs, nowMs);
    journals.set(owner.service, journal);
    return journal;
  }

  return {
    async of(owner) {
      const loaded = journals.get(owner.service);
      if (loaded !== undefined) return loaded;
      const stored = await store.load(owner);
      return journals.get(owner.service) ?? replace(owner, stored);
    },
    now: (owner) => journals.get(owner.service) ?? createJournal(store, owner, undefined, startedAtMs, nowMs),
    replace: (owner, stored) => void replace(owner, stored),
    forget: ({ service }) => void journals.delete(service),
  };
}

function createJournal(
  store: JournalStore,
  owner: Owner,
  stored: JournalState | undefined,
  startedAtMs: number,
  nowMs: () => number,
): Journal {
  let state = stored ?? empty;
  let saved = JSON.stringify(state);
  let everClaimed = state.claimed;
  /** Since when the result of a create may be missing in lists. */
  const unseenSince = new Map(state.tried.map((name) => [name, startedAtMs]));

  /** Counts from the start of the search, not from the time of the decision. */
  function remainingMs(since: number | undefined, settleMs: number, searchedAtMs: number): number {
    if (since === undefined || searchedAtMs >= since + settleMs) return 0;
    return Math.max(1, since + settleMs - nowMs());
  }
  const without = (name: ResourceName) => state.tried.filter((one) => one !== name);

  return {
    get state() {
      return state;
    },
    get isFirstClaim() {
      return !everClaimed;
    },
    intend(names) {
      state = { ...state, claimed: true, tried: [...new Set([...state.tried, ...names])] };
    },
    made(name, id) {
      state = { claimed: true, ids: { ...state.ids, [name]: id }, tried: without(name) };
    },
    notMade(name) {
      if (unseenSince.has(name)) return;
      state = { ...state, tried: without(name) };
    },
    unknown(name) {
      unseenSince.set(name, nowMs());
    },
    gone(kind, id) {
      const remaining = Object.entries(state.ids).filter(([name, one]) => one !== id || kindOf(name) !== kind);
      if (remaining.length < Object.keys(state.ids).length) state = { ...state, ids: Object.fromEntries(remaining) };
    },
    seen() {
      unseenSince.clear();
      if (state.tried.length > 0) state = { ...state, tried: [] };
    },
    clear() {
      unseenSince.clear();
      state = empty;
    },
    get unseen() {
      return [...unseenSince.keys()];
    },
    unseenMs: (name, settleMs, searchedAtMs) => remainingMs(unseenSince.get(name), settleMs, searchedAtMs),
    inheritedMs: (settleMs, searchedAtMs) =>
      remainingMs(stored?.claimed ? startedAtMs : undefined, settleMs, searchedAtMs),
    async save() {
      const text = JSON.stringify(state);
      if (text === saved) return;
      await store.save(owner, state);
      saved = text;
      everClaimed ||= state.claimed;
    },
  };
}
