import type { Log } from '../../common/process/log.ts';
import { errorFields } from '../../common/process/log.ts';
import { restOrAbort, untilAborted } from '../../common/process/until.ts';
import { comparableId } from '../../common/provider-id/comparable-id.ts';
import type { ReportReason } from '../../common/report.ts';
import { conditions } from '../../common/well-known.ts';
import type { InformerEvent } from '../kube/informer.ts';
import type { TimedBudgetKeeper } from '../model/budget-keeper.ts';
import { conditionOf, isUninitialized, type NodeView } from '../model/node-view.ts';
import type { ReportArrival } from '../reports/store.ts';
import type { LeaderTask } from '../runtime/leader-task.ts';
import { createSemaphore } from '../runtime/semaphore.ts';
import { createWorkQueue, type QueueMetrics, type WorkQueue } from '../runtime/work-queue.ts';
import { createInterruptions } from './interruptions.ts';
import { createLifecycle, type Lifecycle } from './lifecycle.ts';
import { type NodeContext, reportOf } from './node-context.ts';
import { createNodeReconciler, type NodeReconciler } from './node-reconciler.ts';
import { recordInstance } from './record-instance.ts';
import { refreshInstances } from './refresh.ts';

export interface NodeTaskOptions {
  readonly budget: TimedBudgetKeeper;
  /** `--concurrent-node-syncs`: Nodes written at once. */
  readonly concurrentNodeSyncs: number;
  /** `--node-monitor-period`. */
  readonly monitorPeriodMs: number;
  /** `--node-status-update-frequency`: how often every instance is read again. */
  readonly statusUpdateMs: number;
  readonly outOfServiceTaint: boolean;
  /** Opt-in: taint Nodes whose VM's end is announced. */
  readonly interruptionTaint: boolean;
  /** Which loops `--controllers` asks for. */
  readonly loops: { readonly node: boolean; readonly lifecycle: boolean };
  /** Of the lifecycle loop. Default: that of the context. */
  readonly lifecycleLog?: Log;
  /** As in FindingApplierOptions. */
  deleting?(node: NodeView): void;
  readonly queueMetrics?: QueueMetrics | undefined;
}

/** The leader task that initialises, updates, taints and deletes Nodes. */
export interface NodeTask extends LeaderTask {
  /** Whether a Node is initialised, and if not, why; for the answer to its agent. Works on every replica. */
  status(nodeName: string): { readonly initialized: boolean; readonly reasons: readonly ReportReason[] } | undefined;
}

interface Term {
  readonly reconciler: NodeReconciler;
  readonly queue: WorkQueue;
  readonly lifecycle: Lifecycle | undefined;
  refreshedMs: number;
}

/**
 * A Node that waits for a lookup occupies a slot in the queue, and lookups are batched, so the queue runs many at
 * once. Writes are bounded separately.
 */
const nodesInProgress = 4096;

