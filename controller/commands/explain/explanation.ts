import type { NodeFacts } from './facts.ts';

export interface Explanation {
  readonly node: string;
  /** One word: where it stands. */
  readonly state: 'initialized' | 'waiting' | 'paused' | 'foreign' | 'missing' | 'powered off';
  /** One of the documented reason codes, where one applies. */
  readonly reason: string;
  readonly why: string;
  /** What to do about it; empty when nothing need be done. */
  readonly remedy: string;
  readonly facts: Readonly<Record<string, string>>;
  readonly events: NodeFacts['events'];
}
