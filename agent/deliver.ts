import { backoffMs } from '../common/process/backoff.ts';
import type { Clock } from '../common/process/clock.ts';
import type { Log } from '../common/process/log.ts';
import type { Random } from '../common/process/random.ts';
import { createWaiter, restOrAbort } from '../common/process/until.ts';
import type { ReportAnswer } from '../common/report.ts';
import type { Access, ControllerAccess } from './controller-access.ts';
import type { AgentMetrics } from './metrics.ts';
import { type SendResult, sendReport } from './send.ts';

export interface DeliverOptions {
  readonly access: ControllerAccess;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: AgentMetrics;
  readonly heartbeatMs: number;
  /** Composes the newest report as JSON text. Called right before each attempt, so that no older one is sent. */
  readonly compose: (leaving: boolean) => string;
  /** Called with the answer to the report composed last. */
  readonly onAnswer?: (answer: ReportAnswer) => void;
}

export interface Deliverer {
  /** Requests a report now. Nothing is sent before the first call. */
  wake(): void;
  /**
   * Sends the last report, within `timeoutMs` in total. Call it after the signal aborted. Returns whether a controller
   * accepted it.
   */
  leave(timeoutMs: number): Promise<boolean>;
  /** Why no report was accepted recently; undefined when one was. */
  unready(): string | undefined;
  /** Why the loop is stuck; undefined while it makes progress. */
  stuck(): string | undefined;
}

/** For one report to one controller. */
export const attemptTimeoutMs = 10_000;
const roundTimeoutMs = 6 * attemptTimeoutMs;
const stuckMs = 2 * roundTimeoutMs;
/** The minimal time between two reports, so that a flapping address does not flood the controller. */
const minGapMs = 1000;
const retryFirstMs = 1000;
const retryMaxMs = 60_000;
const retryAfterMaxMs = 600_000;
/** The maximal delay between checks for a missing token, CA or URL. */
const waitMaxMs = 5000;
const maxHeartbeatMs = 3_600_000;

type Round =
  | { readonly kind: 'delivered'; readonly answer: ReportAnswer }
  | { readonly kind: 'waiting'; readonly message: string }
  | { readonly kind: 'failed'; readonly result: Exclude<SendResult, { readonly answer: ReportAnswer }> };

/**
 * Sends reports until the signal aborts: at once after `wake`, else at the heartbeat, and with back-off after failures.
 * Never gives up.
 */
