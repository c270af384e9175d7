import { type Clock, sleep } from '../../common/process/clock.ts';
import { errorFields, type Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import { annotations as annotationKeys } from '../../common/well-known.ts';
import { isConflict, isNotFound, type KubeApi, KubeError } from './api.ts';
import { elapsedMs, type Instants, instantsOf } from './instants.ts';
import type { Leadership } from './leadership.ts';
import { isNewRecord, type Lease, type LeaseRecord, microTime, withChanges } from './lease.ts';
import { createLeaseStore } from './lease-store.ts';

export interface ElectorMetrics {
  /** `leader_election_master_status`. */
  leading?(value: boolean): void;
  /** `leader_election_slowpath_total`: a renewal had to read the Lease first. */
  slowPath?(): void;
}

export interface ElectorOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Unique to this process: host name, `_`, and a UUID. */
  readonly identity: string;
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  /** Annotations written with every acquisition of the Lease, such as the report URL; null removes one. */
  readonly annotations?: Readonly<Record<string, string | null>>;
  /** Called when this replica begins to lead. The signal aborts as soon as it no longer does. */
  onStartedLeading(signal: AbortSignal): void;
  /**
   * Called when a term has ended for any reason. The next try to acquire the lease waits until the returned promise has
   * settled.
   */
  onStoppedLeading(reason: string): void | Promise<void>;
  readonly metrics?: ElectorMetrics;
}

export interface Elector extends Leadership {
  /**
   * Acquires and renews the lease, and acquires it again after a loss, until `signal` aborts or `release` is called. It
   * then ends the term, but does not release the lease. Never rejects.
   */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Ends the term, then releases the lease so that the next replica takes over at once. Call it after all writers have
   * drained. Never rejects.
   */
  release(): Promise<void>;
  /**
   * Milliseconds since the last renewal was sent, while this replica leads and while the work of its term has not ended
   * yet; undefined otherwise, and where leading needs no renewal.
   */
  unrenewedMs(): number | undefined;
}

/** A fifteenth: even if clocks differ in speed by 3 %, two replicas may never write at the same time. */
const marginShare = 1 / 15;

/**
 * Leader election on a Lease as in client-go, so that upstream's controllers and this one exclude each other, but
 * stricter:
 *
 * - A standby measures the holder's lease time from when it observed a change of the record, on its own monotonic
 *   clock. Times in the record are never compared with a clock.
 * - The leader measures its own lease time from before it sent the renewal, by the fastest of its monotonic, uptime and
 *   wall clocks. A jump of the wall clock only stops writes until the next renewal; a pause or sleep longer than the
 *   renew deadline ends the term.
 * - A renewal without an answer causes a conflict next time. The Lease is then read, and only an answered renewal
 *   counts.
 * - Standbys read the Lease about once a second and when it expires, instead of watching it: one small request a second
 *   is cheap, needs no permission to watch and no connection that can die unnoticed. A release is observed within 1 s,
 *   the expiry of a killed leader at once.
 * - A deleted Lease stays reserved for the lease duration of its last known holder, counted from when it was found
 *   missing, because the time of its last renewal is unknown. That includes our own Lease once the term has ended:
 *   another replica may have acquired it unobserved.
 */
