import type { Tags } from '../clouds/node-tags.ts';
import type { CallLimits } from '../clouds/token-bucket.ts';
import type { BudgetKeeper } from '../model/budget-keeper.ts';
import type { QueueMetrics } from '../runtime/work-queue.ts';

export interface NodeTagsOptions {
  /** `--tags`; at least one. */
  readonly tags: Tags;
  /** `--tagging-controller-rate-limit` and `--tagging-controller-burst-limit`, in Nodes. Undefined: no limit. */
  readonly limits: CallLimits | undefined;
  readonly budget: BudgetKeeper;
  readonly queueMetrics?: QueueMetrics | undefined;
}
