import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { MetricsOf } from '../../common/process/metrics.ts';
import type { Random } from '../../common/process/random.ts';
import type { Fence, KubeApi } from '../kube/api.ts';
import type { EventSink } from '../kube/event-sink.ts';
import type { Informer } from '../kube/informer.ts';
import { type ServiceView, viewService } from '../model/service-view.ts';
import type { CheckVisibility } from './credential-visibility.ts';
import type { MemberSets } from './members/member-sets.ts';
import type { serviceMetrics } from './metrics.ts';
import type { PodSource } from './pods/pod-source.ts';
import type { ServingCloud } from './serving-cloud.ts';

/** The dependencies of the service task. */
export interface ServiceContext {
  /** Fenced: a replica that does not lead cannot write through it. */
  readonly api: KubeApi;
  /** For the permit of each mutating call to a cloud. */
  readonly fence: Fence;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Trimmed with `serviceViewFor(clouds)`. */
  readonly services: Informer<ServiceView>;
  /** From `servingClouds`. */
  readonly clouds: readonly ServingCloud[];
  readonly members: Pick<MemberSets, 'membersFor' | 'onChange'>;
  /** For Services whose members are pods. */
  readonly pods: Pick<PodSource, 'slicesOf' | 'onChange'>;
  readonly checkVisibility: CheckVisibility;
  readonly events: EventSink;
  readonly metrics: MetricsOf<typeof serviceMetrics>;
  /** True while everything is paused. */
  paused(): boolean;
}

/** The view of a Service with what the configured clouds read of it. */
export function serviceViewFor(clouds: readonly ServingCloud[]): (raw: unknown) => ServiceView {
  const keys = new Set(clouds.flatMap(({ loadBalancers }) => loadBalancers.annotations.map(({ key }) => key)));
  const prefixes = clouds.flatMap(({ loadBalancers }) => loadBalancers.annotationPrefixes);
  const isRead = (key: string) => keys.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
  const classic = clouds.flatMap(({ loadBalancers }) => loadBalancers.classicFinalizers);
  return (raw) => viewService(raw, isRead, classic);
}
