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
  /** Of this process, never used before: host name, `_`, and a UUID. */
  readonly identity: string;
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  /** Written on the Lease together with every acquisition, e.g. the report URL; null removes. */
  readonly annotations?: Readonly<Record<string, string | null>>;
  /** Called when this replica begins to lead; the signal aborts the moment it no longer does. */
  onStartedLeading(signal: AbortSignal): void;
  /** Called when a term ended, however it did. The lease is not sought again before what it returns has settled. */
  onStoppedLeading(reason: string): void | Promise<void>;
  readonly metrics?: ElectorMetrics;
}

export interface Elector extends Leadership {
  /** Seeks the lease, keeps it, seeks it again when it was lost; until `signal` aborts or `release` is called. Ends a term, but does not release the lease. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Ends the term, then frees the lease so that the next replica takes over at once. To be called when everything that writes has drained. Never rejects. */
  release(): Promise<void>;
}

/** A fifteenth: clocks that run 3 % apart still leave no moment in which two replicas may write. */
const marginShare = 1 / 15;

/**
 * Leader election on a Lease as client-go does it, so that upstream's controllers and this one exclude each other; stricter where a word of ours goes:
 *
 * - A standby counts the holder's time from when it saw the record change, on its own monotonic clock; times in the record are never compared with a clock.
 * - The leader counts its own from before the request that renewed was sent, by the fastest of its monotonic, uptime and wall clocks. A wall clock that jumps
 *   only stops writes until the next renewal; a pause or sleep longer than the renew deadline ends the term.
 * - A renewal whose answer was lost shows as a conflict next time; then the Lease is read, and only a renewal that was answered counts.
 * - Standbys read the Lease about once a second and at the moment it expires, rather than watch it: one small request a second is cheap, needs no right to
 *   watch and has no connection that can die unnoticed. A release is seen within 1 s, a killed leader's expiry at once.
 * - A Lease that somebody deleted is not free for the time of its last known holder, counted from when it was missed: who knows when that holder renewed last.
 *   That holds for one's own too once the term has ended: another may have taken it unseen.
 */
export function createElector(options: ElectorOptions): Elector {
  const { api, clock, random, identity, metrics } = options;
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
  const log = options.log.with({ lease: `${options.namespace}/${options.name}`, identity });
  const store = createLeaseStore(api, options, renewDeadlineMs / 2);
  const pollMs = Math.min(retryPeriodMs / 2, 1_000);
  const marginMs = leaseDurationMs * marginShare;

  let observed: Lease | undefined;
  /** Outlives a Lease that somebody deletes: the deletion ledger is among them. */
  let annotations: Readonly<Record<string, string>> = {};
  let observedAt = 0;
  /** Since when a Lease that another may hold is not there. */
  let missedAt: number | undefined;
  let term: Term | undefined;
  let ended = false;
  /** In a row, while not leading; there is one a second. */
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

  /** Whether the Lease that somebody deleted may have a holder who still leads. */
  function mayBeLed(): boolean {
    if (observed === undefined || observed.holder === '') return false;
    // Its own is its own while its term lasts by every clock; after that, another replica may have taken it unseen.
    if (observed.holder === identity && timeLeftMs() > 0) return false;
    missedAt ??= clock.monotonic();
    return clock.monotonic() - missedAt < observed.durationMs;
  }

  function timeLeftMs(): number {
    return term === undefined ? 0 : leaseDurationMs - marginMs - elapsedMs(clock, term.renewedAt, 'any');
  }

  function renewed(led: Term | undefined, sentAt: Instants): void {
    // Meanwhile the term ended: that stands, whatever the server says.
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
    const { abort, deadline } = term;
    term = undefined;
    deadline?.cancel();
    abort.abort(new Error(`no longer leading: ${reason}`));
    metrics?.leading?.(false);
    log.info('no longer leading', { reason });
    try {
      lastStop = Promise.resolve(options.onStoppedLeading(reason)).catch(stopFailed);
    } catch (error) {
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

  /** Writes our record with `changes` to the annotations; on success this replica leads. Throws a KubeError, after a conflict or a lost answer in any case. */
  async function write(changes: Readonly<Record<string, string | null>>): Promise<void> {
    const led = term;
    const all = led === undefined ? { [annotationKeys.reportUrl]: null, ...options.annotations, ...changes } : changes;
    const sentAt = instantsOf(clock);
    observe(await store.write(observed, ownRecord(), withChanges(annotations, all), led?.abort.signal));
    renewed(led, sentAt);
  }

  /** Reads the Lease; ends the term when it is no longer ours. False when another replica holds it. */
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

  /** One try. A term that ends on the way is not begun anew here: what it started has to stop first. */
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
    // Shortly after the moment of expiry rather than up to a second late.
    const expiresIn = heldByOther() ? observedTimeLeftMs() + 1 : Number.POSITIVE_INFINITY;
    return Math.min(pollMs * (0.8 + 0.2 * random()), expiresIn);
  }

  return {
    timeLeftMs,
    get leading() {
      return timeLeftMs() > 0;
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

  /** As client-go frees one: no holder, and the shortest duration there is. */
  async function free(held: Lease): Promise<void> {
    const now = microTime(clock.now());
    const record = { holder: '', durationMs: 1_000, transitions: held.transitions, acquireTime: now, renewTime: now };
    observed = await store.write(held, record, withChanges(held.annotations, { [annotationKeys.reportUrl]: null }));
  }
}

interface Term {
  readonly abort: AbortController;
  /** Before the request was sent that renewed last. */
  renewedAt: Instants;
  deadline: { cancel(): void } | undefined;
}

/** What `annotate` throws on a replica that does not lead. */
export function notLeading(): KubeError {
  return new KubeError({
    status: 0,
    reason: 'Fenced',
    message: 'the Lease was not annotated: this replica does not lead',
  });
}
