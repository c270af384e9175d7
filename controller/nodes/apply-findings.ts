import { errorFields } from '../../common/process/log.ts';
import { isConflict, isNotFound } from '../kube/api.ts';
import { patchNode } from '../kube/patch-node.ts';
import type { TimedBudgetKeeper } from '../model/budget-keeper.ts';
import type { BudgetKind } from '../model/deletion-budget.ts';
import { conditionOf, instanceMissing, isPaused, isUninitialized, type NodeView } from '../model/node-view.ts';
import { answeringCloud } from '../model/ownership.ts';
import { createWaitingNodes } from '../model/waiting-nodes.ts';
import type { Semaphore } from '../runtime/semaphore.ts';
import { deleteNode } from './delete-node.ts';
import type { Finding } from './examine.ts';
import { howToRelease } from './expected-termination.ts';
import { eventTarget, type NodeContext, reportOf } from './node-context.ts';
import { type PowerTaints, planPowerTaints, powerTaintsOf } from './power-taints.ts';
import { type MissingReason, missingReasons } from './reasons.ts';
import { type Suspect, scheduleLookup } from './suspects.ts';
import { writeCondition } from './write-node.ts';

export interface FindingApplierOptions {
  readonly budget: TimedBudgetKeeper;
  /** Bounds how many Nodes are written at once. */
  readonly writes: Semaphore;
  /** Opt-in: also add the taint `out-of-service` once power-off is certain. */
  readonly outOfServiceTaint: boolean;
  /** Called before a Node is deleted on evidence, so that other controllers expect its deletion. */
  deleting?(node: NodeView): void;
}

/** A suspect and the result of its examination. */
export interface Examined {
  readonly suspect: Suspect;
  /** As the cache has it. */
  readonly node: NodeView;
  readonly finding: Finding;
}

/**
 * Applies the findings within the budgets, and reports which deletions are withheld. A failed write is repeated at the
 * next lookup.
 */
export interface FindingApplier {
  apply(examined: readonly Examined[]): Promise<void>;
  /** Removes our power taints and resets the condition. Returns whether none of them is left. */
  clear(node: NodeView): Promise<boolean>;
  /** The instance was found, in any power state: resets the condition alone. Returns whether that succeeded. */
  found(node: NodeView): Promise<boolean>;
  /**
   * Reports why a deletion is withheld: in the gauge and the condition, and once per change in the log and an event.
   *
   * @param onNode whether the condition is written; default true
   */
  withhold(node: NodeView, reason: MissingReason, message?: string, onNode?: boolean): Promise<void>;
  done(name: string): void;
}

/** Evidence older than this is read again before a deletion, because writes may have waited for each other. */
const maxEvidenceAgeMs = 10_000;
/** How soon a Node that a person protects from deletion is examined again. */
const pausedRetryMs = 15_000;
/**
 * How soon a Node that waits for the budget is examined again: when the budget may have room, and before that now and
 * then, so that signs of life are noticed.
 */
const minExhaustedMs = 30_000;
const maxExhaustedMs = 300_000;

/** Expected during every deletion, or while many Nodes are absent at once: neither logged nor an event. */
const usual: ReadonlySet<string> = new Set<MissingReason>(['Confirming', 'ProofPostponed']);

/** A failed read tells nothing of the Node, and a kubelet may have written anything. */
function isKept(reason: string): boolean {
  return Object.hasOwn(missingReasons, reason) && reason !== 'CloudUnknown' && reason !== 'LifeUnknown';
}

