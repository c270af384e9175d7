import { untilAborted } from '../../common/process/until.ts';
import { conditions } from '../../common/well-known.ts';
import type { InformerEvent } from '../kube/informer.ts';
import type { BudgetKeeper } from '../model/budget-keeper.ts';
import { memoizedCidrParser } from '../model/cidr.ts';
import { conditionOf, isPaused, isUninitialized, type NodeView } from '../model/node-view.ts';
import type { RouteBounds } from '../model/route-bounds.ts';
import { sameAddresses } from '../nodes/addresses.ts';
import type { LeaderTask } from '../runtime/leader-task.ts';
import { createWorkQueue, type QueueMetrics, type WorkQueue } from '../runtime/work-queue.ts';
import { createClaimOrder } from './claim-order.ts';
import { createNodeConditions, type NodeConditions } from './node-conditions.ts';
import { type RouteContext, routedBy } from './route-context.ts';
import { createRouteRecords } from './route-records.ts';
import { createScopeRoutes, type ScopeRoutes } from './scope-routes.ts';

export interface RouteTaskOptions {
  readonly bounds: RouteBounds;
  /** `--configure-cloud-routes`. */
  readonly enabled: boolean;
  /**
   * `--route-reconciliation-period`: how often the route table is read without any event. Below a minute counts as a
   * minute.
   */
  readonly auditMs: number;
  /** Cloud calls in progress at once. Default 32. */
  readonly concurrentRoutes?: number;
  readonly budget: BudgetKeeper;
  readonly queueMetrics?: QueueMetrics | undefined;
}

export interface RouteTask extends LeaderTask {
  /** For the node task: whether this Node, whose instance is in this scope, gets pod routes. */
  routesEnabled(scope: string, node: NodeView): boolean;
  /** Called by the node lifecycle before it deletes this Node on evidence: its routes then need no budget. */
  noteDeletion(node: NodeView): void;
}

interface Term {
  readonly scopes: ReadonlyMap<string, ScopeRoutes>;
  readonly rounds: WorkQueue;
  readonly routes: WorkQueue;
  readonly conditions: WorkQueue;
  readonly nodeConditions: NodeConditions;
}

/** Changes of Nodes are collected this long, or longer (`plan-pace.ts`), before the next plan. */
const debounceMs = 200;
const shortestAuditMs = 60_000;
const conditionWrites = 32;
/** Routes need a bound that the Nodes do not set themselves. Upstream exits in this case. */
const noRange = '--cluster-cidr is empty; give it, or --configure-cloud-routes=false';

