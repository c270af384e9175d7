import type { Found, Owner, Refusal } from './resource.ts';
import type { Wait } from './step.ts';

/** What one Service asks for now. */
export interface Request<D = unknown> {
  readonly owner: Owner;
  /** Undefined: everything goes. */
  readonly desired: D | undefined;
  /** When everything goes: what can be marked stays, without our marks. */
  readonly retain?: boolean;
  /** A person has consented to another address. */
  readonly mayChangeAddress?: boolean;
  /** The key of what the classic controller of the cloud made for it and is taken over. */
  readonly adopts?: ((found: Found) => string | undefined) | undefined;
}

export interface Result {
  /**
   * - `settled`: everything is as asked for; with nothing desired: nothing of ours is left
   * - `waiting`: the cloud, or another Service, is waited for
   * - `refused`: all is done but for the refusals
   * - `failed`: a call failed; the rest was done
   * - `withheld`: a call was not permitted
   */
  readonly state: 'settled' | 'waiting' | 'refused' | 'failed' | 'withheld';
  /** When to call again; undefined where only a change makes a difference. */
  readonly againInMs: number | undefined;
  readonly refusals: readonly Refusal[];
  readonly waits: readonly Wait[];
  readonly errors: readonly unknown[];
  /** What the cloud refused of what was sent together: members, by id. */
  readonly refused: readonly string[];
}
