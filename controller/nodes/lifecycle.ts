import type { CloudError } from '../../common/cloud-error.ts';
import type { PowerState } from '../../common/instance.ts';
import { errorFields } from '../../common/process/log.ts';
import { createWaiter } from '../../common/process/until.ts';
import { annotations } from '../../common/well-known.ts';
import { type InstanceRef, type Lookup, refKey } from '../clouds/cloud.ts';
import type { InformerEvent } from '../kube/informer.ts';
import { canaryOf, isRecordedIn, pickCanaries } from '../model/canaries.ts';
import {
  conditionOf,
  instanceMissing,
  isPaused,
  isUninitialized,
  type NodeView,
  readiness,
} from '../model/node-view.ts';
import { answeringCloud } from '../model/ownership.ts';
import { append } from '../runtime/append.ts';
import type { Semaphore } from '../runtime/semaphore.ts';
import { createFindingApplier, type Examined, type FindingApplierOptions } from './apply-findings.ts';
import { examine } from './examine.ts';
import { type NodeContext, reportOf } from './node-context.ts';
import { planPowerTaints, powerTaintsOf } from './power-taints.ts';
import { inProofOrder, needsNoBudget } from './proof-order.ts';
import { missingReasons } from './reasons.ts';
import { createSuspects, type Suspect, scheduleLookup } from './suspects.ts';

export interface LifecycleOptions extends FindingApplierOptions {
  /**
   * `--node-monitor-period`: lookups that are due within half of it (at most a second) share a pass. Passes start at
   * least a second apart, or one period if that is shorter.
   */
  readonly periodMs: number;
  /** The instance of the node was found: the caller updates the Node. */
  found(name: string, lookup: Lookup & { state: 'found' }, scope: string): void;
}

/**
 * Deletes Nodes whose VM is gone and taints those whose VM is off, on the evidence that docs/explanation/nodes.md
 * lists.
 */
export interface Lifecycle {
  /** Records a change in the cache; synchronous. */
  observe(event: InformerEvent<NodeView>): void;
  /** A hint that this node's VM may have stopped or may be gone. */
  hint(name: string): void;
  /** Looks up every suspect that is due, in one batched lookup per scope. */
  pass(): Promise<void>;
  /** Runs passes until the signal aborts. Resolves when the last one has ended. */
  run(signal: AbortSignal): Promise<void>;
  /** Monotonic start of the last round of the loop, or of its oldest pass still in progress, or its last write. */
  readonly lastProgressMs: number;
}

interface Due {
  readonly suspect: Suspect;
  /** As the cache has it. */
  readonly node: NodeView;
}

const firstRetryMs = 5000;
const maxRetryMs = 60_000;
/** How long lookups fail or a proof is postponed before the Node says so. */
const quietMs = 60_000;
/**
 * For a minute after its agent's last report, a VM is looked up every five seconds: clouds show an orderly shutdown
 * that late.
 */
const leavingTries = 12;

