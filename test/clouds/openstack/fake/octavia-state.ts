import type { FakeBalancer } from './fake-octavia-model.ts';
import type { FakeTimes } from './fake-octavia-work.ts';

/**
 * Octavia as far as load balancers of Services need it: after a write everything is pending for some reads, and refuses
 * other writes.
 */
export interface FakeOctavia {
  readonly balancers: Map<string, FakeBalancer>;
  /** Newest minor version of the API. */
  minor: number;
  readonly providers: Set<string>;
  /** How many looks at a load balancer show it PENDING after each write. */
  looks: number;
  /** How long each kind of work takes, by this clock, in place of `looks`. */
  takes: FakeTimes | undefined;
  /** What the next load balancer that is made comes to. */
  nextBecomes: 'ACTIVE' | 'ERROR';
  /** An administrator's; 403 otherwise. */
  mayFailOver: boolean;
  /** Puts a load balancer into ERROR. */
  breakDown(id: string): void;
  /** Everything is ACTIVE now, or gone. */
  settle(): void;
}