export function createFindingApplier(
  context: NodeContext,
  options: FindingApplierOptions,
  suspects: { end(suspect: Suspect): void; retry(suspect: Suspect, atLeastMs?: number): void },
): FindingApplier {
  const { api, clock, log, nodes, resolver, events, metrics } = context;
  const withheld = createWaitingNodes<MissingReason>(metrics.deletionsWithheld);

  async function apply(examined: readonly Examined[]): Promise<void> {
    for (const { suspect, finding } of examined) {
      suspect.exhausted = false;
      if (finding.kind !== 'delete') suspect.granted = false;
    }
    const waits = examined.map(async ({ suspect, node, finding }) => {
      if (finding.kind === 'over') suspects.end(suspect);
      else if (finding.kind === 'powering-off' && finding.alive) suspects.retry(suspect, finding.checkInMs);
      else if (finding.kind === 'powering-off') scheduleLookup(suspect, clock.monotonic() + finding.checkInMs);
      else if (finding.kind === 'wait') await keepAndRecheck(suspect, finding.node ?? node, finding);
      else if (finding.kind === 'delete' && context.pausedNode(node.name))
        await keepAndRecheck(suspect, finding.node, { reason: 'DeletionPaused', checkInMs: pausedRetryMs });
    });
    await Promise.all(waits);
    await applyDeletions(
      examined.filter(({ node, finding }) => finding.kind === 'delete' && !context.pausedNode(node.name)),
    );
    await applyPowerOff(examined.filter(({ finding }) => finding.kind === 'powered-off'));
  }

  async function keepAndRecheck(
    suspect: Suspect,
    node: NodeView,
    { reason, message, checkInMs }: { reason: MissingReason; message?: string; checkInMs: number },
  ): Promise<void> {
    scheduleLookup(suspect, clock.monotonic() + checkInMs);
    await withhold(node, reason, message);
  }

  async function grant(kind: BudgetKind, requested: number): Promise<number> {
    if (requested === 0) return 0;
    let owned = 0;
    for (const node of nodes.values())
      if (node.providerID !== '' && !isUninitialized(node) && answeringCloud(node, resolver.configured)) owned += 1;
    try {
      return await options.budget.take(kind, requested, owned);
    } catch (error) {
      log.warn('budget not written, so nothing is spent', { kind, ...errorFields(error) });
      return 0;
    }
  }

  async function applyDeletions(examined: readonly Examined[]): Promise<void> {
    for (const kind of ['deletion', 'announced', 'joining'] as const) {
      const asking = examined.filter(
        ({ suspect, finding }) => finding.kind === 'delete' && finding.budget === kind && !suspect.granted,
      );
      const granted = await grant(kind, asking.length);
      for (const { suspect } of asking.slice(0, granted)) suspect.granted = true;
    }
    await Promise.all(
      examined.map(async ({ suspect, finding }) => {
        if (finding.kind !== 'delete') return;
        if (finding.budget === undefined || suspect.granted) await remove(suspect, finding);
        else await waitForBudget(suspect, finding.node, finding.budget);
      }),
    );
  }

  function waitForBudget(suspect: Suspect, node: NodeView, kind: BudgetKind): Promise<void> {
    suspect.exhausted = true;
    // A second later, because lookups that are due soon join a pass.
    const roomInMs = options.budget.roomInMs(kind) + 1000;
    const checkInMs = Math.min(maxExhaustedMs, Math.max(minExhaustedMs, roomInMs));
    const reason = 'BudgetExhausted';
    const message = `${missingReasons[reason].meaning} To delete this Node now: ${howToRelease(node)}`;
    return keepAndRecheck(suspect, node, { reason, message, checkInMs });
  }

  async function remove(suspect: Suspect, finding: Finding & { kind: 'delete' }): Promise<void> {
    const { node, evidence, state } = finding;
    const target = eventTarget(node);
    events.emit(target, { type: 'Normal', reason: 'DeletingNode', message: `Deleting Node ${node.name}: ${evidence}` });
    try {
      const outcome = await options.writes.run(async () =>
        clock.monotonic() - finding.readAtMs > maxEvidenceAgeMs || context.pausedNode(node.name)
          ? 'changed'
          : send(node),
      );
      if (outcome === 'changed') return suspects.retry(suspect);
      if (outcome === 'deleted') metrics.deletions.add({ evidence: state });
      log.info('node deleted', { node: node.name, providerID: node.providerID, evidence });
      if (reportOf(context, node)) context.reports.forget(node.name);
      suspects.end(suspect);
    } catch (error) {
      log.warn('node not deleted', { node: node.name, ...errorFields(error) });
      events.emit(target, {
        type: 'Warning',
        reason: 'DeletingNodeFailed',
        message: `Deleting Node ${node.name} failed`,
      });
      suspects.retry(suspect);
    }
  }

  function send(node: NodeView) {
    options.deleting?.(node);
    return deleteNode(api, node);
  }

  async function applyPowerOff(examined: readonly Examined[]): Promise<void> {
    const fencing = options.outOfServiceTaint
      ? examined.filter(({ finding }) => finding.kind === 'powered-off' && needsOutOfService(finding))
      : [];
    let fenced = await grant('out-of-service', fencing.length);
    if (fenced < fencing.length)
      log.warn('out-of-service taints withheld: the budget has no room', { withheld: fencing.length - fenced });
    await Promise.all(
      examined.map(async ({ suspect, finding }) => {
        if (finding.kind !== 'powered-off') return;
        const { outOfService: held } = powerTaintsOf(finding.node);
        const outOfService = !finding.suspended && (held || (options.outOfServiceTaint && fenced-- > 0));
        // The cloud shows the VM as powered off. That is proof, so it needs no budget.
        await taint(finding.node, { shutdown: true, outOfService });
        suspects.retry(suspect);
      }),
    );
  }

  async function clear(node: NodeView): Promise<boolean> {
    withheld.done(node.name);
    const untainted = await taint(node, { shutdown: false, outOfService: false });
    return untainted === undefined ? false : found(untainted);
  }

  async function found(node: NodeView): Promise<boolean> {
    withheld.done(node.name);
    return (
      conditionOf(node, instanceMissing)?.status !== 'True' || condition(node, 'Found', missingReasons.Found.meaning)
    );
  }

  /** Returns the Node at its new version; undefined when the write failed. */
  async function taint(node: NodeView, desired: PowerTaints): Promise<NodeView | undefined> {
    const taints = planPowerTaints(node, desired);
    if (taints === undefined) return node;
    if (isPaused(node)) return undefined;
    const body = { metadata: { resourceVersion: node.resourceVersion }, spec: { taints } };
    let resourceVersion: string;
    try {
      resourceVersion = await options.writes.run(() => patchNode(api, node.name, body, { patch: 'merge' }));
    } catch (error) {
      if (isNotFound(error)) return node;
      if (!isConflict(error)) log.warn('power taint not written', { node: node.name, ...errorFields(error) });
      return undefined;
    }
    const reason = desired.shutdown ? 'ShutdownTaintAdded' : 'ShutdownTaintRemoved';
    const message = desired.shutdown ? 'its VM is powered off' : 'its VM is powered on, or the Node is Ready';
    log.info(desired.shutdown ? 'shutdown taint added' : 'shutdown taint removed', { node: node.name });
    events.emit(eventTarget(node), { type: 'Normal', reason, message });
    return { ...node, resourceVersion, taints };
  }

  async function withhold(node: NodeView, found: MissingReason, message?: string, onNode = true): Promise<void> {
    // A Node that was deleted in between would stay in the gauge.
    if (nodes.get(node.name)?.uid !== node.uid) return;
    const shown = conditionOf(node, instanceMissing);
    const before = withheld.get(node.name)?.reason ?? (shown?.status === 'True' ? shown.reason : undefined);
    // Each sign of life restarts the confirmation. The condition keeps the reason for it.
    const isConfirmed = found === 'Confirming' && (before === 'SignOfLife' || before === 'InstanceReplaced');
    // What is known of the Node stays true while others are asked for.
    const isPostponed = found === 'ProofPostponed' && before !== undefined && isKept(before);
    const reason = isConfirmed || isPostponed ? (before as MissingReason) : found;
    const { meaning } = missingReasons[reason];
    const text = (reason !== found && shown?.reason === before ? shown?.message : message) ?? meaning;
    withheld.wait(node.name, reason, '');
    if (before !== reason && !usual.has(reason)) {
      log.warn('node deletion withheld', { node: node.name, reason, why: text });
      events.emit(eventTarget(node), { type: 'Warning', reason: 'DeletionWithheld', message: `${reason}: ${text}` });
    }
    if (onNode) await condition(node, reason, text);
  }

  async function condition(node: NodeView, reason: MissingReason, message: string): Promise<boolean> {
    if (isPaused(node)) return false;
    const status = reason === 'Found' ? ('False' as const) : ('True' as const);
    const desired = { type: instanceMissing, status, reason, message };
    try {
      await options.writes.run(() => writeCondition({ api, clock }, node, desired));
      return true;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error))
        log.warn('condition not written', { node: node.name, ...errorFields(error) });
      return false;
    }
  }

  return { apply, clear, found, withhold, done: (name) => withheld.done(name) };
}

/**
 * Not a suspended VM: its pods go on when it is resumed, beside their replacements on the same volumes. False, too,
 * where a person's own taint has the same effect as ours, which then needs no budget.
 */
function needsOutOfService({ node, suspended }: Finding & { kind: 'powered-off' }): boolean {
  const { shutdown } = powerTaintsOf(node);
  return !suspended && planPowerTaints(node, { shutdown, outOfService: true }) !== undefined;
}