export function createNodeTask(context: NodeContext, options: NodeTaskOptions): NodeTask {
  const { clock, log, nodes, reports } = context;
  let term: Term | undefined;

  nodes.subscribe((event) => {
    // On standbys too, so that nothing of an earlier term is kept for ever. The report of a re-created Node may arrive
    // before the deletion of the old one is observed.
    if (event.type === 'deleted' && reports.get(event.key)?.nodeUid === event.old.uid) reports.forget(event.key);
    if (term) observe(term, event);
  });
  reports.subscribe((arrival) => {
    if (term) onReport(term, arrival);
  });

  function observe(current: Term, event: InformerEvent<NodeView>): void {
    current.reconciler.observe(event);
    current.lifecycle?.observe(event);
    if (options.loops.node || options.loops.lifecycle) current.queue.enqueue(event.key);
  }

  /** A report names the instance to look up, and makes the Node due at once. It deletes nothing. */
  function onReport(current: Term, { nodeName, changed, attested, first, leaving }: ReportArrival): void {
    const node = nodes.get(nodeName);
    if (node === undefined) return;
    if (leaving) current.lifecycle?.hint(nodeName);
    if (!changed && !attested) return;
    // A Node may have waited for this proof. For an initialised Node it is compared with the cached instance.
    const isAwaited = attested && isUninitialized(node);
    if (isAwaited || (changed && (!first || contradictsCache(current, node))))
      current.reconciler.requestLookup(nodeName);
    if (options.loops.node) current.queue.enqueue(nodeName, { priority: 'high' });
  }

  /**
   * After a change of leader every report is the first. Only one that contradicts the cached instance is worth a
   * lookup.
   */
  function contradictsCache(current: Term, node: NodeView): boolean {
    const known = current.reconciler.instances.get(node.name, node.uid)?.instance;
    const reported = reportOf(context, node)?.report.instance;
    if (known === undefined || reported === undefined) return false;
    const addresses = new Set(known.addresses.map(({ address }) => address));
    return (
      comparableId(reported) !== comparableId(known) ||
      reported.addresses.some(({ type, address }) => type.endsWith('IP') && !addresses.has(address))
    );
  }

  function startTerm(): Term {
    const writes = createSemaphore(options.concurrentNodeSyncs);
    const reconciler = createNodeReconciler(context, writes);
    const interruptions = createInterruptions(context, {
      writes,
      taint: options.interruptionTaint,
      instances: reconciler.instances,
    });
    const queue = createWorkQueue({
      name: 'Nodes',
      clock,
      random: context.random,
      log,
      concurrency: nodesInProgress,
      async reconcile(key) {
        if (!options.loops.node) return recordInstance(context, reconciler.instances, key);
        const again = await reconciler.reconcile(key);
        return sooner(again, await interruptions.reconcile(key));
      },
      ...(options.queueMetrics === undefined ? {} : { metrics: options.queueMetrics }),
    });
    const lifecycle = options.loops.lifecycle
      ? createLifecycle(
          { ...context, log: options.lifecycleLog ?? log },
          {
            periodMs: options.monitorPeriodMs,
            budget: options.budget,
            writes,
            outOfServiceTaint: options.outOfServiceTaint,
            deleting: (node) => options.deleting?.(node),
            found(name, { instance }, scope) {
              const node = nodes.get(name);
              if (node && learn(reconciler, node, instance, scope) && options.loops.node) queue.enqueue(name);
            },
          },
        )
      : undefined;
    return { reconciler, queue, lifecycle, refreshedMs: clock.monotonic() };
  }

  function learn(
    reconciler: NodeReconciler,
    node: NodeView,
    instance: Parameters<NodeReconciler['instances']['put']>[1]['instance'],
    scope: string,
  ) {
    // If the Node was deleted during the lookup, its entry would stay for ever.
    if (nodes.get(node.name)?.uid !== node.uid) return false;
    return reconciler.instances.put(node.name, { uid: node.uid, instance, scope, readAtMs: clock.monotonic() });
  }

  async function refresh(current: Term): Promise<void> {
    await refreshInstances(context, {
      answered(node, lookup, scope) {
        if (lookup.state === 'gone' || lookup.state === 'absent') current.lifecycle?.hint(node.name);
        else if (
          lookup.state === 'found' &&
          learn(current.reconciler, node, lookup.instance, scope) &&
          options.loops.node
        ) {
          current.queue.enqueue(node.name, { priority: 'low' });
        }
      },
      undecided(node) {
        if (!options.loops.node) return;
        current.reconciler.requestLookup(node.name);
        current.queue.enqueue(node.name, { priority: 'low' });
      },
    });
    current.refreshedMs = clock.monotonic();
  }

  async function refreshLoop(current: Term, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedMs = clock.monotonic();
      try {
        await refresh(current);
      } catch (error) {
        log.error('instances not refreshed', errorFields(error));
      }
      const restMs = startedMs + options.statusUpdateMs - clock.monotonic();
      await restOrAbort(clock, Math.max(restMs, 1000), signal);
    }
  }

  async function lead(signal: AbortSignal): Promise<void> {
    try {
      await leadTerm(signal);
    } finally {
      // Agents now report to another leader, so these reports are outdated when this replica leads again.
      reports.outdate();
    }
  }

  async function leadTerm(signal: AbortSignal): Promise<void> {
    await Promise.race([nodes.whenSynced(), untilAborted(signal)]);
    if (signal.aborted) return;
    const current = startTerm();
    term = current;
    for (const node of nodes.values()) observe(current, { type: 'added', key: node.name, object: node });
    current.queue.start();
    try {
      await Promise.all([refreshLoop(current, signal), current.lifecycle?.run(signal)]);
    } finally {
      term = undefined;
      await current.queue.stop();
      context.metrics.uninitialized.reset();
      context.metrics.deletionsWithheld.reset();
    }
  }

  function status(nodeName: string) {
    const node = nodes.get(nodeName);
    if (node === undefined) return undefined;
    if (!isUninitialized(node)) return { initialized: true, reasons: [] };
    const waiting = term?.reconciler.waiting.get(nodeName);
    const shown = conditionOf(node, conditions.cloudInitialized);
    const code = waiting?.reason ?? (shown?.reason || undefined);
    const message = waiting?.message ?? shown?.message ?? '';
    return { initialized: false, reasons: code === undefined ? [] : [{ code, message }] };
  }

  function progress(): ReadonlyMap<string, number> {
    const loops = new Map<string, number>();
    if (term) {
      loops.set('cloud-node', term.queue.lastProgressAt);
      // The loop sleeps for a period by design. It is late only after that.
      loops.set('refresh', Math.min(clock.monotonic(), term.refreshedMs + options.statusUpdateMs));
      if (term.lifecycle) loops.set('cloud-node-lifecycle', term.lifecycle.lastProgressMs);
    }
    return loops;
  }

  return { lead, status, progress };
}

type Again = { readonly requeueAfterMs?: number } | undefined;

function sooner(one: Again, other: Again): Again {
  const { requeueAfterMs: a = Number.POSITIVE_INFINITY } = one ?? {};
  const { requeueAfterMs: b = Number.POSITIVE_INFINITY } = other ?? {};
  return Number.isFinite(Math.min(a, b)) ? { requeueAfterMs: Math.min(a, b) } : undefined;
}
