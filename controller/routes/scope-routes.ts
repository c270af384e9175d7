import { isCloudError } from '../../common/cloud-error.ts';
import { backoffMs } from '../../common/process/backoff.ts';
import { errorFields } from '../../common/process/log.ts';
import { conditions } from '../../common/well-known.ts';
import type { Cloud } from '../clouds/cloud.ts';
import type { DesiredRoute, ObservedRoute, Routes } from '../clouds/routes.ts';
import type { BudgetKeeper } from '../model/budget-keeper.ts';
import type { Cidr } from '../model/cidr.ts';
import { instanceOf as instanceOfCloud } from '../model/instance-claims.ts';
import { conditionOf, type NodeView } from '../model/node-view.ts';
import type { RouteBounds } from '../model/route-bounds.ts';
import type { ClaimOrder } from './claim-order.ts';
import { isLasting } from './lasting-errors.ts';
import { networkChange, type RouteStatus } from './network-condition.ts';
import { createPlanPace } from './plan-pace.ts';
import { type RemovalReason, removalReasons, routeReasons } from './reasons.ts';
import { createRecordKeeper } from './record-keeper.ts';
import { createRemovalApproval } from './removal-approval.ts';
import type { Requeue } from './requeue.ts';
import { nodesOfScope, type RouteContext } from './route-context.ts';
import { createRouteFailures } from './route-failures.ts';
import type { RoutePlan } from './route-plan.ts';
import { planRoutes } from './route-planner.ts';
import type { RouteRecords } from './route-records.ts';
import { createRouteSteps } from './route-steps.ts';
import { createTableCache } from './table-cache.ts';
import { createVmAddresses } from './vm-addresses.ts';
import { createWaitingCreations } from './waiting-creations.ts';

export interface ScopeOptions {
  readonly bounds: RouteBounds;
  readonly order: ClaimOrder;
  /** The maximal age of the cached table, milliseconds. */
  readonly auditMs: number;
  readonly budget: BudgetKeeper;
  readonly parse: (text: string) => Cidr | undefined;
}

/** Signals to the queues. */
export interface ScopeSignals {
  /** The pending change of this destination differs. */
  route(destination: string): void;
  /** The condition of this Node is out of date. */
  node(name: string): void;
  /** Plan again, after this many milliseconds at the earliest. */
  round(afterMs: number): void;
}

/** The routes of one scope: the cached table, the pending changes and their execution. */
export interface ScopeRoutes {
  /** Reads the table ahead of the first round. A failure is left to that round. */
  readTable(signal: AbortSignal): Promise<unknown>;
  /** Reads the table when it is due, plans, and schedules the changes. Safe to repeat. */
  round(signal: AbortSignal): Promise<Requeue>;
  /** How long the next round waits after a change of a Node, at least `askedMs`. */
  roundAfterMs(askedMs: number): number;
  /** Executes the pending change of one destination. Throws a CloudError or a KubeError, to be repeated. */
  apply(destination: string, signal: AbortSignal): Promise<Requeue | undefined>;
  /** The status of each route of a Node of this scope. */
  routeStatuses(node: NodeView): readonly RouteStatus[];
  /** A Node was added or changed: cancels removals of routes to its ranges. */
  claimed(node: NodeView): void;
  /** Invalidates the cached table after a change that it may not show. */
  invalidate(): void;
  gone(node: NodeView): void;
  /** This controller is about to delete the Node on evidence. */
  deleting(node: NodeView): void;
  /** Sets the gauge of pod ranges without a route. */
  measureBlocked(): void;
}

/**
 * A table older than this is read again before a route is deleted: the route may have been replaced by a foreign one.
 */
const evidenceMs = 10_000;
/** The shortest interval between reads of the table after failed changes. */
const rereadMs = 10_000;
/** The delay before withheld removals are checked again. */
const waitMs = 30_000;
const pausedMs = 1500;
/** After so many failed reads in a row, Nodes say why, where time alone is no remedy. */
const failuresToShow = 3;
/** The shortest interval between replacements of a route that drops packets although its Node is Ready. */
const blackholeReplaceMs = 3_600_000;

