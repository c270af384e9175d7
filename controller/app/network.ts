import type { Instance } from '../../common/instance.ts';
import type { HealthCheck } from '../../common/process/health.ts';
import { createIpamTask } from '../ipam/ipam-task.ts';
import { ipamMetrics } from '../ipam/metrics.ts';
import { readClusterUid } from '../kube/cluster-identity.ts';
import type { Informer } from '../kube/informer.ts';
import { createListWatch } from '../kube/list-watch.ts';
import { liveNodes } from '../model/live-nodes.ts';
import type { NodeView } from '../model/node-view.ts';
import type { ServiceView } from '../model/service-view.ts';
import { routeMetrics } from '../routes/metrics.ts';
import { createRouteTask } from '../routes/route-task.ts';
import { createPermit } from '../runtime/leader-permit.ts';
import type { LeaderTask } from '../runtime/leader-task.ts';
import { createVisibilityCheck } from '../services/credential-visibility.ts';
import { createMemberSets } from '../services/members/member-sets.ts';
import { memberSourceOf, withMembers } from '../services/members/member-task.ts';
import { memberMetrics } from '../services/members/metrics.ts';
import { serviceMetrics } from '../services/metrics.ts';
import { orphanMetrics } from '../services/orphans/metrics.ts';
import { createOrphanSweep } from '../services/orphans/orphan-sweep.ts';
import { createPodSource, type PodSource } from '../services/pods/pod-source.ts';
import { serviceViewFor } from '../services/service-context.ts';
import { createServiceTask } from '../services/service-task.ts';
import { servingClouds } from '../services/serving-cloud.ts';
import { whyUnserved } from '../services/unserved/unserved-service.ts';
import { createUnservedTask } from '../services/unserved/unserved-task.ts';
import type { NetworkContext } from './network-context.ts';
import { type Loops, loopNames } from './options/loops.ts';
import type { NetworkOptions } from './options/network-options.ts';
import { createTagging } from './tagging.ts';

/** Load balancers, routes, pod ranges and tags: the leader tasks besides that for Nodes. */
export interface Network {
  readonly tasks: readonly LeaderTask[];
  /** Starts the caches, on standbys too. */
  start(): void;
  stop(): Promise<void>;
  readonly ready: readonly HealthCheck[];
  /** That of Services; undefined where no loop reads them. */
  readonly services: Pick<Informer<ServiceView>, 'stalenessMs'> | undefined;
  /** That of EndpointSlices, which begins with the first Service that asks for pods. */
  readonly endpointSlices: Pick<PodSource, 'stalenessMs'>;
  /** For the node task: whether a Node of this scope waits for its routes. */
  routesEnabled(scope: string, node: NodeView): boolean;
  /** A lookup in this scope has found the instance, with all its tags. */
  seen(scope: string, instance: Instance): void;
  /** For the node task: this Node is about to be deleted on evidence. */
  deleting(node: NodeView): void;
}