export function createLifecycle(context: NodeContext, options: LifecycleOptions): Lifecycle {
  const { clock, log, nodes, resolver } = context;
  const suspects = createSuspects(clock);
  /** Scopes whose pass is in progress, and since when: a cloud that does not answer must not delay the others. */
  const busy = new Map<string, number>();
  // A write that ended, whether it succeeded or not, is progress: a pass over many Nodes may take minutes.
  const writes: Semaphore = {
    run: (write) =>
      options.writes.run(write).finally(() => {
        for (const scope of busy.keys()) busy.set(scope, clock.monotonic());
      }),
  };
  const ofSuspects = { end: (suspect: Suspect) => suspects.end(suspect), retry };
  const applier = createFindingApplier(context, { ...options, writes }, ofSuspects);
  let lastRoundMs = clock.monotonic();
  const waiter = createWaiter(clock);

  function observe(event: InformerEvent<NodeView>): void {
    if (event.type === 'deleted') drop(event.key);
    else watchReadiness(event.object, event.type === 'updated' && isRelevantChange(event.old, event.object));
  }

  function isRelevantChange(before: NodeView, now: NodeView): boolean {
    const isUnpaused = isPaused(before) && !isPaused(now);
    const releaseChanged =
      before.annotations[annotations.releaseDeletion] !== now.annotations[annotations.releaseDeletion];
    return (
      readiness(before) !== readiness(now) ||
      isUnpaused ||
      releaseChanged ||
      needsNoBudget(before) !== needsNoBudget(now)
    );
  }

  function drop(name: string): void {
    suspects.drop(name);
    applier.done(name);
  }

  function watchReadiness(node: NodeView, changedSinceLookup: boolean): void {
    const leftover = powerTaintsOf(node).shutdown || conditionOf(node, instanceMissing)?.status === 'True';
    if (readiness(node) === 'True' && !leftover) {
      if (suspects.get(node.name)?.hinted !== true) drop(node.name);
      return;
    }
    if (suspects.add(node.name, node.uid, false, changedSinceLookup)) waiter.wake();
  }

  function hint(name: string): void {
    const node = nodes.get(name);
    if (node === undefined) return;
    if (suspects.add(name, node.uid, true, true)) waiter.wake();
  }

  async function pass(): Promise<void> {
    lastRoundMs = clock.monotonic();
    if (context.paused()) return postpone(suspects.due(0).map(startLookup));
    const byScope = new Map<string, { readonly suspect: Suspect; readonly node: NodeView }[]>();
    for (const suspect of suspects.due(Math.min(1000, options.periodMs / 2))) {
      const node = nodes.get(suspect.name);
      const cloud = node && answeringCloud(node, resolver.configured);
      if (node === undefined || node.deleting || node.uid !== suspect.uid || cloud === undefined) drop(suspect.name);
      else if (!busy.has(cloud.scope)) append(byScope, cloud.scope, { suspect: startLookup(suspect), node });
    }
    await Promise.all([...byScope].map(([scope, due]) => runScope(scope, due)));
  }

  /** Any change from here on makes the suspect due again at once. */
  function startLookup(suspect: Suspect): Suspect {
    suspect.changedSinceLookup = false;
    return suspect;
  }

  async function runScope(scope: string, due: readonly Due[]): Promise<void> {
    busy.set(scope, clock.monotonic());
    try {
      await passOfScope(scope, due);
    } catch (error) {
      log.error('lifecycle pass failed', { scope, ...errorFields(error) });
      postpone(due.map(({ suspect }) => suspect));
    } finally {
      busy.delete(scope);
    }
  }

  function postpone(late: readonly Suspect[]): void {
    for (const suspect of late) scheduleLookup(suspect, clock.monotonic() + options.periodMs);
  }

  function retry(suspect: Suspect, atLeastMs = 0): void {
    suspect.tries += 1;
    const delay = Math.max(atLeastMs, Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(suspect.tries - 1, 10)));
    scheduleLookup(suspect, clock.monotonic() + delay);
  }

  async function passOfScope(scope: string, all: readonly Due[]): Promise<void> {
    // A Node that is called missing waits for the cloud's answer: it may be Ready long after its kubelet died.
    const isOver = ({ suspect, node }: Due) => {
      const { status, reason } = conditionOf(node, instanceMissing) ?? {};
      const isCalledMissing = status === 'True' && reason !== 'CloudUnknown';
      return readiness(node) === 'True' && !suspect.hinted && !isCalledMissing;
    };
    const due = inProofOrder(all.filter((each) => !isOver(each)));
    await Promise.all([...all.filter(isOver).map(recovered), due.length > 0 ? lookUp(scope, due) : undefined]);
  }

  async function lookUp(scope: string, due: readonly Due[]): Promise<void> {
    const lookups = resolver.lookupsOf(scope);
    if (lookups === undefined) return;
    const ref = (node: NodeView): InstanceRef => ({ by: 'providerID', providerID: node.providerID });
    const canaries = pickCanaries(nodes.values(), scope, resolver.configured, suspects.get);
    const askedMs = clock.monotonic();
    const answers = await lookups.lookupAll(
      due.map(({ node }) => ref(node)),
      { canaries },
    );
    const { hasSeenInstance } = lookups;
    const recorded = due
      .filter(({ node }) => isRecordedIn(node, scope, resolver.configured))
      .map(({ node }) => ref(node));
    const others = [...canaries, ...recorded];
    const examined: Examined[] = [];
    await Promise.all(
      due.map(async ({ suspect, node }) => {
        const lookup = answers.get(refKey(ref(node)));
        suspect.answer = lookup?.state;
        if (lookup !== undefined && isPostponed(lookup)) return postponed(suspect, node);
        suspect.answeredMs = askedMs;
        suspect.postponedMs = undefined;
        if (lookup === undefined || lookup.state === 'unknown') return unknown(suspect, node, lookup?.error);
        suspect.unknownMs = undefined;
        if (lookup.state === 'found' && !isOff(lookup.power)) return foundAlive(suspect, node, lookup, scope);
        if (lookup.state === 'found') await applier.found(node);
        if (lookup.state === 'found' && carriesPowerTaints(node, lookup.power)) return retry(suspect);
        const visibility = { canary: canaryOf(ref(node), others, answers), hasSeenInstance };
        examined.push({ suspect, node, finding: await examine(context, suspect, lookup, scope, visibility, askedMs) });
      }),
    );
    await applier.apply(examined);
  }

  /**
   * It is repeated soon and is not a failure. Most are proved within a minute, and hundreds would be written for
   * nothing just when the control plane has the most to do.
   */
  async function postponed(suspect: Suspect, node: NodeView): Promise<void> {
    const now = clock.monotonic();
    suspect.postponedMs ??= now;
    scheduleLookup(suspect, now + firstRetryMs);
    await applier.withhold(node, 'ProofPostponed', undefined, now - suspect.postponedMs >= quietMs);
  }

  /**
   * An unknown answer says nothing about the instance, so the series of answers continues. A Node that is not
   * initialised says AwaitingCloud already.
   */
  async function unknown(suspect: Suspect, node: NodeView, error: CloudError | undefined): Promise<void> {
    const now = clock.monotonic();
    suspect.unknownMs ??= now;
    retry(suspect, error?.retryAfterMs);
    const { state } = suspect.series ?? {};
    const isMissing = state === 'gone' || state === 'absent';
    const isDown = readiness(node) !== 'True' && !isUninitialized(node);
    if (!isMissing && !(isDown && now - suspect.unknownMs >= quietMs)) return;
    const { reason, message } = conditionOf(node, instanceMissing) ?? {};
    const { meaning } = missingReasons.CloudUnknown;
    const first = error === undefined ? meaning : `${meaning} The first error: ${error.kind}, ${error.message}`;
    // The text of an error may differ each time, and an outage must not write each Node again and again.
    await applier.withhold(node, 'CloudUnknown', reason === 'CloudUnknown' ? message : first);
  }

  function carriesPowerTaints(node: NodeView, power: PowerState): boolean {
    const outOfService = power !== 'suspended' && (options.outOfServiceTaint || powerTaintsOf(node).outOfService);
    return planPowerTaints(node, { shutdown: true, outOfService }) === undefined;
  }

  async function foundAlive(
    suspect: Suspect,
    node: NodeView,
    lookup: Lookup & { state: 'found' },
    scope: string,
  ): Promise<void> {
    suspect.series = undefined;
    options.found(node.name, lookup, scope);
    const cleared = await applier.clear(node);
    const leaving = suspect.hinted && reportOf(context, node)?.report.leaving === true;
    if (lookup.power === 'changing' || (leaving && suspect.tries < leavingTries)) {
      suspect.tries += 1;
      scheduleLookup(suspect, clock.monotonic() + firstRetryMs);
    } else if (cleared && readiness(node) === 'True') end(suspect);
    else retry(suspect);
  }

  function end(suspect: Suspect): void {
    suspects.end(suspect);
    applier.done(suspect.name);
  }

  /** Ready again: removes our taints and condition without a lookup. */
  async function recovered({ suspect, node }: Due): Promise<void> {
    if (await applier.clear(node)) end(suspect);
    else retry(suspect);
  }

  async function run(signal: AbortSignal): Promise<void> {
    const underWay = new Set<Promise<void>>();
    while (!signal.aborted) {
      const one = pass().catch((error: unknown) => log.error('lifecycle pass failed', errorFields(error)));
      underWay.add(one);
      void one.then(() => underWay.delete(one));
      await untilDue(signal);
    }
    await Promise.all(underWay);
  }

  /**
   * Waits until the next suspect is due: at least a moment after this pass began, and at most ten seconds, so that the
   * loop shows progress. A new suspect waits a moment, so that others of the same event join its pass.
   */
  async function untilDue(signal: AbortSignal): Promise<void> {
    const beganMs = clock.monotonic();
    let untilMs = Number.POSITIVE_INFINITY;
    let isOver = false;
    while (!isOver && !signal.aborted) {
      const now = clock.monotonic();
      const earliestMs = Math.max(now + 200, beganMs + Math.min(1000, options.periodMs));
      const dueMs = Math.min(suspects.nextAtMs() ?? Number.POSITIVE_INFINITY, now + 10_000);
      // A new suspect never postpones a pass that is due.
      untilMs = Math.min(untilMs, Math.max(earliestMs, dueMs));
      isOver = await waiter.wait(untilMs - now, signal);
    }
  }

  return {
    observe,
    hint,
    pass,
    run,
    get lastProgressMs() {
      return Math.min(lastRoundMs, ...busy.values());
    },
  };
}

function isOff(power: PowerState): boolean {
  return power === 'stopped' || power === 'suspended';
}

/** The list leaves the instance out, and this pass asked for others by id. */
function isPostponed(lookup: Lookup): boolean {
  return lookup.state === 'unknown' && lookup.error.kind === 'NotFound';
}
