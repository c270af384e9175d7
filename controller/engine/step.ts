import type { DocumentType } from './driver.ts';
import type { Match } from './match.ts';
import type { Change, Found, Kind, Refusal, ResourceName, Want } from './resource.ts';

/** The part that a call changes, and the change. */
export interface CallSubject {
  readonly about: string;
  readonly change: string;
}

/** The input of a plan for one Service. */
export interface PlanInput {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly match: Match;
  readonly wants: readonly Want[];
  readonly mayChangeAddress: boolean;
  /** For how long the result of an earlier create may still be missing in lists. */
  unseenMs(name: ResourceName, kind: Kind): number;
  /** The desired spec; for shared kinds the union of what all Services desire. */
  specOf(want: Want, existing: Found | undefined): unknown;
  /** Whether that call was accepted several times without effect. */
  isIneffective(subject: CallSubject): boolean;
  readonly documents: ReadonlyMap<string, DocumentType>;
  /** Requests of the Service that the cloud cannot fulfil. */
  readonly refusals: readonly Refusal[];
  /** Everything is to be deleted. */
  readonly removing: boolean;
  /** With `removing`: resources that can be marked stay, without our marks. */
  readonly retain: boolean;
  /** This process has marked it as retained for the owner of the plan. */
  hasRetained(found: Found): boolean;
  /** Whether a shared resource may be deleted: `later` = not every Service is declared yet. */
  mayDrop(found: Found): 'yes' | 'no' | 'later';
  /** Whether any Service desires that shared resource. */
  isDesired(name: ResourceName): boolean;
}

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
  readonly want?: Want;
  /** Resources that the same create makes, too. */
  readonly inside?: readonly Want[];
  /** The resource that it changes, marks or deletes. */
  readonly found?: Found;
  readonly change?: Change;
  readonly as?: 'ours' | 'retained';
  readonly document?: string;
  /** The changes of its parts, in one write. */
  readonly edits?: readonly Draft[];
  /** The created resource has no marks: only the journal records that it is ours. */
  readonly unmarked?: true;
  readonly summary: string;
}

/** A step without its order. */
export type Draft = Omit<Step, 'after' | 'follows'>;

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
