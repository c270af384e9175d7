import { isCloudError } from '../common/cloud-error.ts';
import type { Instance, Notice } from '../common/instance.ts';
import { abortAfter } from '../common/process/abort-after.ts';
import { backoffMs } from '../common/process/backoff.ts';
import { type Clock, sleep } from '../common/process/clock.ts';
import { errorFields, type Log } from '../common/process/log.ts';
import type { Random } from '../common/process/random.ts';
import { createWaiter, restOrAbort } from '../common/process/until.ts';
import type { MetadataHealth } from '../common/report.ts';
import type { LocalInterface, MetadataSource } from './metadata/source.ts';
import type { AgentMetrics } from './metrics.ts';

/** The observed state of the instance. */
export interface Observation {
  /** As last read; a failed read does not change it. Absent until the first success. */
  readonly instance?: Instance;
  readonly notices: readonly Notice[];
  readonly metadata: MetadataHealth;
}

export interface ObserveOptions {
  readonly source: MetadataSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: AgentMetrics;
  readonly pollIntervalMs: number;
  readonly interfaces: () => readonly LocalInterface[];
  /** Called after the first read, even a failed one, and whenever instance, notices or the service's health changed. */
  readonly onChange: () => void;
}

export interface Observer {
  current(): Observation;
  /** After a possible change: reads now, then more often for two minutes. */
  hint(reason: string): void;
  /** Why the loop is stuck; undefined while it makes progress. */
  stuck(): string | undefined;
}

const readTimeoutMs = 20_000;
/** A notice has to be reported within five seconds, of which the delivery may take one. */
const checkPeriodMs = 4000;
const hintedIntervalMs = 15_000;
const hintedForMs = 120_000;
const retryFirstMs = 1000;

/**
 * Reads the metadata service until the signal aborts: periodically, on hints and, where the source supports it, on
 * changes.
 */