/** Creates the service, route, IPAM and tagging tasks, and only the caches and loops that a configured cloud needs. */
export function createNetwork(context: NetworkContext, options: NetworkOptions): Network {
  const { readApi, api, fence, clock, random, log, nodes, resolver, events, registry, queueMetrics } = context;
  const { paused, budget, loops } = context;
  const logOf = (loop: keyof Loops) => log.with({ controller: loopNames[loop] });
  const clusterUid = () => readClusterUid(readApi);
  // Until all accounts are known, a Service could belong to a missing cloud, or have resources there.
  const why = whyUnserved(resolver.configured);
  const clouds = why === undefined ? servingClouds(resolver.configured) : [];
  const tasks: LeaderTask[] = [];

  const services = loops.service
    ? createListWatch({
        api: readApi,
        path: '/api/v1/services',
        trim: serviceViewFor(clouds),
        clock,
        random,
        log: logOf('service'),
        ...(context.pageSize === undefined ? {} : { pageSize: context.pageSize }),
      })
    : undefined;
  const metrics = services && registry.define(serviceMetrics);
  if (services && metrics)
    tasks.push(
      createUnservedTask(
        { api, clock, random, services, events, metrics, paused, log: logOf('service') },
        { why, loadBalancerClasses: options.loadBalancerClasses, queueMetrics },
      ),
    );
  const members =
    services && why === undefined
      ? createMemberSets({
          nodes,
          clouds: resolver.configured,
          clock,
          log: logOf('service'),
          metrics: registry.define(memberMetrics),
          budget,
          liveNodes: () => liveNodes(readApi, new AbortController().signal),
          paused,
          drainMs: options.drainMs,
        })
      : undefined;
  const pods = createPodSource({
    api: readApi,
    clock,
    random,
    pageSize: context.pageSize,
    log: logOf('service'),
  });
  if (services && metrics && members) {
    const task = createServiceTask(
      {
        api,
        fence,
        clock,
        random,
        log: logOf('service'),
        services,
        clouds,
        members: memberSourceOf(members),
        pods,
        checkVisibility: createVisibilityCheck({ nodes, resolver, clock }),
        events,
        metrics,
        paused,
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
    tasks.push(withMembers(task, members, nodes));
    const sweep = createOrphanSweep(
      {
        api,
        clock,
        random,
        log: logOf('service'),
        services,
        clouds,
        events,
        paused,
        metrics: registry.define(orphanMetrics),
        permit: createPermit({ fence, paused }),
      },
      {
        cluster: async () => ({ uid: await clusterUid(), name: options.clusterName }),
        observed({ scope }) {
          const observations = task.observations();
          if (observations?.ready(scope) !== true) return undefined;
          return [...observations.all(scope)].map(([, observed]) => observed);
        },
        leadership: context.leadership,
        budget,
        deleteOrphans: options.deleteOrphans,
        periodMs: options.loadBalancerAuditMs,
      },
    );
    tasks.push(sweep);
  }

  const routes = loops.route
    ? createRouteTask(
        {
          api,
          clock,
          random,
          log: logOf('route'),
          nodes,
          resolver,
          events,
          metrics: registry.define(routeMetrics),
          shipped: context.shipped,
          paused,
          permit: (nodePaused) =>
            createPermit({
              fence,
              paused: () => paused() || (nodePaused?.() === true ? 'the Node is paused' : false),
            }),
          clusterUid,
        },
        {
          bounds: options.bounds,
          enabled: options.routes,
          auditMs: options.routeAuditMs,
          concurrentRoutes: options.concurrentRoutes,
          budget,
          queueMetrics,
        },
      )
    : undefined;
  if (routes) tasks.push(routes);

  if (options.ipam)
    tasks.push(
      createIpamTask(
        {
          api,
          clock,
          random,
          log: logOf('ipam'),
          nodes,
          resolver,
          events,
          paused,
          metrics: registry.define(ipamMetrics),
        },
        { ...options.ipam, queueMetrics },
      ),
    );
  else if (loops.ipam)
    log.warn('nodeipam is named in --controllers, but --allocate-node-cidrs is false: it does not run');
  else if (options.allocatesNodeCidrs === true)
    log.warn('--allocate-node-cidrs has no effect: nodeipam is not named in --controllers, as in *,nodeipam');

  const tagging = options.tagging && createTagging(context, options.tagging);
  if (tagging) tasks.push(tagging);
  else if (options.namesTags === true)
    log.warn('--tags has no effect: tagging is not named in --controllers, as in *,tagging');

  return {
    tasks,
    services,
    endpointSlices: pods,
    start: () => services?.start(),
    async stop() {
      await Promise.all([services?.stop(), pods.stop()]);
    },
    // Without a cloud that serves, nothing depends on them.
    ready:
      services && members
        ? [
            {
              name: 'services-synced',
              check: () => (services.synced ? undefined : 'the cache of Services is not filled yet'),
            },
          ]
        : [],
    routesEnabled: (scope, node) => routes?.routesEnabled(scope, node) ?? false,
    seen: (scope, instance) => tagging?.seen(scope, instance),
    deleting(node) {
      members?.noteDeletion(node);
      routes?.noteDeletion(node);
    },
  };
}