/** Maintains the pod routes of all Nodes in the route tables of the clouds, and shows their status on the Nodes. */
export function createRouteTask(context: RouteContext, options: RouteTaskOptions): RouteTask {
  const { clock, random, log, nodes, resolver } = context;
  const auditMs = Math.max(options.auditMs, shortestAuditMs);
  const parse = memoizedCidrParser();
  const served = resolver.configured.filter(({ api }) => api?.routes);
  const runs = options.enabled && options.bounds.clusterCidrs.length > 0 && served.length > 0;
  // On standbys too, so that a new leader knows the order.
  const order = createClaimOrder(nodes);
  let term: Term | undefined;

  context.metrics.blocked.collect(() => {
    for (const scope of term?.scopes.values() ?? []) scope.measureBlocked();
  });
  nodes.subscribe((event) => {
    if (term) observe(term, event);
  });

  function observe(current: Term, event: InformerEvent<NodeView>): void {
    if (event.type === 'updated' && !concernsRoutes(event.old, event.object)) return;
    if (event.type === 'deleted') {
      current.nodeConditions.forget(event.key);
      for (const { scope, accepts } of served)
        if (accepts(event.old.providerID)) current.scopes.get(scope)?.gone(event.old);
    } else {
      for (const scope of current.scopes.values()) scope.claimed(event.object);
      // Routes to the old addresses lead elsewhere now.
      if (event.type === 'updated' && !sameAddresses(event.old.addresses, event.object.addresses))
        current.scopes.get(routedBy(event.object, resolver.configured)?.scope ?? '')?.invalidate();
    }
    for (const [scope, { roundAfterMs }] of current.scopes)
      current.rounds.enqueue(scope, { afterMs: roundAfterMs(debounceMs) });
  }

  function startTerm(): Term {
    const common = { clock, random, log, ...(options.queueMetrics && { metrics: options.queueMetrics }) };
    const scopes = new Map<string, ScopeRoutes>();
    const routeStatusesOf = (node: NodeView) =>
      scopes.get(routedBy(node, resolver.configured)?.scope ?? '')?.routeStatuses(node) ?? [];
    const nodeConditions = createNodeConditions(context, routeStatusesOf);
    const rounds = createWorkQueue({
      ...common,
      name: 'Routes',
      concurrency: Math.max(1, served.length),
      reconcile: async (scope, signal) => scopes.get(scope)?.round(signal),
    });
    const routes = createWorkQueue({
      ...common,
      name: 'Route',
      concurrency: options.concurrentRoutes ?? 200,
      async reconcile(key, signal) {
        const space = key.lastIndexOf(' ');
        return scopes.get(key.slice(0, space))?.apply(key.slice(space + 1), signal);
      },
    });
    const conditionQueue = createWorkQueue({
      ...common,
      name: 'RouteConditions',
      concurrency: conditionWrites,
      reconcile: (name) => nodeConditions.reconcile(name),
    });
    const records = createRouteRecords(context.api, context.shipped);
    for (const { scope, api } of served) {
      if (!api?.routes) continue;
      const signals = {
        route: (destination: string) => routes.enqueue(`${scope} ${destination}`),
        node: (name: string) => conditionQueue.enqueue(name),
        round: (afterMs: number) =>
          rounds.enqueue(scope, { afterMs: scopes.get(scope)?.roundAfterMs(afterMs) ?? afterMs }),
      };
      const { bounds, budget } = options;
      const scopeOptions = { bounds, order, auditMs, budget, parse };
      scopes.set(scope, createScopeRoutes(context, api, api.routes, records, scopeOptions, signals));
    }
    return { scopes, rounds, routes, conditions: conditionQueue, nodeConditions };
  }

  async function lead(signal: AbortSignal): Promise<void> {
    if (!runs) {
      const why = whyOff();
      if (why === noRange) log.warn('routes are off', { why });
      else log.info('routes are off', { why });
      return untilAborted(signal);
    }
    const current = startTerm();
    // While the Nodes are listed.
    for (const scope of current.scopes.values()) void scope.readTable(signal);
    await Promise.race([nodes.whenSynced(), untilAborted(signal)]);
    if (signal.aborted) return;
    term = current;
    for (const scope of current.scopes.keys()) current.rounds.enqueue(scope);
    for (const queue of [current.rounds, current.routes, current.conditions]) queue.start();
    await untilAborted(signal);
    term = undefined;
    await Promise.all([current.rounds.stop(), current.routes.stop(), current.conditions.stop()]);
    for (const gauge of [context.metrics.routes, context.metrics.blocked, context.metrics.withheld]) gauge.reset();
  }

  function whyOff(): string {
    if (!options.enabled) return '--configure-cloud-routes is false';
    return served.length === 0 ? 'no configured cloud has routes' : noRange;
  }

  function progress(): ReadonlyMap<string, number> {
    if (!term) return new Map();
    const { rounds, routes, conditions: written } = term;
    return new Map([
      ['route', Math.min(rounds.lastProgressAt, routes.lastProgressAt)],
      ['route-conditions', written.lastProgressAt],
    ]);
  }

  return {
    lead,
    progress,
    noteDeletion(node) {
      for (const scope of term?.scopes.values() ?? []) scope.deleting(node);
    },
    routesEnabled: (scope) => runs && served.some((cloud) => cloud.scope === scope),
  };
}

/** Upstream's filter (addresses and pod ranges), plus ownership, pause and condition of the Node. */
export function concernsRoutes(old: NodeView, node: NodeView): boolean {
  const [before, now] = [old, node].map((each) => conditionOf(each, conditions.networkUnavailable));
  return (
    old.uid !== node.uid ||
    old.providerID !== node.providerID ||
    old.podCIDRs.join(',') !== node.podCIDRs.join(',') ||
    !sameAddresses(old.addresses, node.addresses) ||
    isUninitialized(old) !== isUninitialized(node) ||
    isPaused(old) !== isPaused(node) ||
    before?.status !== now?.status ||
    before?.reason !== now?.reason
  );
}
