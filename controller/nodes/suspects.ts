import type { Clock } from '../../common/process/clock.ts';
import type { Lookup } from '../clouds/cloud.ts';

/** A series of equal lookup answers about one Node's instance. */
export interface Series {
  readonly state: 'gone' | 'absent' | 'stopped';
  readonly firstMs: number;
  readonly firstWithCanaryMs: number | undefined;
  /** The node lease's renewTime when the series began. */
  readonly renewTime: string;
  /** When our clock first saw that renewTime. */
  readonly renewTimeSeenMs: number;
}

/**
 * A Node whose instance has to be looked up: it is not Ready, or a hint said that its VM may have stopped or be gone.
 */
export interface Suspect {
  readonly name: string;
  readonly uid: string;
  /** When it became a suspect, monotonic. */
  readonly sinceMs: number;
  /** When the last answer other than a postponed proof was asked for, monotonic; before the first one `sinceMs`. */
  answeredMs: number;
  /** Since when its proof has been postponed, monotonic. */
  postponedMs: number | undefined;
  /** Since when the cloud has given no usable answer, monotonic. */
  unknownMs: number | undefined;
  /** The answer of the last lookup. */
  answer: Lookup['state'] | undefined;
  nextAtMs: number;
  tries: number;
  series: Series | undefined;
  /** There was a hint, so the lookup is done although the Node is still Ready. */
  hinted: boolean;
  /** The Node changed since its last lookup began. */
  changedSinceLookup: boolean;
  /** Its deletion waits for the budget alone. */
  exhausted: boolean;
  /** The budget has room for its deletion, which has not succeeded yet. */
  granted: boolean;
}

/** Schedules the next lookup, unless the Node changed during this one: then it is already due. */
export function scheduleLookup(suspect: Suspect, atMs: number): void {
  if (!suspect.changedSinceLookup) suspect.nextAtMs = atMs;
}

export interface Suspects {
  get(name: string): Suspect | undefined;
  /**
   * Makes the Node due at once and keeps a running series. An existing suspect keeps its schedule, unless the Node
   * changed. Returns whether it is due now.
   */
  add(name: string, uid: string, hinted: boolean, changedSinceLookup: boolean): boolean;
  drop(name: string): void;
  /** Drops this suspect, but not another of the same name. */
  end(suspect: Suspect): void;
  /** The suspects that are due now or within `slackMs`: they share one pass. */
  due(slackMs: number): Suspect[];
  nextAtMs(): number | undefined;
}

export function createSuspects(clock: Clock): Suspects {
  const suspects = new Map<string, Suspect>();

  function drop(name: string): void {
    suspects.delete(name);
  }

  return {
    get: (name) => suspects.get(name),
    add(name, uid, hinted, changedSinceLookup) {
      const now = clock.monotonic();
      const held = suspects.get(name);
      if (held?.uid === uid) {
        if (changedSinceLookup) {
          held.nextAtMs = Math.min(held.nextAtMs, now);
          held.tries = 0;
          held.changedSinceLookup = true;
        }
        held.hinted ||= hinted;
        return changedSinceLookup;
      }
      suspects.set(name, {
        name,
        uid,
        sinceMs: now,
        answeredMs: now,
        postponedMs: undefined,
        unknownMs: undefined,
        answer: undefined,
        nextAtMs: now,
        tries: 0,
        series: undefined,
        hinted,
        changedSinceLookup: false,
        exhausted: false,
        granted: false,
      });
      return true;
    },
    drop,
    end(suspect) {
      if (suspects.get(suspect.name) === suspect) drop(suspect.name);
    },
    due(slackMs) {
      const limit = clock.monotonic() + slackMs;
      return [...suspects.values()].filter(({ nextAtMs }) => nextAtMs <= limit);
    },
    nextAtMs() {
      let earliest: number | undefined;
      for (const { nextAtMs } of suspects.values())
        if (earliest === undefined || nextAtMs < earliest) earliest = nextAtMs;
      return earliest;
    },
  };
}
