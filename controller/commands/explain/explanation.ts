import type { NodeFacts } from './facts.ts';
import type { Facts } from './shown-fact.ts';

export interface Explanation {
  readonly node: string;
  /** The state, in one or two words. */
  readonly state: 'initialized' | 'waiting' | 'paused' | 'foreign' | 'missing' | 'powered off' | 'deleting';
  /** One of the documented reason codes, where one applies. */
  readonly reason: string;
  readonly why: string;
  /** What to do; empty when nothing has to be done. */
  readonly remedy: string;
  readonly facts: Facts;
  readonly events: NodeFacts['events'];
}
