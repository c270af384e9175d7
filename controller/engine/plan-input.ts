import type { DecideInput } from './decide.ts';
import type { DocumentType } from './driver.ts';
import type { Found, Refusal, ResourceName } from './resource.ts';

export interface PlanInput extends DecideInput {
  readonly documents: ReadonlyMap<string, DocumentType>;
  /** What the cloud cannot do of what is asked for. */
  readonly refusals: readonly Refusal[];
  /** Everything goes. */
  readonly removing: boolean;
  /** With `removing`: what can be marked stays, without our marks. */
  readonly retain: boolean;
  /** Whether something that all Services share may go: `later` = not every Service is declared yet. */
  mayDrop(found: Found): 'yes' | 'no' | 'later';
  /** Whether any Service wants that shared one. */
  isWanted(name: ResourceName): boolean;
}
