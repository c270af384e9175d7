import type { DesiredLoadBalancer, LoadBalancerRef, Owner } from '../../clouds/load-balancers.ts';
import { type ApplyOptions, WithheldError } from '../../clouds/permit.ts';
import type { JournalState } from '../../engine/journal.ts';
import { printNotes } from './notes.ts';

/** The state of one Service between calls of its controller. */
export interface Session {
  readonly owner: Owner;
  ref: LoadBalancerRef | undefined;
  /** Whether a plan was made here, from the Service's record. */
  isPlanned: boolean;
  /** Of the latest apply. */
  options: ApplyOptions | undefined;
  /** An apply is in progress: its `save` may be used until it ends. */
  isApplying: boolean;
  /** The recorded id when the latest apply began; undefined for a removal. */
  recordedId: string | undefined;
  /** Everything of it is to be deleted: afterwards, the controller removes the whole record. */
  isRemoving: boolean;
  /** Notes that this process has read or written. Any others were written by another process. */
  readonly notes: Set<string | undefined>;
  /** The notes as the Service's record has them now. */
  lastNotes: string | undefined;
  /** Names of creates that those notes list as possibly sent. */
  tried: readonly string[];
  /** The journal's state that is not in the record yet. */
  unsaved: JournalState | undefined;
  /** No call is sent before this time, because it waits for the cloud or another Service. Monotonic milliseconds. */
  waitsUntilMs: number;
  /** The request, without members, for which everything was last up to date. */
  settledFor: string | undefined;
  /** What the Service asked for last that was not refused as a whole. */
  lastDone: DesiredLoadBalancer | undefined;
  /** A read has just shown that nothing is left. */
  isGone: boolean;
  /** `apply` returned while an operation of the cloud was still running, or because it was too busy for a removal. */
  isParked: boolean;
}

export function createSession(owner: Owner): Session {
  return {
    owner,
    ref: undefined,
    options: undefined,
    isApplying: false,
    isRemoving: false,
    notes: new Set(),
    isParked: false,
    lastNotes: undefined,
    tried: [],
    unsaved: undefined,
    waitsUntilMs: Number.NEGATIVE_INFINITY,
    recordedId: undefined,
    settledFor: undefined,
    lastDone: undefined,
    isPlanned: false,
    isGone: false,
  };
}

/**
 * Creates are recorded before they are sent. Ids are recorded before the next read, or with the last write to the
 * Service. Throws what the write throws.
 *
 * @param main name of the Service's own load balancer
 */
export async function recordState(session: Session, state: JournalState, main: string): Promise<void> {
  if (!state.claimed || session.isRemoving) return;
  session.unsaved = state;
  if (state.tried.some((name) => !session.tried.includes(name))) await flush(session, main);
}

/** Writes what is not recorded yet. Throws what the write throws. */
export async function flush(session: Session, main: string): Promise<void> {
  const { unsaved, options } = session;
  session.unsaved = undefined;
  if (unsaved === undefined || options?.save === undefined) return;
  const notes = printNotes(unsaved);
  if (notes === session.lastNotes) return;
  try {
    await options.save({ id: unsaved.ids[main], notes });
  } catch (error) {
    // A withheld write is repeated later. After any other failure the Service was replaced, or is written anyway.
    if (error instanceof WithheldError) session.unsaved ??= unsaved;
    throw error;
  }
  session.notes.add(notes);
  session.lastNotes = notes;
  session.tried = unsaved.tried;
}
