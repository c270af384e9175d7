import type { DocumentType } from './driver.ts';
import type { CallSubject } from './ineffective-calls.ts';
import type { Match } from './match.ts';
import type { Found, Kind, Refusal, ResourceName, Want } from './resource.ts';

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
  /** Whether a shared resource may be deleted: `later` = not every Service is declared yet. */
  mayDrop(found: Found): 'yes' | 'no' | 'later';
  /** Whether any Service desires that shared resource. */
  isDesired(name: ResourceName): boolean;
}
