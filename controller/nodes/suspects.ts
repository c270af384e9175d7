import type { Clock } from '../../common/process/clock.ts';
import type { Lookup } from '../clouds/cloud.ts';

/** A series of equal answers about one node's instance. */
export interface Series {
  readonly state: 'gone' | 'absent' | 'stopped';
  readonly firstMs: number;
  readonly firstWithCanaryMs: number | undefined;
  /** The node lease's renewTime when the series began. */
  readonly renewTime: string;
  /** When our clock first saw that renewTime. */
  readonly renewTimeSeenMs: number;
}

/** A node whose instance must be looked at: not Ready, or something hinted that its VM stopped or went. */
export interface Suspect {
  readonly name: string;
  readonly uid: string;
  /** Since when, monotonic. */
  readonly sinceMs: number;
  /** What the last look came to. */
  answer: Lookup['state'] | undefined;
  nextAtMs: number;
  tries: number;
  series: Series | undefined;
  /** A hint says more than readiness: the look is not dropped because the Node is still Ready. */
  hinted: boolean;
  /** Something happened since its last look began. */
  changedSinceLookup: boolean;
}

/** Puts off the next look, unless news came while this one was under way: then it is due already. */
export function scheduleLookup(suspect: Suspect, atMs: number): void {
  if (!suspect.changedSinceLookup) suspect.nextAtMs = atMs;
}

export interface Suspects {
  get(name: string): Suspect | undefined;
  /** Looks at the node as soon as may be; keeps a running series. One that is suspect already keeps its time, unless this is news. */
  add(name: string, uid: string, hinted: boolean, changedSinceLookup: boolean): void;
  drop(name: string): void;
  /** Drops this very suspect, and not another that has taken its name since. */
  end(suspect: Suspect): void;
  /** Those whose time has come, or comes within `slackMs`: they share one pass. */
  due(slackMs: number): Suspect[];
  nextAtMs(): number | undefined;
  readonly size: number;
}

export function createSuspects(clock: Clock): Suspects {
  const suspects = new Map<string, Suspect>();

  function drop(name: string): void {
    suspects.delete(name);
  }

  return {
    get size() {
      return suspects.size;
    },
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
        return;
      }
      suspects.set(name, {
        ...{ name, uid, sinceMs: now, answer: undefined, nextAtMs: now, tries: 0 },
        ...{ series: undefined, hinted, changedSinceLookup: false },
      });
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
