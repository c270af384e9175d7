import type { Found, Owner, Refusal } from './resource.ts';
import type { Wait } from './step.ts';

/** The latest desired state of one Service. */
export interface Request<D = unknown> {
  readonly owner: Owner;
  /** Undefined: everything is to be deleted. */
  readonly desired: D | undefined;
  /** With nothing desired: resources that can be marked stay, without our marks. */
  readonly retain?: boolean;
  /** A person has consented to another address. */
  readonly mayChangeAddress?: boolean;
  /** The key under which a resource of the cloud's classic controller is adopted. */
  readonly adopts?: ((found: Found) => string | undefined) | undefined;
}

export interface Result {
  /**
   * - `settled`: the cloud has the desired state; with nothing desired: no resource of ours exists
   * - `waiting`: has to wait for the cloud or for another Service
   * - `refused`: everything except the refusals is done
   * - `failed`: a call failed; the rest was done
   * - `withheld`: a call was not permitted
   */
  readonly state: 'settled' | 'waiting' | 'refused' | 'failed' | 'withheld';
  /** When to call again; undefined where nothing is to do before a change. */
  readonly againInMs: number | undefined;
  readonly refusals: readonly Refusal[];
  readonly waits: readonly Wait[];
  readonly errors: readonly unknown[];
  /** Members that the cloud refused, by id. */
  readonly refused: readonly string[];
}
