import type { Change, Found, Refusal, ResourceName, Want } from './resource.ts';

/** One change of one part of a document, as it is planned. */
export type PlannedEdit = { readonly put: Want } | { readonly drop: Found };

/** One call to the cloud, as plain data. */
export interface Step {
  /** Unique in a plan, and the same in every plan that has the same step. */
  readonly id: string;
  readonly do: 'create' | 'update' | 'delete' | 'mark' | 'edit';
  /** Of a document: its type. */
  readonly kind: string;
  readonly name: ResourceName;
  /** Starts after the success of these, */
  readonly after: readonly string[];
  /** and after the end of those. */
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
 * `running`: the cloud has answered and goes on with it, and this run does not wait for the end. `parked`: this run has
 * ended before it was sent or answered.
 */
export type Outcome = 'done' | 'skipped' | 'running' | 'parked' | { readonly error: unknown };

/** The steps from the found state to the desired one, as plain data. */
export interface Plan {
  readonly steps: readonly Step[];
  readonly refusals: readonly Refusal[];
  /** Shown in the condition, although everything is done. */
  readonly remarks?: readonly string[];
  readonly waits: readonly Wait[];
  /** Ids of what is there, by name. */
  readonly bound: Readonly<Record<ResourceName, string>>;
}