export function deliver(options: DeliverOptions, signal: AbortSignal): Deliverer {
  const { access, clock, random, log, metrics, compose } = options;
  let news = false;
  const waiter = createWaiter(clock);
  /** The controller that accepted the last report, tried first until it fails. */
  let leader: string | undefined;
  const startedMs = clock.monotonic();
  let lastAcceptedMs: number | undefined;
  let heartbeatMs = options.heartbeatMs;
  let failures = 0;
  let lastProblem = 'no report was sent yet';
  /** The last accepted answer, so that only a different one is logged. */
  let lastSaid: string | undefined;
  /** The latest time of the next round. */
  let dueMs = Number.POSITIVE_INFINITY;

  async function attempt(url: string, { http, token }: Access, body: string, timeoutMs: number, until?: AbortSignal) {
    const started = clock.monotonic();
    const result = await sendReport({ http, clock, url, token, body, timeoutMs, ...(until ? { signal: until } : {}) });
    if (until?.aborted) return result;
    metrics.reports.add({ outcome: result.outcome });
    metrics.reportSeconds.observe((clock.monotonic() - started) / 1000);
    return result;
  }

  /** Tries the controllers in turn, beginning with the one that accepted last. */
  async function tryAll(found: Access, body: string, deadlineMs: number, until?: AbortSignal): Promise<SendResult> {
    const urls = leader === undefined ? found.urls : [leader, ...found.urls.filter((url) => url !== leader)];
    let kept: SendResult | undefined;
    for (const url of urls) {
      const left = deadlineMs - clock.monotonic();
      if (kept !== undefined && (left <= 0 || until?.aborted)) break;
      const result = await attempt(url, found, body, Math.min(attemptTimeoutMs, Math.max(left, 1)), until);
      if ('answer' in result) {
        if (leader !== result.url) log.info('reports go to', { url: result.url });
        leader = result.url;
        return result;
      }
      if (url === leader) leader = undefined;
      if (!result.tryNext) return result;
      log.debug('controller did not take the report', { outcome: result.outcome, error: result.message });
      // The answer of a replica with a retry time is more useful than that of an unreachable one.
      if (kept === undefined || ('retryAfterMs' in kept && kept.retryAfterMs === undefined)) kept = result;
    }
    return kept!;
  }

  async function round(): Promise<Round> {
    const found = await access.current();
    if (!found.ok) return { kind: 'waiting', message: found.message };
    const result = await tryAll(found, compose(false), clock.monotonic() + roundTimeoutMs, signal);
    return 'answer' in result ? { kind: 'delivered', answer: result.answer } : { kind: 'failed', result };
  }

  /** Records the outcome of a round. Returns how long to wait, and whether `wake` may end the wait. */
  function conclude(outcome: Round): { readonly waitMs: number; readonly interruptible: boolean } {
    if (outcome.kind === 'delivered') return { waitMs: noteAnswer(outcome.answer), interruptible: true };
    failures += 1;
    if (outcome.kind === 'waiting') {
      if (outcome.message !== lastProblem) log.warn(outcome.message);
      lastProblem = outcome.message;
      return { waitMs: backoffMs(failures, { firstMs: retryFirstMs, maxMs: waitMaxMs, random }), interruptible: false };
    }
    const { outcome: kind, message, retryAfterMs } = outcome.result;
    lastProblem = message;
    log.warn('report not delivered', { outcome: kind, error: message, failures });
    // The same report would be refused again, but the next one may be valid.
    if (kind === 'invalid') return { waitMs: heartbeatMs * (0.9 + 0.1 * random()), interruptible: true };
    const exact = backoffMs(failures, { firstMs: retryFirstMs, maxMs: retryMaxMs, random });
    const waitMs =
      retryAfterMs === undefined
        ? exact
        : Math.min(retryAfterMs, retryAfterMaxMs) * (1 + 0.2 * random()) + minGapMs * random();
    return { waitMs, interruptible: false };
  }

  function noteAnswer(answer: ReportAnswer): number {
    const codes = answer.reasons.map(({ code }) => code).join(',');
    if (answer.accepted) {
      const said = `${answer.initialized} ${codes}`;
      if (said !== lastSaid || failures > 0)
        log.info('report accepted', { initialized: answer.initialized, reasons: codes });
      lastSaid = said;
      lastAcceptedMs = clock.monotonic();
      metrics.lastAccepted.set(clock.now() / 1000);
    } else {
      lastProblem = `the controller refuses the report: ${codes || 'no reason given'}`;
      log.warn('report refused', { reasons: codes });
    }
    options.onAnswer?.(answer);
    failures = 0;
    metrics.initialized.set(answer.initialized ? 1 : 0);
    const asked = Math.min(answer.nextReportSeconds * 1000, maxHeartbeatMs);
    heartbeatMs = Math.max(options.heartbeatMs, asked);
    return heartbeatMs * (0.9 + 0.1 * random());
  }

  /** Waits. With `interruptible`, `wake` ends the wait, but not before the minimal gap. */
  async function pause(ms: number, interruptible: boolean): Promise<void> {
    await restOrAbort(clock, interruptible ? Math.min(ms, minGapMs) : ms, signal);
    if (interruptible && !news) await waiter.wait(ms - minGapMs, signal);
  }

  async function loop(): Promise<void> {
    while (!news && !signal.aborted) await waiter.wait(maxHeartbeatMs, signal);
    while (!signal.aborted) {
      news = false;
      dueMs = clock.monotonic();
      const { waitMs, interruptible } = conclude(await round());
      dueMs = clock.monotonic() + waitMs;
      await pause(waitMs, interruptible);
    }
  }

  metrics.reportAge.collect(() => metrics.reportAge.set((clock.monotonic() - (lastAcceptedMs ?? startedMs)) / 1000));
  loop().catch((error: unknown) => {
    lastProblem = error instanceof Error ? error.message : String(error);
    log.error('delivering stopped', { error: lastProblem });
  });

  return {
    wake() {
      news = true;
      waiter.wake();
    },
    async leave(timeoutMs) {
      const deadlineMs = clock.monotonic() + timeoutMs;
      const found = await access.current();
      if (!found.ok) return false;
      const result = await tryAll(found, compose(true), deadlineMs);
      return result.outcome === 'accepted';
    },
    unready() {
      if (lastAcceptedMs === undefined) return `no report was accepted yet: ${lastProblem}`;
      const ageMs = clock.monotonic() - lastAcceptedMs;
      if (ageMs <= 3 * heartbeatMs) return undefined;
      return `no report was accepted for ${Math.round(ageMs / 1000)} s: ${lastProblem}`;
    },
    stuck() {
      const lateMs = clock.monotonic() - dueMs;
      return lateMs > stuckMs ? `the next report is ${Math.round(lateMs / 1000)} s late` : undefined;
    },
  };
}
