import { isCloudError } from '../../common/cloud-error.ts';
import { backoffMs } from '../../common/process/backoff.ts';
import type { Clock, Timer } from '../../common/process/clock.ts';
import { errorFields, type Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import { isConflict, isKubeError } from '../kube/api.ts';
import { createKeyQueue, type Priority } from './key-queue.ts';

/** Upstream's work queue metrics. Every call has the queue's name. */
export interface QueueMetrics {
  /** `workqueue_adds_total` */
  added(name: string): void;
  /** `workqueue_depth`: due keys that wait. */
  depth(name: string, keys: number): void;
  /** `workqueue_queue_duration_seconds`: from due to start. */
  waited(name: string, seconds: number): void;
  /** `workqueue_work_duration_seconds` */
  worked(name: string, seconds: number): void;
  /** `workqueue_retries_total` */
  retried(name: string): void;
  /** A queue began to run; `queue` tells its runs until it is stopped. */
  started(name: string, queue: RunningWork): void;
  stopped(name: string, queue: RunningWork): void;
}

/** What a work queue runs now. */
export interface RunningWork {
  /** `workqueue_longest_running_processor_seconds` */
  readonly longestRunningSeconds: number;
  /** `workqueue_unfinished_work_seconds`: the sum over all runs. */
  readonly unfinishedSeconds: number;
}

export interface WorkQueueOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How many keys run at once; at least 1. */
  readonly concurrency: number;
  /**
   * Reconciles one key with its desired state. Safe to repeat. After a throw it is repeated with back-off, and after
   * `requeueAfterMs` as requested. The signal aborts when the process stops and the drain time is over.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: an async function that returns nothing is the normal case
  reconcile(key: string, signal: AbortSignal): Promise<void | { readonly requeueAfterMs?: number }>;
  /** The delay after consecutive failures. Default 250 ms, doubling up to 2 minutes. */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number };
  /** How long `stop` waits for running keys before their signal aborts. Default 10 s. */
  readonly drainMs?: number;
  readonly metrics?: QueueMetrics;
}

export interface EnqueueOptions {
  readonly afterMs?: number;
  readonly priority?: Priority;
}

export interface WorkQueue extends RunningWork {
  /**
   * Enqueues a key. Several requests are merged to the earliest time and the highest priority. A running key runs again
   * afterwards.
   */
  enqueue(key: string, options?: EnqueueOptions): void;
  /** Resets the key's count of consecutive failures. Does not affect waiting or running keys. */
  forget(key: string): void;
  start(): void;
  /**
   * Starts no more keys and waits for the running ones. After `drainMs` it aborts their signal and waits one second
   * more. Never rejects; keys that still run then are logged.
   */
  stop(): Promise<void>;
  /** The number of due keys that wait. */
  readonly depth: number;
  /** The number of running keys. */
  readonly running: number;
  /**
   * When a run last ended, in monotonic milliseconds; the current time while none runs. A failed run counts as
   * progress.
   */
  readonly lastProgressAt: number;
}

const graceMs = 1_000;

/**
 * Runs `reconcile` for keys. One key never runs twice at once, and no key is lost. Failures are repeated with
 * exponential back-off per key, at least after `retryAfterMs` of a KubeError or CloudError. With the same clock and
 * seed the order of runs is the same.
 */
