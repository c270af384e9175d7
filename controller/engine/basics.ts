import type { Clock } from '../../common/process/clock.ts';
import type { LiveIndex } from './found-index.ts';
import type { Kind } from './resource.ts';

/** What every part of one engine may use. */
export interface Basics {
  readonly cluster: string;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  readonly kinds: ReadonlyMap<string, Kind>;
  /** Everything found, in its latest observed state. */
  readonly found: LiveIndex;
}