export function createElector(options: ElectorOptions): Elector {
  const { api, clock, random, identity, metrics } = options;
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
  const log = options.log.with({ lease: `${options.namespace}/${options.name}`, identity });
  const store = createLeaseStore(api, options, renewDeadlineMs / 2);
  const pollMs = Math.min(retryPeriodMs / 2, 1_000);
  const marginMs = leaseDurationMs * marginShare;

  let observed: Lease | undefined;
  /** Survives the deletion of the Lease, because the deletion ledger is among them. */
  let annotations: Readonly<Record<string, string>> = {};
  let observedAt = 0;
  /** Since when a Lease that another replica may hold has been missing. */
  let missedAt: number | undefined;
  let term: Term | undefined;
  /** Of a term that has ended, while its work has not. */
  let draining: Term | undefined;
  let ended = false;
  /** Consecutive failures while not leading; one a second. */
  let failures = 0;
  let lastStop: void | Promise<void>;
  let queue: Promise<unknown> = Promise.resolve();
  const wake = new AbortController();

  /** One request to the Lease at a time. */
  function exclusive<R>(work: () => Promise<R>): Promise<R> {
    const result = queue.then(work);
    queue = result.catch(() => {});
    return result;
  }

  function observe(lease: Lease): void {
    if (isNewRecord(observed, lease)) observedAt = clock.monotonic();
    const { holder } = lease;
    if (holder !== '' && holder !== identity && holder !== observed?.holder)
      log.info('another replica holds the lease', { holder });
    observed = lease;
    missedAt = undefined;
    annotations = lease.annotations;
  }

  function observedTimeLeftMs(): number {
    return observed === undefined ? 0 : observedAt + observed.durationMs - clock.monotonic();
  }

  function heldByOther(): boolean {
    return observed !== undefined && observed.holder !== '' && observed.holder !== identity && observedTimeLeftMs() > 0;
  }

  /** Whether the holder of a deleted Lease may still lead. */
  function mayBeLed(): boolean {
    if (observed === undefined || observed.holder === '') return false;
    // Our own Lease is ours while the term lasts by every clock. After that, another replica may have acquired it.
    if (observed.holder === identity && timeLeftMs() > 0) return false;
    missedAt ??= clock.monotonic();
    return clock.monotonic() - missedAt < observed.durationMs;
  }

  function timeLeftMs(): number {
    return term === undefined ? 0 : leaseDurationMs - marginMs - elapsedMs(clock, term.renewedAt, 'any');
  }

  function renewed(led: Term | undefined, sentAt: Instants): void {
    // The term has ended during the renewal, which no longer counts.
    if (ended || term !== led) return;
    if (leaseDurationMs - marginMs <= elapsedMs(clock, sentAt, 'any')) return;
    if (term === undefined) startTerm(sentAt);
    else term.renewedAt = sentAt;
    armDeadline(term!);
  }

  function startTerm(sentAt: Instants): void {
    const abort = new AbortController();
    term = { abort, renewedAt: sentAt, deadline: undefined };
    metrics?.leading?.(true);
    log.info('leading');
    try {
      options.onStartedLeading(abort.signal);
    } catch (error) {
      log.error('the start of leading failed', errorFields(error));
    }
  }

  function armDeadline(running: Term): void {
    running.deadline?.cancel();
    const left = renewDeadlineMs - elapsedMs(clock, running.renewedAt, 'steady');
    running.deadline = clock.setTimer(left, () => {
      if (term === running) endTerm(`the lease was not renewed within ${renewDeadlineMs} ms`);
    });
  }

  function endTerm(reason: string): void {
    if (term === undefined) return;
    const over = term;
    const { abort, deadline } = over;
    term = undefined;
    draining = over;
    deadline?.cancel();
    abort.abort(new Error(`no longer leading: ${reason}`));
    metrics?.leading?.(false);
    log.info('no longer leading', { reason });
    try {
      lastStop = Promise.resolve(options.onStoppedLeading(reason))
        .catch(stopFailed)
        .finally(() => {
          draining = undefined;
        });
    } catch (error) {
      draining = undefined;
      stopFailed(error);
    }
  }

  function stopFailed(error: unknown): void {
    log.error('the end of leading failed', errorFields(error));
  }

  function ownRecord(): LeaseRecord {
    const now = microTime(clock.now());
    const ours = observed?.holder === identity;
    return {
      holder: identity,
      durationMs: leaseDurationMs,
      transitions: observed === undefined ? 0 : observed.transitions + (ours ? 0 : 1),
      acquireTime: (ours ? observed?.acquireTime : undefined) ?? now,
      renewTime: now,
    };
  }

  /**
   * Writes our record and the `changes` of annotations. On success this replica leads. Throws a KubeError, always after
   * a conflict or a lost answer.
   */
  async function write(changes: Readonly<Record<string, string | null>>): Promise<void> {
    const led = term;
    const all = led === undefined ? { [annotationKeys.reportUrl]: null, ...options.annotations, ...changes } : changes;
    const sentAt = instantsOf(clock);
    observe(await store.write(observed, ownRecord(), withChanges(annotations, all), led?.abort.signal));
    renewed(led, sentAt);
  }

  /** Reads the Lease and ends the term when it is no longer ours. Returns false when another replica holds it. */
  async function read(): Promise<boolean> {
    const lease = await store.read(term?.abort.signal);
    if (lease === undefined) {
      if (mayBeLed()) return false;
      observed = undefined;
      missedAt = undefined;
      return true;
    }
    observe(lease);
    if (term !== undefined && lease.holder !== identity) {
      endTerm(lease.holder === '' ? 'the lease was freed by another' : `${lease.holder} holds the lease`);
      return false;
    }
    return !heldByOther();
  }

  /**
   * One try to renew or acquire. If the term ends during it, no new term starts here, because the old one's work has to
   * stop first.
   */
  async function renewOrAcquire(changes: Readonly<Record<string, string | null>> = {}): Promise<void> {
    const led = term;
    if (led !== undefined && elapsedMs(clock, led.renewedAt, 'steady') >= renewDeadlineMs) {
      return endTerm(`the lease was not renewed within ${renewDeadlineMs} ms`);
    }
    if (led !== undefined && observed !== undefined) {
      try {
        return await write(changes);
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
        metrics?.slowPath?.();
      }
    }
    if ((await read()) && !ended && term === led) await write(changes);
  }

  async function turn(): Promise<number> {
    if (term === undefined) await lastStop;
    try {
      await exclusive(async () => {
        if (!ended) await renewOrAcquire();
      });
      failures = 0;
      if (term !== undefined) return retryPeriodMs;
    } catch (error) {
      if (ended) return 0;
      const fields = errorFields(error);
      if (term !== undefined) log.warn('cannot renew the lease', { ...fields, timeLeftMs: Math.round(timeLeftMs()) });
      else if (isConflict(error)) log.debug('another replica was faster', fields);
      else if (failures++ % 30 === 0) log.warn('cannot read or take the lease', fields);
    }
    // Right after the expiry, instead of up to a second late.
    const expiresIn = heldByOther() ? observedTimeLeftMs() + 1 : Number.POSITIVE_INFINITY;
    return Math.min(pollMs * (0.8 + 0.2 * random()), expiresIn);
  }

  return {
    timeLeftMs,
    get leading() {
      return timeLeftMs() > 0;
    },
    unrenewedMs() {
      const led = term ?? draining;
      return led && elapsedMs(clock, led.renewedAt, 'steady');
    },
    leaderReportUrl() {
      if (observed === undefined || observed.holder === '' || observedTimeLeftMs() <= 0) return undefined;
      return observed.annotations[annotationKeys.reportUrl];
    },
    annotations: () => annotations,
    annotate: (changes) =>
      exclusive(async () => {
        const led = term;
        if (led !== undefined) await renewOrAcquire(changes);
        if (led === undefined || term !== led) throw notLeading();
      }),
    async run(signal) {
      const stop = () => {
        ended = true;
        wake.abort();
        endTerm('stopping');
      };
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop();
      while (!ended) {
        const delay = await turn();
        if (!ended) await sleep(clock, delay, wake.signal).catch(() => {});
      }
      signal.removeEventListener('abort', stop);
    },
    async release() {
      ended = true;
      wake.abort();
      endTerm('released');
      await exclusive(async () => {
        for (let attempt = 0; attempt < 3 && observed?.holder === identity; attempt += 1) {
          try {
            await free(observed);
            log.info('the lease is free');
          } catch (error) {
            if (!isConflict(error)) throw error;
            observed = await store.read();
          }
        }
      }).catch((error) => log.warn('cannot free the lease; it runs out by itself', errorFields(error)));
    },
  };

  /** Releases the Lease as client-go does: no holder, and the shortest duration. */
  async function free(held: Lease): Promise<void> {
    const now = microTime(clock.now());
    const record = { holder: '', durationMs: 1_000, transitions: held.transitions, acquireTime: now, renewTime: now };
    observed = await store.write(held, record, withChanges(held.annotations, { [annotationKeys.reportUrl]: null }));
  }
}

interface Term {
  readonly abort: AbortController;
  /** The time before the last successful renewal was sent. */
  renewedAt: Instants;
  deadline: { cancel(): void } | undefined;
}

/** The error of `annotate` on a replica that does not lead. */
export function notLeading(): KubeError {
  return new KubeError({
    status: 0,
    reason: 'Fenced',
    message: 'the Lease was not annotated: this replica does not lead',
  });
}
