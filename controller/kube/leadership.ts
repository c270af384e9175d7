import type { Fence } from './api.ts';

/** The state of the leader election for the rest of the process. */
export interface Leadership extends Fence {
  readonly leading: boolean;
  /**
   * The leader's report URL, from the Lease as last observed; undefined when the Lease is free, expired or has none.
   */
  leaderReportUrl(): string | undefined;
  /** The Lease's annotations as last written or observed. */
  annotations(): Readonly<Record<string, string>>;
  /**
   * Writes annotations (null removes one) with a renewal, guarded by resourceVersion. Resolves once the server has
   * stored them. Throws a KubeError when this replica does not lead or the write failed; it may then be stored or not:
   * read `annotations()` after the next renewal.
   */
  annotate(changes: Readonly<Record<string, string | null>>): Promise<void>;
}
