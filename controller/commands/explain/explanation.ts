import type { NodeFacts } from './facts.ts';

export interface Explanation {
  readonly node: string;
  /** The state, in one or two words. */
  readonly state: 'initialized' | 'waiting' | 'paused' | 'foreign' | 'missing' | 'powered off';
  /** One of the documented reason codes, where one applies. */
  readonly reason: string;
  readonly why: string;
  /** What to do; empty when nothing has to be done. */
  readonly remedy: string;
  readonly facts: Readonly<Record<string, string>>;
  readonly events: NodeFacts['events'];
}
