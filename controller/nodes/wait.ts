import { backoffMs } from '../../common/process/backoff.ts';
import { errorFields } from '../../common/process/log.ts';
import { conditions } from '../../common/well-known.ts';
import { isConflict, isNotFound } from '../kube/api.ts';
import { conditionOf, isPaused, isUninitialized, type NodeView } from '../model/node-view.ts';
import type { WaitingNodes } from '../model/waiting-nodes.ts';
import type { Semaphore } from '../runtime/semaphore.ts';
import { eventTarget, type NodeContext, reportOf } from './node-context.ts';
import type { InitializedReason } from './reasons.ts';
import { fingerprint, type RetryBackoff } from './retry-backoff.ts';
import { readNode, writeCondition } from './write-node.ts';

/** Longer delays are rounded up to this grid, so that waiting Nodes are looked up together. */
const retryGridMs = 15_000;
/** The delay before an initialised Node that could not be updated is tried again. */
export const heldRetryMs = 60_000;

/** Reasons that last only as long as a failure. */
const failures: ReadonlySet<string> = new Set<InitializedReason>(['AwaitingCloud', 'WriteRefused']);

export interface WaitParts {
  readonly writes: Semaphore;
  readonly waiting: WaitingNodes<InitializedReason>;
  readonly backoffs: RetryBackoff;
  /** The Node was written and has this version now. */
  wrote(node: NodeView, version: string): void;
}

export interface WaitOptions {
  /** The shortest delay; default: the back-off alone. */
  readonly retryAfterMs?: number | undefined;
  /** False while nothing claims the Node for a configured cloud: then it is not written. Default true. */
  readonly claimed?: boolean;
  /** Whether the condition alone tells of it, without an event and a line in the log. Default false. */
  readonly quiet?: boolean;
}

/**
 * Makes a Node wait. Returns when to reconcile it again; undefined when the Node is gone. Writes at most one condition.
 * Does not throw for failures of the API server.
 */
export type Wait = (
  node: NodeView,
  reason: InitializedReason,
  message: string,
  options?: WaitOptions,
) => Promise<{ readonly requeueAfterMs: number } | undefined>;

export function createWait(context: NodeContext, { writes, waiting, backoffs, wrote }: WaitParts): Wait {
  const { api, clock, random, log, events } = context;

  /**
   * Writes the reason on the Node, and schedules the next try. A Node that no cloud claims yet may be foreign and is
   * not written.
   */
  async function wait(
    node: NodeView,
    reason: InitializedReason,
    message: string,
    { retryAfterMs = 0, claimed = true, quiet = false }: WaitOptions = {},
  ) {
    const shown = conditionOf(node, conditions.cloudInitialized);
    const shownReason = waiting.get(node.name)?.reason ?? (shown?.status === 'False' ? shown.reason : undefined);
    const joining = isUninitialized(node);
    const tries = joining ? waiting.wait(node.name, reason, message) : 1;
    if (shownReason !== reason && !quiet) {
      log.warn('node waits for initialisation', { node: node.name, reason, why: message });
      events.emit(eventTarget(node), {
        type: 'Warning',
        reason: 'CloudInitializedChanged',
        message: `${reason}: ${message}`,
      });
    }
    const alreadyShown = shown?.status === 'False' && shown.reason === reason;
    // A message may differ at every try, so it is rewritten only at tries 1, 2, 4, 8 and so on.
    // The condition shows an earlier failure of a claimed Node, which would otherwise stay after the failure is over.
    const mayWrite = claimed || (shown !== undefined && failures.has(shown.reason));
    if (mayWrite && (!alreadyShown || Number.isInteger(Math.log2(tries)))) {
      try {
        await writeReason(node, reason, message);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (!isConflict(error)) log.warn('reason not written', { node: node.name, reason, ...errorFields(error) });
      }
    }
    const backoff = joining ? backoffMs(tries, { firstMs: 1000, maxMs: 60_000, random }) : heldRetryMs;
    const delay = Math.max(retryAfterMs, backoff);
    const at = clock.monotonic() + delay;
    const onGrid = delay < retryGridMs ? at : Math.ceil(at / retryGridMs) * retryGridMs;
    backoffs.close(node.name, fingerprint(node, reportOf(context, node)), onGrid);
    return { requeueAfterMs: onGrid - clock.monotonic() };
  }

  /** The cached Node is often one heartbeat behind, especially after a conflict. It is then read again, once. */
  async function writeReason(node: NodeView, reason: InitializedReason, message: string): Promise<void> {
    const desired = { type: conditions.cloudInitialized, status: 'False' as const, reason, message };
    const version = await writes.run(async () => {
      if (context.paused()) return undefined;
      try {
        return await writeCondition({ api, clock }, node, desired);
      } catch (error) {
        if (!isConflict(error)) throw error;
        const live = await readNode(api, node.name);
        return live.uid === node.uid && !isPaused(live) ? writeCondition({ api, clock }, live, desired) : undefined;
      }
    });
    if (version !== undefined) wrote(node, version);
  }

  return wait;
}
