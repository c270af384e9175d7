import type { Permit } from '../clouds/permit.ts';
import type { Basics } from './basics.ts';
import type { Documents } from './document.ts';
import type { IneffectiveCalls } from './ineffective-calls.ts';
import type { Inventory } from './inventory.ts';
import type { Lanes } from './lanes.ts';
import type { Locks } from './locks.ts';
import type { Operations } from './operations.ts';
import type { Owner } from './resource.ts';
import type { Shared } from './shared.ts';
import type { Outcome, Step } from './step.ts';

/** What all parts of one engine work with. */
export interface Core extends Basics {
  readonly inventory: Inventory;
  readonly documents: Documents;
  readonly lanes: Lanes;
  readonly locks: Locks;
  readonly operations: Operations;
  readonly shared: Shared;
  readonly ineffectiveCalls: IneffectiveCalls;
  permit(owner: Owner): Permit;
  /** For logs, events and metrics. */
  readonly onStep: ((owner: Owner, step: Step, outcome: Outcome) => void) | undefined;
}
