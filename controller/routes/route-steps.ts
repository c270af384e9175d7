import { type CloudErrorKind, isCloudError } from '../../common/cloud-error.ts';
import type { Log } from '../../common/process/log.ts';
import { WithheldError } from '../clouds/permit.ts';
import type { DesiredRoute, ObservedRoute, Routes } from '../clouds/routes.ts';
import { isNotFound } from '../kube/api.ts';
import { parseCidr } from '../model/cidr.ts';
import { isPaused } from '../model/node-view.ts';
import { readNode } from '../nodes/write-node.ts';
import { createMissingRouteProof } from './missing-route-proof.ts';
import type { Requeue } from './requeue.ts';
import type { RouteContext } from './route-context.ts';
import type { RouteFailures } from './route-failures.ts';
import type { RouteCreation, RoutePlan, RouteRemoval } from './route-plan.ts';
import type { RecordChanges, RouteRecord } from './route-records.ts';
import type { TableCache } from './table-cache.ts';
import type { WaitingCreations } from './waiting-creations.ts';

/** The pending changes of one scope, at most one per destination, and their execution. */
export interface RouteSteps<R extends ObservedRoute> {
  /**
   * Replaces the pending creations by those of a plan, and drops removals that the plan no longer has. New removals
   * need an approval first: see `remove`.
   */
  plan(plan: RoutePlan<R>): void;
  /** Schedules an approved removal. */
  remove(removal: RouteRemoval<R>): void;
  removes(destination: string, routeId: string): boolean;
  /** Cancels the removal of the route to this range, because a Node claims it now. */
  cancelRemoval(destination: string): void;
  /**
   * Executes the pending change of a destination. Throws a CloudError or a KubeError, to be repeated. Safe to repeat.
   */
  apply(destination: string, signal: AbortSignal): Promise<Requeue | undefined>;
}

export interface RouteStepsParts<R extends ObservedRoute> {
  readonly routes: Routes<R>;
  readonly table: TableCache<R>;
  readonly failures: RouteFailures;
  readonly waiting: WaitingCreations;
  readonly records: {
    has(destination: string, instance: string | undefined): boolean;
    change(changes: RecordChanges): Promise<void>;
  };
  readonly log: Log;
  instanceOf(providerID: string): string;
  /** How old the table may be when a route is deleted. */
  readonly evidenceMs: number;
  made(destination: string, nodeUid: string, instead: readonly R[]): void;
  readonly signals: {
    route(destination: string): void;
    node(name: string): void;
    round(afterMs: number): void;
    /** The cached table was invalidated. */
    invalidated(): void;
  };
}

type Creation<R extends ObservedRoute> = { readonly kind: 'create' } & RouteCreation<R>;
type Removal<R extends ObservedRoute> = { readonly kind: 'remove' } & RouteRemoval<R>;

const pausedMs = 1500;
const fencedMs = 1000;
const quotaMs = 60_000;
/** The delay before the instance of a waiting creation is looked up again. */
const waitMs = 30_000;
/** How long the Node cache gets to catch up. */
const staleMs = 5000;
/** Failures after which the cached table may be outdated. */
const uncertainErrors: ReadonlySet<CloudErrorKind> = new Set([
  'Conflict',
  'Stale',
  'Timeout',
  'Unavailable',
  'NotFound',
  'Invalid',
]);

