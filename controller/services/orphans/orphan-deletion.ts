import { isCloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { MetricsOf } from '../../../common/process/metrics.ts';
import { names } from '../../../common/well-known.ts';
import type { ObservedLoadBalancer } from '../../clouds/load-balancers.ts';
import { type Permit, WithheldError } from '../../clouds/permit.ts';
import type { KubeApi } from '../../kube/api.ts';
import type { EventSink } from '../../kube/event-sink.ts';
import type { ClusterIdentity } from '../desired.ts';
import type { ServingCloud } from '../serving-cloud.ts';
import { liveServiceUids } from './live-services.ts';
import type { orphanMetrics } from './metrics.ts';
import { removeLoadBalancer } from './remove-load-balancer.ts';

export interface OrphanDeletionContext {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  readonly metrics: Pick<MetricsOf<typeof orphanMetrics>, 'deleted'>;
  /** For each mutating call to a cloud. */
  readonly permit: Permit;
}

/**
 * Deletes one orphan, unless a list of all Services right before each step has its Service. A CloudError or
 * WithheldError is logged: the next sweep tries again.
 */
export async function deleteOrphan(
  { api, clock, log, events, metrics, permit }: OrphanDeletionContext,
  cloud: ServingCloud,
  cluster: ClusterIdentity,
  observed: ObservedLoadBalancer,
  signal: AbortSignal,
): Promise<void> {
  const { scope } = cloud;
  const { id, service, owner } = observed;
  const fields = { scope, id, service };
  try {
    const outcome = await removeLoadBalancer({
      clock,
      cluster,
      cloud,
      observed,
      permit,
      signal,
      async reasonToKeep(now) {
        if (now.retained) return 'it is retained';
        const live = await liveServiceUids(api, signal);
        return live.has(owner?.service ?? '') ? 'its Service exists' : undefined;
      },
      onStep: ({ summary }) => log.info('deleting an orphan', { ...fields, step: summary }),
    });
    if (outcome.kind === 'kept') {
      log.warn('orphan not deleted', { ...fields, why: outcome.why });
      return;
    }
    metrics.deleted.add({ scope });
    log.info('orphan deleted', fields);
    const target = { apiVersion: 'v1', kind: 'Namespace', name: names.namespace, uid: cluster.uid };
    const of = `of Service ${service ?? 'unknown'}, which does not exist`;
    const message = `Deleted load balancer ${id ?? ''} in ${scope} ${of}`;
    events.emit(target, { type: 'Normal', reason: 'DeletedOrphanedLoadBalancer', message });
  } catch (error) {
    if (signal.aborted) return;
    if (!isCloudError(error) && !(error instanceof WithheldError)) throw error;
    log.warn('orphan not deleted', { ...fields, ...errorFields(error) });
  }
}
