import type { HealthCheck } from '../../common/process/health.ts';
import { readClusterUid } from '../kube/cluster-identity.ts';
import type { Informer } from '../kube/informer.ts';
import { createListWatch } from '../kube/list-watch.ts';
import { liveNodes } from '../model/live-nodes.ts';
import type { NodeView } from '../model/node-view.ts';
import type { ServiceView } from '../model/service-view.ts';
import { createPermit } from '../runtime/leader-permit.ts';
import type { LeaderTask } from '../runtime/leader-task.ts';
import { createVisibilityCheck } from '../services/credential-visibility.ts';
import { createMemberSets, type MemberSets } from '../services/members/member-sets.ts';
import { withMembers } from '../services/members/member-task.ts';
import { memberMetrics } from '../services/members/metrics.ts';
import { serviceMetrics } from '../services/metrics.ts';
import { orphanMetrics } from '../services/orphans/metrics.ts';
import { createOrphanSweep } from '../services/orphans/orphan-sweep.ts';
import { createPodSource, type PodSource } from '../services/pods/pod-source.ts';
import { serviceViewFor } from '../services/service-context.ts';
import { createServiceTask } from '../services/service-task.ts';
import { type ServingCloud, servingClouds } from '../services/serving-cloud.ts';
import { whyUnserved } from '../services/unserved/unserved-service.ts';
import { createUnservedTask } from '../services/unserved/unserved-task.ts';
import { loopParts, type NetworkContext } from './network-context.ts';
import type { NetworkOptions } from './options/network-options.ts';

/** A cache by the resource that it has. */
export type Cache = readonly [resource: string, cache: { stalenessMs(): number | undefined }];

/** The loops of Services: load balancers, their members, what is left of Services that are gone. */
export interface ServiceLoops {
  readonly tasks: readonly LeaderTask[];
  /** That of EndpointSlices begins with the first Service that asks for pods. */
  readonly caches: readonly Cache[];
  readonly ready: readonly HealthCheck[];
  start(): void;
  stop(): Promise<void>;
  /** This Node is about to be deleted on evidence. */
  deleting(node: NodeView): void;
}

/** Only the caches and loops that a configured cloud needs. */
export function createServiceLoops(context: NetworkContext, options: NetworkOptions): ServiceLoops {
  const { readApi, clock, random, resolver, registry, queueMetrics, pageSize } = context;
  const parts = loopParts(context, 'service');
  // Until all accounts are known, a Service could belong to a missing cloud, or have resources there.
  const why = whyUnserved(resolver.configured);
  const clouds = why === undefined ? servingClouds(resolver.configured) : [];
  const metrics = registry.define(serviceMetrics);
  const services = createListWatch({
    api: readApi,
    path: '/api/v1/services',
    trim: serviceViewFor(clouds),
    clock,
    random,
    log: parts.log,
    ...(pageSize === undefined ? {} : { pageSize }),
  });
  const pods = createPodSource({ api: readApi, clock, random, pageSize, log: parts.log });
  const unserved = createUnservedTask(
    { ...parts, services, metrics },
    { why, loadBalancerClasses: options.loadBalancerClasses, queueMetrics },
  );
  const members = why === undefined ? membersOf(context, options) : undefined;
  const served =
    members === undefined ? [] : servedTasks({ context, options, clouds, services, pods, members, metrics });
  return {
    tasks: [unserved, ...served],
    caches: [
      ['services', services],
      ['endpointslices', pods],
    ],
    // Without a cloud that serves, nothing depends on them.
    ready:
      members === undefined
        ? []
        : [
            {
              name: 'services-synced',
              check: () => (services.synced ? undefined : 'the cache of Services is not filled yet'),
            },
          ],
    start: () => services.start(),
    async stop() {
      await Promise.all([services.stop(), pods.stop()]);
    },
    deleting: (node) => members?.noteDeletion(node),
  };
}

function membersOf(context: NetworkContext, options: NetworkOptions): MemberSets {
  const { readApi, nodes, resolver, registry, budget } = context;
  const { clock, log, paused } = loopParts(context, 'service');
  return createMemberSets({
    nodes,
    clouds: resolver.configured,
    clock,
    log,
    metrics: registry.define(memberMetrics),
    budget,
    liveNodes: () => liveNodes(readApi, new AbortController().signal),
    paused,
    drainMs: options.drainMs,
  });
}

interface ServedParts {
  readonly context: NetworkContext;
  readonly options: NetworkOptions;
  readonly clouds: readonly ServingCloud[];
  readonly services: Informer<ServiceView>;
  readonly pods: PodSource;
  readonly members: MemberSets;
  readonly metrics: Parameters<typeof createServiceTask>[0]['metrics'];
}

/** The loop that serves Services, and the one that looks for load balancers whose Service is gone. */
function servedTasks({ context, options, clouds, services, pods, members, metrics }: ServedParts): LeaderTask[] {
  const { readApi, fence, nodes, resolver, registry, queueMetrics, leadership, budget } = context;
  const parts = loopParts(context, 'service');
  const clusterUid = () => readClusterUid(readApi);
  const task = createServiceTask(
    {
      ...parts,
      fence,
      services,
      clouds,
      members,
      pods,
      checkVisibility: createVisibilityCheck({ nodes, resolver, clock: parts.clock }),
      metrics,
    },
    {
      clusterUid,
      clusterName: options.clusterName,
      loadBalancerClasses: options.loadBalancerClasses,
      policy: options.policy,
      adopts: options.adopts ?? false,
      concurrentServiceSyncs: options.concurrentServiceSyncs,
      auditMs: options.loadBalancerAuditMs,
      queueMetrics,
    },
  );
  const sweep = createOrphanSweep(
    {
      ...parts,
      services,
      clouds,
      metrics: registry.define(orphanMetrics),
      permit: createPermit({ fence, paused: parts.paused }),
    },
    {
      cluster: async () => ({ uid: await clusterUid(), name: options.clusterName }),
      observed({ scope }) {
        const observations = task.observations();
        if (observations?.ready(scope) !== true) return undefined;
        return [...observations.all(scope)].map(([, observed]) => observed);
      },
      leadership,
      budget,
      deleteOrphans: options.deleteOrphans,
      periodMs: options.loadBalancerAuditMs,
    },
  );
  return [withMembers(task, members, nodes), sweep];
}