export function createRouteSteps<R extends ObservedRoute>(
  context: RouteContext,
  { routes, table, failures, waiting, records, log, instanceOf, evidenceMs, made, signals }: RouteStepsParts<R>,
): RouteSteps<R> {
  const { clock, nodes, metrics } = context;
  const steps = new Map<string, Creation<R> | Removal<R>>();
  const missing = createMissingRouteProof(context, table);
  let throttledUntilMs = Number.NEGATIVE_INFINITY;

  function put(destination: string, step: Creation<R> | Removal<R>): void {
    const held = steps.get(destination);
    if (held && isSame(held, step)) return;
    steps.set(destination, step);
    signals.route(destination);
  }

  function plan({ create, remove }: RoutePlan<R>): void {
    const creations = new Set(create.map(({ desired }) => desired.destination));
    const removals = new Set(remove.map(({ destination, route }) => `${destination} ${route.id}`));
    for (const [destination, step] of steps) {
      const stays =
        step.kind === 'create' ? creations.has(destination) : removals.has(`${destination} ${step.route.id}`);
      if (!stays) steps.delete(destination);
    }
    const plannedKeys = new Set(create.map((creation) => keyOf(creation)));
    waiting.keepOnly(plannedKeys);
    missing.keepOnly(plannedKeys);
    for (const creation of create) put(creation.desired.destination, { kind: 'create', ...creation });
  }

  async function apply(destination: string, signal: AbortSignal): Promise<Requeue | undefined> {
    const step = steps.get(destination);
    if (step === undefined) return undefined;
    if (context.paused()) return { requeueAfterMs: pausedMs };
    const restMs = throttledUntilMs - clock.monotonic();
    if (restMs > 0) return { requeueAfterMs: restMs };
    if (step.kind === 'create') {
      const why = isDoubtful(step) ? await waiting.ask(keyOf(step), step) : undefined;
      if (steps.get(destination) !== step) return { requeueAfterMs: 0 };
      if (why !== undefined) return wait(step, why);
      waiting.drop(keyOf(step));
    }
    if (destroys(step) && clock.monotonic() - table.readAtMs > 3 * evidenceMs) {
      // It waited too long, so it has to be planned again.
      if (step.kind === 'remove') steps.delete(destination);
      signals.round(0);
      return { requeueAfterMs: 1000 };
    }
    try {
      if (step.kind === 'create') await create(step, signal);
      else await remove(step, signal);
    } catch (error) {
      return failed(step, error);
    }
    if (steps.get(destination) === step) steps.delete(destination);
    else signals.round(0);
    return undefined;
  }

  /** Whether the instance may have ended: the cloud shows a route that drops packets, or a try has failed. */
  function isDoubtful(step: Creation<R>): boolean {
    const key = keyOf(step);
    const instance = instanceOf(step.desired.providerID);
    // A route to another instance is replaced in any case: this Node has the range now.
    if (step.instead.some(({ providerID }) => providerID !== undefined && instanceOf(providerID) !== instance))
      return false;
    return step.instead.some(({ blackhole }) => blackhole) || failures.get(key) !== undefined || missing.isUnsure(key);
  }

  function wait(step: Creation<R>, why: string): Requeue {
    // No second refusal follows, so the answer about the instance stands for it.
    const unsaid = step.instead.length === 0 && failures.get(keyOf(step)) === undefined;
    if (unsaid && missing.failed(keyOf(step), step.desired.node, 'Invalid')) showMissing(step, 'NoRouteCreated', why);
    return { requeueAfterMs: waitMs };
  }

  async function create(step: Creation<R>, signal: AbortSignal): Promise<void> {
    const { desired, instead } = step;
    const node = nodes.get(desired.node);
    if (node === undefined || node.uid !== desired.nodeUid || isPaused(node)) return;
    const permit = context.permit(() => {
      const now = nodes.get(desired.node);
      return now === undefined || isPaused(now);
    });
    const others = instead.filter(({ id }) => table.has(id));
    // The cache may be minutes old, especially that of a new leader. A route to another instance is deleted only if
    // this Node has the range now, read live.
    if (others.length > 0 && !(await stillWants(desired))) {
      signals.round(staleMs);
      return;
    }
    for (const old of others) {
      if (!table.has(old.id)) continue;
      await routes.remove(old, { permit, signal });
      forgotten(old);
    }
    const record = { destination: desired.destination, target: instanceOf(desired.providerID) };
    // Most records are written by the round. This creation was added during that write.
    if (!routes.tagged && !records.has(record.destination, record.target))
      await records.change({ note: [record, ...planned()] });
    const route = await routes.create(desired, { permit, signal });
    table.added(route);
    made(desired.destination, desired.nodeUid, instead);
    failures.clear(keyOf(step));
    missing.created(keyOf(step));
    metrics.changes.add({ action: 'created' });
    log.info('route created', { node: desired.node, destination: desired.destination, route: route.id });
    signals.node(desired.node);
  }

  /** Read live. Throws a KubeError. */
  async function stillWants({ node, nodeUid, providerID, destination }: DesiredRoute): Promise<boolean> {
    try {
      const live = await readNode(context.api, node);
      const has = live.podCIDRs.some((text) => (parseCidr(text)?.text ?? text) === destination);
      return live.uid === nodeUid && !live.deleting && live.providerID === providerID && has;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  /** The records of all pending creations, for one write. */
  function planned(): RouteRecord[] {
    return [...steps.values()].flatMap((step) =>
      step.kind === 'create'
        ? [{ destination: step.desired.destination, target: instanceOf(step.desired.providerID) }]
        : [],
    );
  }

  async function remove({ route, destination, why }: Removal<R>, signal: AbortSignal): Promise<void> {
    await routes.remove(route, { permit: context.permit(), signal });
    forgotten(route);
    log.info('route deleted', { destination, route: route.id, why, providerID: route.providerID });
    // The quota may have room now, or another route with this destination may be needed.
    signals.round(500);
  }

  function forgotten(route: R): void {
    table.removed(route);
    metrics.changes.add({ action: 'removed' });
  }

  /** Handles a failed change. Throws the errors that the queue repeats after its back-off. */
  function failed(step: Creation<R> | Removal<R>, error: unknown): Requeue | undefined {
    if (error instanceof WithheldError) return { requeueAfterMs: error.reason === 'Paused' ? pausedMs : fencedMs };
    if (!isCloudError(error)) throw error;
    if (error.kind === 'Throttled')
      throttledUntilMs = Math.max(throttledUntilMs, clock.monotonic() + (error.retryAfterMs ?? 1000));
    const proved = step.kind === 'create' && missing.failed(keyOf(step), step.desired.node, error.kind);
    if (uncertainErrors.has(error.kind) || (step.kind === 'create' && !proved && missing.hadRoute(step.desired.node))) {
      table.invalidate();
      signals.invalidated();
    }
    if (step.kind === 'create' && proved)
      showMissing(step, error.kind === 'QuotaExceeded' ? 'QuotaExceeded' : 'NoRouteCreated', error.message);
    if (error.kind === 'QuotaExceeded') return { requeueAfterMs: quotaMs };
    throw error;
  }

  /** Shows on the Node that it has no route, and why. */
  function showMissing(step: Creation<R>, reason: 'QuotaExceeded' | 'NoRouteCreated', cause: string): void {
    const why = step.completes ? `a route table lacks it: ${cause}` : cause;
    const message = `RouteController failed to create a route: ${why}`;
    // The table that the Node follows may be one that has the route.
    if (!step.completes || !missing.hadRoute(step.desired.node))
      failures.set(keyOf(step), { kind: 'missing', reason, message });
    const node = nodes.get(step.desired.node);
    if (node) failures.announce(node, step.desired.destination, reason, why);
    signals.node(step.desired.node);
  }

  return {
    plan,
    apply,
    remove: (removal) => put(removal.destination, { kind: 'remove', ...removal }),
    removes(destination, routeId) {
      const step = steps.get(destination);
      return step?.kind === 'remove' && step.route.id === routeId;
    },
    cancelRemoval(destination) {
      if (steps.get(destination)?.kind === 'remove') steps.delete(destination);
    },
  };
}

function destroys<R extends ObservedRoute>(step: Creation<R> | Removal<R>): boolean {
  return step.kind === 'remove' || step.instead.length > 0;
}

function keyOf<R extends ObservedRoute>({ desired }: RouteCreation<R>): string {
  return `${desired.destination} ${desired.nodeUid}`;
}

function isSame<R extends ObservedRoute>(a: Creation<R> | Removal<R>, b: Creation<R> | Removal<R>): boolean {
  if (a.kind === 'remove') return b.kind === 'remove' && a.route.id === b.route.id;
  if (b.kind === 'remove') return false;
  const ids = ({ instead, completes }: Creation<R>) => [completes, ...instead.map(({ id }) => id)].join(' ');
  return JSON.stringify(a.desired) === JSON.stringify(b.desired) && ids(a) === ids(b);
}