export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { name, clock, random, reconcile, metrics } = options;
  const log = options.log.with({ reconciler: name });
  const { firstMs, maxMs } = options.backoff ?? { firstMs: 250, maxMs: 120_000 };
  const queue = createKeyQueue();
  const running = new Map<string, Run>();
  const failures = new Map<string, number>();
  const abort = new AbortController();
  let state: 'new' | 'started' | 'stopped' = 'new';
  let pumping = false;
  let wakeUp: { readonly at: number; readonly timer: Timer } | undefined;
  let progressAt = clock.monotonic();
  let onDrained: (() => void) | undefined;
  let stopping: Promise<void> | undefined;

  function add(key: string, dueAt: number, priority: Priority): void {
    const run = running.get(key);
    if (run === undefined) {
      queue.add(key, dueAt, priority);
      pumpSoon();
      return;
    }
    // The request is stored with the run until it ends; several requests are merged.
    const again = run.again;
    run.again = {
      dueAt: Math.min(dueAt, again?.dueAt ?? dueAt),
      priority: again === undefined ? priority : higher(again.priority, priority),
    };
  }

  /**
   * A tick later, so that a burst of changes is sorted before its first key runs, and no event handler runs a
   * reconcile.
   */
  function pumpSoon(): void {
    if (pumping || state !== 'started') return;
    pumping = true;
    queueMicrotask(pump);
  }

  function pump(): void {
    pumping = false;
    if (state !== 'started') return;
    const now = clock.monotonic();
    while (running.size < options.concurrency) {
      const next = queue.take(now);
      if (next === undefined) break;
      if (running.size === 0) progressAt = now;
      metrics?.waited(name, (now - next.dueAt) / 1000);
      begin(next.key, next.priority, now);
    }
    metrics?.depth(name, queue.due(now));
    armWakeUp(queue.nextDueAt(now), now);
  }

  function armWakeUp(at: number | undefined, now: number): void {
    if (wakeUp?.at === at) return;
    wakeUp?.timer.cancel();
    wakeUp = undefined;
    if (at === undefined) return;
    const timer = clock.setTimer(at - now, () => {
      wakeUp = undefined;
      pumpSoon();
    });
    wakeUp = { at, timer };
  }

  function begin(key: string, priority: Priority, now: number): void {
    const run: Run = { priority, startedAt: now, again: undefined };
    running.set(key, run);
    void attempt(key).then((outcome) => end(key, run, outcome));
  }

  async function attempt(key: string): Promise<Outcome> {
    try {
      return { ok: true, requeueAfterMs: (await reconcile(key, abort.signal))?.requeueAfterMs };
    } catch (error) {
      return { ok: false, error };
    }
  }

  function end(key: string, run: Run, outcome: Outcome): void {
    const now = clock.monotonic();
    running.delete(key);
    progressAt = now;
    metrics?.worked(name, (now - run.startedAt) / 1000);
    if (run.again) queue.add(key, Math.max(now, run.again.dueAt), run.again.priority);
    if (!outcome.ok) retry(key, run, outcome.error, now);
    else {
      failures.delete(key);
      if (outcome.requeueAfterMs !== undefined) queue.add(key, now + Math.max(0, outcome.requeueAfterMs), 'normal');
    }
    if (running.size === 0) onDrained?.();
    pumpSoon();
  }

  function retry(key: string, run: Run, error: unknown, now: number): void {
    const count = (failures.get(key) ?? 0) + 1;
    failures.set(key, count);
    const asked = isKubeError(error) || isCloudError(error) ? (error.retryAfterMs ?? 0) : 0;
    const delay = Math.max(asked, backoffMs(count, { firstMs, maxMs, random }));
    metrics?.retried(name);
    const fields = { key, failures: count, retryInMs: Math.round(delay), ...errorFields(error) };
    // A conflict is part of ordinary work: another client wrote first.
    if (count < 4 && isConflict(error)) log.info('failed, will be repeated', fields);
    else log.warn(count === 1 ? 'failed, will be repeated' : 'failed again, will be repeated', fields);
    // A failing key must not overtake changes of other keys.
    queue.add(key, now + delay, run.priority === 'high' ? 'normal' : run.priority);
  }

  async function drain(): Promise<void> {
    state = 'stopped';
    wakeUp?.timer.cancel();
    wakeUp = undefined;
    if (running.size === 0) return;
    await new Promise<void>((resolve) => {
      let timer = clock.setTimer(options.drainMs ?? 10_000, () => {
        abort.abort(new Error(`${name} stops`));
        timer = clock.setTimer(graceMs, () => {
          log.warn('stopped while keys still run', { keys: [...running.keys()].slice(0, 10), runs: running.size });
          resolve();
        });
      });
      onDrained = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  const workQueue: WorkQueue = {
    enqueue(key, { afterMs = 0, priority = 'normal' } = {}) {
      if (state === 'stopped') return;
      metrics?.added(name);
      add(key, clock.monotonic() + Math.max(0, afterMs), priority);
    },
    forget(key) {
      failures.delete(key);
    },
    start() {
      if (state !== 'new') return;
      state = 'started';
      metrics?.started(name, workQueue);
      pumpSoon();
    },
    stop() {
      stopping ??= drain().finally(() => metrics?.stopped(name, workQueue));
      return stopping;
    },
    get depth() {
      return queue.due(clock.monotonic());
    },
    get running() {
      return running.size;
    },
    get lastProgressAt() {
      return running.size === 0 ? clock.monotonic() : progressAt;
    },
    get longestRunningSeconds() {
      let first = clock.monotonic();
      const now = first;
      for (const run of running.values()) first = Math.min(first, run.startedAt);
      return (now - first) / 1000;
    },
    get unfinishedSeconds() {
      const now = clock.monotonic();
      let sum = 0;
      for (const run of running.values()) sum += now - run.startedAt;
      return sum / 1000;
    },
  };
  return workQueue;
}

interface Run {
  readonly priority: Priority;
  readonly startedAt: number;
  again: { readonly dueAt: number; readonly priority: Priority } | undefined;
}

type Outcome =
  | { readonly ok: true; readonly requeueAfterMs: number | undefined }
  | { readonly ok: false; readonly error: unknown };

function higher(a: Priority, b: Priority): Priority {
  const order: readonly Priority[] = ['high', 'normal', 'low'];
  return order.indexOf(a) < order.indexOf(b) ? a : b;
}
