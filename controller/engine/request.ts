import type { Found, Owner, Refusal } from './resource.ts';
import type { Wait } from './step.ts';

/** What one Service asks for now. */
export interface Request<D = unknown> {
  readonly owner: Owner;
  /** Undefined: everything is to be deleted. */
  readonly desired: D | undefined;
  /** With nothing desired: what can be marked is retained, without our marks. */
  readonly retain?: boolean;
  /** A person has consented to another address. */
  readonly mayChangeAddress?: boolean;
  /** The key under which something of the cloud's classic controller is taken over. */
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
  /** Members that the cloud refused, by id. */
  readonly refused: readonly string[];
}
