import type { Fence } from './api.ts';

/** What the elector tells the rest of the process. */
export interface Leadership extends Fence {
  readonly leading: boolean;
  /** The leader's report URL, from the Lease as last seen; undefined when the Lease is free, expired or carries none. */
  leaderReportUrl(): string | undefined;
  /** The Lease's annotations as last written or seen. */
  annotations(): Readonly<Record<string, string>>;
  /**
   * Writes annotations (null removes) together with a renewal, guarded by resourceVersion. Resolves once the server has them; throws a KubeError when
   * this replica does not lead or the write failed (then it may or may not be there: read `annotations()` after the next renewal).
   */
  annotate(changes: Readonly<Record<string, string | null>>): Promise<void>;
}
