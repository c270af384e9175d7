import { kindOf, type Owner, type ResourceName } from './resource.ts';

/** The state that has to survive a crash, stored with the Service. */
export interface JournalState {
  /** Resources may have been created for this owner. */
  readonly claimed: boolean;
  readonly ids: Readonly<Record<ResourceName, string>>;
  /** Creates that may have been sent and whose id is not known. */
  readonly tried: readonly ResourceName[];
}

export type SaveJournal = (owner: Owner, state: JournalState) => Promise<void>;

const empty: JournalState = { claimed: false, ids: {}, tried: [] };

export type Journals = ReturnType<typeof createJournals>;
export type Journal = ReturnType<typeof createJournal>;

/**
 * One journal for each owner, empty where nothing was stored.
 *
 * @param nowMs monotonic time
 */
export function createJournals(save: SaveJournal, nowMs: () => number) {
  const startedAtMs = nowMs();
  const journals = new Map<string, Journal>();

  /** Takes what another process has stored. */
  function replace(owner: Owner, stored: JournalState | undefined): Journal {
    // Another process may have acted right before it wrote this.
    const sinceMs = journals.has(owner.service) ? nowMs() : startedAtMs;
    const journal = createJournal(save, owner, stored, sinceMs, nowMs, journals.get(owner.service)?.retained);
    journals.set(owner.service, journal);
    return journal;
  }

  return {
    of: (owner: Owner) => journals.get(owner.service) ?? replace(owner, undefined),
    /** The same, for reading alone: it is not kept. */
    now: (owner: Owner) => journals.get(owner.service) ?? createJournal(save, owner, undefined, startedAtMs, nowMs),
    replace,
    forget: ({ service }: Owner) => void journals.delete(service),
  };
}

/** The journal of one owner. Changes stay in memory until `save`, which writes only if something has changed. */
function createJournal(
  save: SaveJournal,
  owner: Owner,
  stored: JournalState | undefined,
  startedAtMs: number,
  nowMs: () => number,
  /** Identities of what this process has marked as retained for this owner. */
  retained = new Set<string>(),
) {
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
    retained,
    get state() {
      return state;
    },
    /** No claim was stored before: nothing can have been created for this owner. */
    get isFirstClaim() {
      return !everClaimed;
    },
    /** Before creates that are not safe to repeat. Saved together with the first claim. */
    intend(names: readonly ResourceName[]): void {
      state = { ...state, claimed: true, tried: [...new Set([...state.tried, ...names])] };
    },
    made(name: ResourceName, id: string): void {
      state = { claimed: true, ids: { ...state.ids, [name]: id }, tried: without(name) };
    },
    /** The create was certainly not done: it was never sent, or was refused. */
    notMade(name: ResourceName): void {
      if (unseenSince.has(name)) return;
      state = { ...state, tried: without(name) };
    },
    /** The answer to the create was lost: its result may appear from now on. */
    unknown(name: ResourceName): void {
      unseenSince.set(name, nowMs());
    },
    gone(kind: string, id: string): void {
      const remaining = Object.entries(state.ids).filter(([name, one]) => one !== id || kindOf(name) !== kind);
      if (remaining.length < Object.keys(state.ids).length) state = { ...state, ids: Object.fromEntries(remaining) };
    },
    /** The results of all creates that were tried are visible now, or do not exist. */
    seen(): void {
      unseenSince.clear();
      if (state.tried.length > 0) state = { ...state, tried: [] };
    },
    /** No resource exists, and none can still appear. */
    clear(): void {
      unseenSince.clear();
      state = empty;
    },
    /** Creates whose results may not be visible yet. */
    get unseen(): readonly ResourceName[] {
      return [...unseenSince.keys()];
    },
    /** For how long a search may still miss the result of a create; `searchedAtMs`: when the latest search began. */
    unseenMs: (name: ResourceName, settleMs: number, searchedAtMs: number) =>
      remainingMs(unseenSince.get(name), settleMs, searchedAtMs),
    /** For how long a search may still miss what an earlier process created, or show what it removed. */
    inheritedMs: (settleMs: number, searchedAtMs: number) =>
      remainingMs(stored?.claimed ? startedAtMs : undefined, settleMs, searchedAtMs),
    async save(): Promise<void> {
      const text = JSON.stringify(state);
      if (text === saved) return;
      await save(owner, state);
      saved = text;
      everClaimed ||= state.claimed;
    },
  };
}
