import type { Change, Found, Refusal, ResourceName, Want } from './resource.ts';

/** One planned change of one part of a document. */
export type PlannedEdit = { readonly put: Want } | { readonly drop: Found };

/** One call to the cloud, as plain data. */
export interface Step {
  /** Unique in a plan, and the same in every plan that has the same step. */
  readonly id: string;
  readonly do: 'create' | 'update' | 'delete' | 'mark' | 'edit';
  /** Kind of the resource, or type of the document. */
  readonly kind: string;
  readonly name: ResourceName;
  /** Ids of steps that must have succeeded before this one starts. */
  readonly after: readonly string[];
  /** Ids of steps that must have ended before this one starts, however they end. */
  readonly follows: readonly string[];
  /** Starts when all other steps have ended: additions go before removals. */
  readonly last?: true;
  readonly want?: Want;
  /** Resources that the same create makes, too. */
  readonly inside?: readonly Want[];
  /** The resource that it changes, marks or deletes. */
  readonly found?: Found;
  readonly change?: Change;
  readonly as?: 'ours' | 'retained';
  readonly document?: string;
  readonly edits?: readonly PlannedEdit[];
  /** The created resource has no marks: only the journal records that it is ours. */
  readonly unmarked?: true;
  readonly summary: string;
}

export interface Wait {
  readonly name: ResourceName;
  readonly why: string;
  readonly ms: number;
  /** It ends with this operation. */
  readonly operation?: string | undefined;
  /** Another read would show nothing new. */
  readonly isOurs?: true;
}

/**
 * `running`: the cloud has accepted it, its operation is in progress, and this run does not wait for the end. `parked`:
 * this run ended before the step was sent or answered.
 */
export type Outcome = 'done' | 'skipped' | 'running' | 'parked' | { readonly error: unknown };

/** The steps from the found state to the desired one, as plain data. */
export interface Plan {
  readonly steps: readonly Step[];
  readonly refusals: readonly Refusal[];
  /** Shown in the condition, although everything is done. */
  readonly remarks?: readonly string[];
  readonly waits: readonly Wait[];
  /** Ids of the found resources, by name. */
  readonly bound: Readonly<Record<ResourceName, string>>;
}
