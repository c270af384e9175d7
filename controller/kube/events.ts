import { backoffMs } from '../../common/process/backoff.ts';
import { type Clock, sleep } from '../../common/process/clock.ts';
import { errorFields, type Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import { visibleLine } from '../../common/visible-text.ts';
import { isConflict, isKubeError, isNotFound, type KubeApi } from './api.ts';
import { createEventCorrelator, type EventRecord } from './event-correlator.ts';
import type { EventSink } from './event-sink.ts';

export interface EventSinkOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The reporting component, such as `mooring-controller`, and its host. */
  readonly component: string;
  readonly host: string;
  /** How many events may wait to be written; further ones are dropped. Default 1,000. */
  readonly capacity?: number;
  /** Called once for each dropped event. */
  readonly onDropped?: (why: 'spam' | 'full' | 'failed') => void;
}

export interface RunningEventSink extends EventSink {
  /** Writes waiting events for at most `withinMs` (default 2 s) and drops the rest. Never rejects. */
  stop(withinMs?: number): Promise<void>;
}

const callTimeoutMs = 5_000;
const attempts = 3;
/**
 * After each write the sink pauses this many times as long as the write took. A busy server keeps its capacity for
 * other writes; an idle one accepts a hundred events a second.
 */
const restPerWrite = 4;
const longestRestMs = 1_000;
/** Namespace of events about cluster-scoped objects; the server accepts no other. */
const clusterNamespace = 'default';
const maxMessage = 1024;

/**
 * Writes core/v1 Events one at a time in the background. A repeated event patches the count of the first one. Losing
 * some is acceptable.
 */
export function createEventSink(options: EventSinkOptions): RunningEventSink {
  const { api, clock, random, log, component, host, onDropped } = options;
  const capacity = options.capacity ?? 1_000;
  const correlate = createEventCorrelator();
  // A waiting record is written once, with its state at that time.
  const waiting = new Set<EventRecord>();
  const stopping = new AbortController();
  const draining = new AbortController();
  let accepting = true;
  let working: Promise<void> | undefined;

  async function work(): Promise<void> {
    for (const record of waiting) {
      waiting.delete(record);
      const startedAt = clock.monotonic();
      await write(record);
      const restMs = Math.min(longestRestMs, (clock.monotonic() - startedAt) * restPerWrite);
      if (waiting.size > 0 && restMs > 0) await sleep(clock, restMs, draining.signal).catch(() => {});
    }
    working = undefined;
  }

  async function write(record: EventRecord): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await send(record);
        return;
      } catch (error) {
        if (stopping.signal.aborted || attempt === attempts || !isWorthRepeating(error)) {
          log.debug('an event was dropped', { reason: record.reason, ...errorFields(error) });
          onDropped?.('failed');
          return;
        }
        const asked = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
        const delay = Math.max(asked, backoffMs(attempt, { firstMs: 500, maxMs: 10_000, random }));
        await sleep(clock, delay, stopping.signal).catch(() => {});
      }
    }
  }

  async function send(record: EventRecord): Promise<void> {
    const namespace = record.target.namespace ?? clusterNamespace;
    const collection = `/api/v1/namespaces/${namespace}/events`;
    const common = { timeoutMs: callTimeoutMs, signal: stopping.signal };
    const made = record.name;
    if (made !== undefined) {
      const body = { count: record.count, lastTimestamp: wholeSeconds(record.lastMs), message: record.message };
      try {
        await api.call({ verb: 'patch', patch: 'merge', path: `${collection}/${made}`, body, ...common });
        return;
      } catch (error) {
        // The Event object has expired: the server keeps events for an hour.
        if (!isNotFound(error)) throw error;
      }
    }
    const name = newName(record);
    // Set before the call: after a lost answer the next try conflicts with our own object.
    record.name = name;
    try {
      await api.call({ verb: 'create', path: collection, body: eventBody(record, name, namespace), ...common });
    } catch (error) {
      if (isConflict(error)) return;
      // With an answer, nothing was created under this name. Without one, the next try finds out.
      if (isKubeError(error) && error.status !== 0) record.name = undefined;
      throw error;
    }
  }

  function newName(record: EventRecord): string {
    const nanoseconds = BigInt(Math.floor(clock.now())) * 1_000_000n + BigInt(Math.floor(random() * 1_000_000));
    return `${record.target.name.slice(0, 230)}.${nanoseconds.toString(16)}`;
  }

  function eventBody(record: EventRecord, name: string, namespace: string): unknown {
    const { target } = record;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: {
        apiVersion: target.apiVersion,
        kind: target.kind,
        name: target.name,
        uid: target.uid,
        ...(target.namespace === undefined ? {} : { namespace: target.namespace }),
      },
      type: record.type,
      reason: record.reason,
      message: record.message,
      count: record.count,
      firstTimestamp: wholeSeconds(record.firstMs),
      lastTimestamp: wholeSeconds(record.lastMs),
      source: { component, host },
      reportingComponent: component,
      reportingInstance: host,
    };
  }

  return {
    emit(target, event) {
      if (!accepting) return;
      const message = visibleLine(event.message, maxMessage);
      const record = correlate(target, { ...event, message }, clock.now());
      if (!record) return onDropped?.('spam');
      if (waiting.size >= capacity && !waiting.has(record)) return onDropped?.('full');
      waiting.add(record);
      working ??= Promise.resolve().then(work);
    },
    async stop(withinMs = 2_000) {
      accepting = false;
      draining.abort();
      const timer = clock.setTimer(withinMs, () => {
        waiting.clear();
        stopping.abort(new Error('the event sink stops'));
      });
      await working;
      timer.cancel();
    },
  };
}

/** metav1.Time has no fraction. */
function wholeSeconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

function isWorthRepeating(error: unknown): boolean {
  if (!isKubeError(error)) return false;
  if (error.status === 0) return error.reason === 'Timeout' || error.reason === 'Unreachable';
  return error.status === 429 || error.status >= 500;
}
