import type { Instance } from '../../common/instance.ts';
import type { HealthCheck } from '../../common/process/health.ts';
import { createIpamTask } from '../ipam/ipam-task.ts';
import { ipamMetrics } from '../ipam/metrics.ts';
import { readClusterUid } from '../kube/cluster-identity.ts';
import type { NodeView } from '../model/node-view.ts';
import { routeMetrics } from '../routes/metrics.ts';
import { createRouteTask } from '../routes/route-task.ts';
import { createPermit } from '../runtime/leader-permit.ts';
import type { LeaderTask } from '../runtime/leader-task.ts';
import { loopParts, type NetworkContext } from './network-context.ts';
import type { NetworkOptions } from './options/network-options.ts';
import { type Cache, createServiceLoops } from './service-loops.ts';
import { createTagging } from './tagging.ts';

/** Load balancers, routes, pod ranges and tags: the leader tasks besides that for Nodes. */
export interface Network {
  readonly tasks: readonly LeaderTask[];
  /** Starts the caches, on standbys too. */
  start(): void;
  stop(): Promise<void>;
  readonly ready: readonly HealthCheck[];
  /** Of the API server's objects, by resource. */
  readonly caches: readonly Cache[];
  /** For the node task: whether a Node of this scope waits for its routes. */
  routesEnabled(scope: string, node: NodeView): boolean;
  /** A lookup in this scope has found the instance, with all its tags. */
  seen(scope: string, instance: Instance): void;
  /** For the node task: this Node is about to be deleted on evidence. */
  deleting(node: NodeView): void;
}

/** Creates the service, route, IPAM and tagging tasks, and only the caches and loops that a configured cloud needs. */
export function createNetwork(context: NetworkContext, options: NetworkOptions): Network {
  const { loops, log } = context;
  const ofServices = loops.service ? createServiceLoops(context, options) : undefined;
  const routes = loops.route ? routeTask(context, options) : undefined;
  const ipam = options.ipam && ipamTask(context, options.ipam);
  if (!ipam && loops.ipam)
    log.warn('nodeipam is named in --controllers, but --allocate-node-cidrs is false: it does not run');
  else if (!ipam && options.allocatesNodeCidrs === true)
    log.warn('--allocate-node-cidrs has no effect: nodeipam is not named in --controllers, as in *,nodeipam');
  const tagging = options.tagging && createTagging(context, options.tagging);
  if (!tagging && options.namesTags === true)
    log.warn('--tags has no effect: tagging is not named in --controllers, as in *,tagging');

  return {
    tasks: [...(ofServices?.tasks ?? []), ...[routes, ipam, tagging].filter((task) => task !== undefined)],
    caches: ofServices?.caches ?? [],
    start: () => ofServices?.start(),
    stop: async () => ofServices?.stop(),
    ready: ofServices?.ready ?? [],
    routesEnabled: (scope, node) => routes?.routesEnabled(scope, node) ?? false,
    seen: (scope, instance) => tagging?.seen(scope, instance),
    deleting(node) {
      ofServices?.deleting(node);
      routes?.noteDeletion(node);
    },
  };
}

function routeTask(context: NetworkContext, options: NetworkOptions) {
  const { readApi, fence, nodes, resolver, registry, shipped, paused, budget, queueMetrics } = context;
  return createRouteTask(
    {
      ...loopParts(context, 'route'),
      nodes,
      resolver,
      metrics: registry.define(routeMetrics),
      shipped,
      permit: (nodePaused) =>
        createPermit({
          fence,
          paused: () => paused() || (nodePaused?.() === true ? 'the Node is paused' : false),
        }),
      clusterUid: () => readClusterUid(readApi),
    },
    {
      bounds: options.bounds,
      enabled: options.routes,
      auditMs: options.routeAuditMs,
      concurrentRoutes: options.concurrentRoutes,
      budget,
      queueMetrics,
    },
  );
}

function ipamTask(context: NetworkContext, options: NonNullable<NetworkOptions['ipam']>) {
  const { nodes, resolver, registry, queueMetrics } = context;
  const parts = { ...loopParts(context, 'ipam'), nodes, resolver, metrics: registry.define(ipamMetrics) };
  return createIpamTask(parts, { ...options, queueMetrics });
}
