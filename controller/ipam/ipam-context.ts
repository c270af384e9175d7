import type { MetricsOf } from '../../common/process/metrics.ts';
import type { KubeApi } from '../kube/api.ts';
import type { NodeTaskContext } from '../nodes/node-task-context.ts';
import type { ipamMetrics } from './metrics.ts';

export interface IpamContext extends NodeTaskContext {
  /** Fenced, and paused where everything is. */
  readonly api: KubeApi;
  readonly metrics: MetricsOf<typeof ipamMetrics>;
}