export function createScopeRoutes<R extends ObservedRoute>(
  context: RouteContext,
  { name, scope, formerScopes }: Pick<Cloud, 'name' | 'scope' | 'formerScopes'>,
  routes: Routes<R>,
  records: RouteRecords,
  options: ScopeOptions,
  signals: ScopeSignals,
): ScopeRoutes {
  const { clock, random, nodes, metrics, resolver } = context;
  const { parse } = options;
  const log = context.log.with({ scope });
  const instanceOf = (providerID: string) => instanceOfCloud(name, providerID);
  const textOf = (cidr: string) => parse(cidr)?.text ?? cidr;
  const table = createTableCache(routes, () => clock.monotonic());
  const removalApproval = createRemovalApproval<R>(context, scope, instanceOf, options.budget);
  const recordsKept = createRecordKeeper<R>(records, { scope, tagged: routes.tagged }, instanceOf, textOf);
  const failures = createRouteFailures(context);
  const { clusterCidrs } = options.bounds;
  const waiting = createWaitingCreations({ resolver, log }, scope);
  const pace = createPlanPace(() => clock.monotonic());
  const vmAddresses = createVmAddresses({ clock, nodes, resolver, clusterCidrs, parse });
  const steps = createRouteSteps<R>(context, {
    routes,
    table,
    failures,
    waiting,
    records: {
      has: (destination, instance) => records.has(scope, destination, instance),
      change: (changes) => records.change(scope, changes),
    },
    instanceOf,
    evidenceMs,
    log,
    made(destination, nodeUid, instead) {
      routed.set(destination, nodeUid);
      if (instead.some(({ blackhole }) => blackhole)) replacedBlackholes.set(destination, clock.monotonic());
    },
    signals: { ...signals, invalidated: () => signals.round(nextReadMs()) },
  });
  /** By destination: the uid of the Node that has the route. */
  let routed = new Map<string, string>();
  /** By destination and uid: why this Node has no route, or should have none. */
  let blocked = new Map<string, RouteStatus>();
  /** By destination: when a route that dropped packets was replaced. */
  const replacedBlackholes = new Map<string, number>();
  let withheld = '';
  let cluster: string | undefined;
  let recordsLoaded = false;
  let reading: Promise<boolean> | undefined;
  let lastReadMs = Number.NEGATIVE_INFINITY;
  let readFailures = 0;
  /** Why no route is tried: the table was never read. */
  let unreadable: string | undefined;
  let noReadBeforeMs = Number.NEGATIVE_INFINITY;
  /** Ranges that Nodes have claimed since the round began. */
  const claimedSince = new Set<string>();

  const keyOf = (destination: string, nodeUid: string) => `${destination} ${nodeUid}`;

  /** Returns whether the table was read. A failure leaves the cached table. */
  function read(signal: AbortSignal): Promise<boolean> {
    reading ??= readOnce(signal).finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function readOnce(signal: AbortSignal): Promise<boolean> {
    lastReadMs = clock.monotonic();
    try {
      const [uid] = await Promise.all([cluster ?? context.clusterUid(), loadRecords()]);
      cluster = uid;
      metrics.routeSync.add();
      await table.read(cluster, signal);
    } catch (error) {
      if (signal.aborted) return false;
      readFailures += 1;
      const asked = isCloudError(error) ? (error.retryAfterMs ?? 0) : 0;
      const restMs = Math.max(asked, backoffMs(readFailures, { firstMs: 1000, maxMs: 120_000, random }));
      noReadBeforeMs = clock.monotonic() + restMs;
      const fields = { failures: readFailures, retryInMs: Math.round(restMs), ...errorFields(error) };
      log.warn('route table not read', fields);
      if (table.table === undefined && readFailures >= failuresToShow && isLasting(error)) unreadable = error.message;
      return false;
    }
    if (unreadable !== undefined) failures.keepOnly(new Set());
    unreadable = undefined;
    readFailures = 0;
    noReadBeforeMs = Number.NEGATIVE_INFINITY;
    return true;
  }

  /** The first load shows which routes are ours, later ones restore lost records. */
  async function loadRecords(): Promise<void> {
    try {
      await records.load(scope, formerScopes);
    } catch (error) {
      // Where marks show which routes are ours, only what the classic controller made waits for records.
      if (!recordsLoaded && !routes.tagged) throw error;
      log.warn('route records not updated', errorFields(error));
      return;
    }
    recordsLoaded = true;
  }

  function nextReadMs(): number {
    const now = clock.monotonic();
    const known = table.readAtMs > Number.NEGATIVE_INFINITY;
    const due = known ? table.readAtMs + options.auditMs : table.table ? lastReadMs + rereadMs : now;
    return Math.max(0, due - now, noReadBeforeMs - now);
  }

  const plan = (): RoutePlan<R> => pace.run(planOnce);

  function planOnce(): RoutePlan<R> {
    return planRoutes<R>({
      cluster: cluster as string,
      bounds: options.bounds,
      vmAddresses: vmAddresses.counted(),
      ...nodesOfScope(nodes.values(), resolver.configured, scope, options.order),
      table: table.table ?? { routes: [], quota: undefined },
      recorded: (destination, instance, via) => records.has(scope, destination, instance, via),
      instanceOf,
      mayReplaceBlackhole: (destination) =>
        clock.monotonic() - (replacedBlackholes.get(destination) ?? Number.NEGATIVE_INFINITY) >= blackholeReplaceMs,
      parse,
    });
  }

  async function round(signal: AbortSignal): Promise<Requeue> {
    if (context.paused()) return { requeueAfterMs: pausedMs };
    claimedSince.clear();
    await Promise.all([nextReadMs() === 0 && read(signal), vmAddresses.refresh()]);
    if (table.table === undefined) {
      showUnreadable();
      return { requeueAfterMs: nextReadMs() };
    }
    let current = plan();
    if (destroys(current) && !isFresh() && noReadBeforeMs <= clock.monotonic() && (await read(signal)))
      current = plan();
    // There must be no await between the last plan and its use: a route created during an await would be created twice.
    const recording = recordsKept.keep(table, current);
    if (recording) {
      await recording.catch((error: unknown) => {
        // It concerns routes that stand; those to be created say themselves that they are ours.
        if (routes.tagged) return log.warn('route records not written', errorFields(error));
        showUnrecorded(current, error);
        throw error;
      });
      current = plan();
    }
    take(current);
    const waits = await takeRemovals(current);
    return { requeueAfterMs: Math.min(waits ? waitMs : Number.POSITIVE_INFINITY, nextReadMs()) };
  }

  function showUnreadable(): void {
    if (unreadable === undefined) return;
    const waits = nodesOfScope(nodes.values(), resolver.configured, scope)
      .nodes.filter(({ paused }) => !paused)
      .flatMap(({ name: node, uid: nodeUid, podCIDRs }) =>
        podCIDRs.map((text) => ({ node, nodeUid, destination: textOf(text) })),
      );
    failures.keepOnly(new Set(waits.map(({ destination, nodeUid }) => keyOf(destination, nodeUid))));
    showUntried(waits, `the routes of the cloud could not be read: ${unreadable}`);
  }

  /** A route is created only after it was recorded. Shows on the waiting Nodes that the record could not be written. */
  function showUnrecorded({ create }: RoutePlan<R>, error: unknown): void {
    if (!isLasting(error)) return;
    showUntried(
      create.map(({ desired }) => desired),
      `the route could not be recorded: ${error.message}`,
    );
  }

  function showUntried(routes: readonly Pick<DesiredRoute, 'node' | 'nodeUid' | 'destination'>[], why: string): void {
    for (const { node: name, nodeUid, destination } of routes) {
      const node = nodes.get(name);
      if (node === undefined || hasNetwork(node)) continue;
      failures.set(keyOf(destination, nodeUid), { kind: 'missing', reason: 'NoRouteCreated', message: why });
      failures.announce(node, destination, 'NoRouteCreated', why);
      signals.node(name);
    }
  }

  /** Whether the condition says that the Node has its routes, which only the cloud may contradict. */
  function hasNetwork(node: NodeView): boolean {
    return conditionOf(node, conditions.networkUnavailable)?.status === 'False';
  }

  function destroys({ remove, create }: RoutePlan<R>): boolean {
    const isDue = ({ destination, nodeUid }: DesiredRoute) => !waiting.has(keyOf(destination, nodeUid));
    return remove.length > 0 || create.some(({ desired, instead }) => instead.length > 0 && isDue(desired));
  }

  function isFresh(): boolean {
    return clock.monotonic() - table.readAtMs <= evidenceMs;
  }

  function take(current: RoutePlan<R>): void {
    routed = new Map(current.keep.map(({ destination, node }) => [destination, node.uid]));
    blocked = new Map([
      ...current.blocked.map(({ node, destination, reason, message }): [string, RouteStatus] => [
        keyOf(destination, node.uid),
        { kind: 'missing', reason, message },
      ]),
      ...current.tolerated.map(({ node, destination, message }): [string, RouteStatus] => [
        keyOf(destination, node.uid),
        { kind: 'tolerated', message },
      ]),
    ]);
    const created = current.create.map(({ desired }) => keyOf(desired.destination, desired.nodeUid));
    failures.keepOnly(new Set(created), blocked);
    steps.plan(current);
    for (const { node, destination, reason, message } of current.blocked) {
      const view = nodes.get(node.name);
      if (view) failures.announce(view, destination, reason, message);
    }
    for (const { node, destination, message } of current.tolerated) {
      const view = nodes.get(node.name);
      if (view && !view.deleting) failures.tolerate(view, destination, message);
    }
    const { keep, tolerated, blocked: without } = current;
    const concerned = new Set([...keep, ...tolerated, ...without].map(({ node }) => node.name));
    for (const name of concerned) {
      const node = nodes.get(name);
      if (node && networkChange(node, routeStatuses(node))) signals.node(name);
    }
    measure(current);
  }

  /** Returns whether a removal is withheld. */
  async function takeRemovals({ remove }: RoutePlan<R>): Promise<boolean> {
    const all = table.table?.routes ?? [];
    for (const destination of replacedBlackholes.keys())
      if (!routed.has(destination)) replacedBlackholes.delete(destination);
    removalApproval.keepOnly(
      new Set(all.flatMap(({ providerID }) => (providerID === undefined ? [] : [instanceOf(providerID)]))),
      new Set(all.map(({ id }) => id)),
    );
    const fresh = remove.filter(({ destination, route }) => !steps.removes(destination, route.id));
    if (fresh.length === 0 || !isFresh()) {
      if (remove.length === 0) showWithheld([]);
      return false;
    }
    const ours = all.filter((route) => route.ours ?? records.has(scope, textOf(route.destination), undefined)).length;
    const { ready, waiting } = await removalApproval.approve(fresh, ours);
    for (const removal of ready)
      if (!claimedSince.has(removal.destination) && table.has(removal.route.id)) steps.remove(removal);
    showWithheld([...waiting.values()]);
    return waiting.size > 0;
  }

  function showWithheld(reasons: readonly RemovalReason[]): void {
    for (const reason of Object.keys(removalReasons))
      metrics.withheld.set({ scope, reason }, reasons.filter((each) => each === reason).length);
    const said = [...new Set(reasons)].sort().join(',');
    if (said !== '' && said !== withheld)
      log.warn('routes of deleted Nodes are kept for now', { routes: reasons.length, reasons: said });
    withheld = said;
  }

  function measure({ keep, tolerated, create, remove, foreign }: RoutePlan<R>): void {
    const counts = {
      kept: keep.length,
      tolerated: tolerated.length,
      missing: create.length,
      surplus: remove.length,
      foreign: foreign.length,
    };
    for (const [state, count] of Object.entries(counts)) metrics.routes.set({ scope, state }, count);
  }

  function measureBlocked(): void {
    const reasons = [...new Map([...failures.entries(), ...blocked]).values()].map((status) =>
      status.kind === 'missing' ? status.reason : undefined,
    );
    for (const reason of Object.keys(routeReasons).filter((each) => each !== 'RouteCreated'))
      metrics.blocked.set({ scope, reason }, reasons.filter((each) => each === reason).length);
  }

  function routeStatuses(node: NodeView): readonly RouteStatus[] {
    return node.podCIDRs.map((text): RouteStatus => {
      const destination = textOf(text);
      if (routed.get(destination) === node.uid) return { kind: 'routed' };
      const key = keyOf(destination, node.uid);
      return blocked.get(key) ?? failures.get(key) ?? { kind: 'pending' };
    });
  }

  return {
    readTable: read,
    round,
    roundAfterMs: pace.afterMs,
    apply: (destination, signal) => steps.apply(destination, signal),
    routeStatuses,
    claimed(node) {
      for (const text of node.podCIDRs) {
        claimedSince.add(textOf(text));
        steps.cancelRemoval(textOf(text));
      }
    },
    invalidate: () => table.invalidate(),
    deleting: (node) => removalApproval.deleting(node),
    measureBlocked,
    gone(node) {
      if (node.providerID !== '') removalApproval.gone(instanceOf(node.providerID), node);
    },
  };
}