export function observe(options: ObserveOptions, signal: AbortSignal): Observer {
  const { source, clock, random, log, metrics, pollIntervalMs, onChange } = options;
  /** Whether the service reports changes by itself; otherwise notices are read separately. */
  let reportsChanges = source.waitForChange !== undefined;
  let instance: Instance | undefined;
  let notices: readonly Notice[] = [];
  let lastRead: number | undefined;
  let failures = 0;
  let lastError: string | undefined;
  /** No reads before this time, as the service requested. */
  let notBefore = Number.NEGATIVE_INFINITY;
  let hintedUntil = Number.NEGATIVE_INFINITY;
  const startedMs = clock.monotonic();
  let lastProgress = startedMs;
  const waiter = createWaiter(clock);
  let hinted = false;

  async function attempt(): Promise<void> {
    const before = fingerprint();
    const started = clock.monotonic();
    const limit = abortAfter(clock, readTimeoutMs, signal);
    try {
      const found = await source.read(limit.signal);
      if (instance !== undefined && instance.id !== found.id) {
        log.warn('the metadata service names another instance than before', { before: instance.id, now: found.id });
      }
      instance = found;
      if (reportsChanges || lastRead === undefined) notices = await readNotices(limit.signal);
      lastRead = clock.monotonic();
      if (failures > 0) log.info('metadata can be read again', { failures });
      failures = 0;
      lastError = undefined;
      metrics.metadataReads.add({ cloud: source.cloud, outcome: 'ok' });
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      lastError = error instanceof Error ? error.message : String(error);
      notBefore = clock.monotonic() + (isCloudError(error) ? (error.retryAfterMs ?? 0) : 0);
      metrics.metadataReads.add({ cloud: source.cloud, outcome: outcomeOf(error) });
      log.warn('metadata could not be read', { ...errorFields(error), failures });
    } finally {
      limit.cancel();
      lastProgress = clock.monotonic();
      metrics.metadataReadSeconds.observe((clock.monotonic() - started) / 1000);
    }
    if (fingerprint() === before) return;
    if (instance)
      log.info('instance observed', { id: instance.id, addresses: instance.addresses.length, notices: notices.length });
    onChange();
  }

  /** Reads the notices; if only they cannot be read, returns the previous ones. */
  async function readNotices(limit: AbortSignal): Promise<readonly Notice[]> {
    try {
      return (await source.notices?.(limit)) ?? [];
    } catch (error) {
      if (!signal.aborted) log.warn('notices could not be read', errorFields(error));
      return notices;
    }
  }

  /** Undefined before the first attempt, so that even a failed first attempt counts as a change. */
  function fingerprint(): string | undefined {
    if (lastRead === undefined && failures === 0) return undefined;
    return JSON.stringify([instance, notices, failures === 0]);
  }

  function delay(): number {
    const interval = clock.monotonic() < hintedUntil ? Math.min(hintedIntervalMs, pollIntervalMs) : pollIntervalMs;
    if (failures > 0) {
      const backoff = backoffMs(failures, { firstMs: retryFirstMs, maxMs: interval, random });
      return Math.max(backoff, notBefore - clock.monotonic());
    }
    return interval * (0.9 + 0.2 * random());
  }

  async function pollLoop(): Promise<void> {
    while (!signal.aborted) {
      // No hint shortens the pause that the service requested.
      const requestedMs = notBefore - clock.monotonic();
      if (requestedMs > 0) await restOrAbort(clock, requestedMs, signal);
      hinted = false;
      await attempt();
      if (hinted || signal.aborted) continue;
      await waiter.wait(delay(), signal);
    }
  }

  function readSoon(): void {
    hinted = true;
    waiter.wake();
  }

  /** Undefined where the system has no answer, for want of descriptors or memory. */
  function readInterfaces(): string | undefined {
    try {
      return JSON.stringify(options.interfaces());
    } catch (error) {
      log.warn('local interfaces not read', errorFields(error));
      return undefined;
    }
  }

  /**
   * Polls changes of the machine's interfaces and, where the source cannot wait for them, notices. Both share one
   * timer, because on an idle machine a wake-up costs as much processor time as the check.
   */
  async function checkLoop(): Promise<void> {
    let interfaces = readInterfaces();
    let tookMs = 0;
    while (!signal.aborted) {
      await sleep(clock, checkPeriodMs - tookMs, signal);
      const started = clock.monotonic();
      const now = readInterfaces() ?? interfaces;
      if (now !== interfaces) hint('local interfaces changed');
      interfaces = now;
      if (!reportsChanges && source.notices !== undefined) await checkNotices();
      tookMs = clock.monotonic() - started;
    }
  }

  async function changeLoop(): Promise<void> {
    let refusals = 0;
    while (!signal.aborted) {
      try {
        await source.waitForChange?.(signal);
        refusals = 0;
        reportsChanges = true;
        readSoon();
        // A service that always answers at once must not be called in a tight loop.
        await sleep(clock, retryFirstMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        refusals += 1;
        reportsChanges = false;
        log.debug('waiting for a change failed', errorFields(error));
        await sleep(clock, backoffMs(refusals, { firstMs: retryFirstMs, maxMs: pollIntervalMs, random }), signal);
      }
    }
  }

  function hint(reason: string): void {
    log.debug('hint', { reason });
    hintedUntil = clock.monotonic() + hintedForMs;
    readSoon();
  }

  async function checkNotices(): Promise<void> {
    if (lastRead === undefined || clock.monotonic() < notBefore) return;
    const limit = abortAfter(clock, checkPeriodMs, signal);
    const before = JSON.stringify(notices);
    notices = await readNotices(limit.signal).finally(() => limit.cancel());
    if (JSON.stringify(notices) === before) return;
    log.warn('the cloud announces an interruption, or withdraws one', { notices });
    onChange();
  }

  const loops = [pollLoop(), checkLoop()];
  if (source.waitForChange !== undefined) loops.push(changeLoop());
  for (const loop of loops) {
    loop.catch((error) => {
      if (!signal.aborted) log.error('observing stopped', errorFields(error));
    });
  }

  return {
    current() {
      const ok = failures === 0 && lastRead !== undefined;
      return {
        ...(instance === undefined ? {} : { instance }),
        notices,
        metadata: {
          ok,
          ageSeconds: ok ? 0 : Math.round((clock.monotonic() - (lastRead ?? startedMs)) / 1000),
          failures,
          ...(lastError === undefined ? {} : { error: lastError }),
        },
      };
    },
    hint,
    stuck() {
      const quietMs = clock.monotonic() - lastProgress;
      const allowedMs = 2 * pollIntervalMs + readTimeoutMs + Math.max(notBefore - lastProgress, 0);
      return quietMs > allowedMs ? `no read was tried for ${Math.round(quietMs / 1000)} s` : undefined;
    },
  };
}

function outcomeOf(error: unknown): string {
  return isCloudError(error) ? error.kind : 'Unknown';
}
