import { backoffMs } from '../../common/process/backoff.ts';
import { sleep } from '../../common/process/clock.ts';
import { errorFields } from '../../common/process/log.ts';
import { untilAborted } from '../../common/process/until.ts';
import { annotations as annotationKeys } from '../../common/well-known.ts';
import { isConflict } from './api.ts';
import { type Elector, type ElectorOptions, notLeading } from './elector.ts';
import { type Lease, withChanges } from './lease.ts';
import { createLeaseStore } from './lease-store.ts';

/**
 * For `--leader-elect=false`: leads for ever without holding the lease, once it has read the Lease's annotations (the
 * deletion ledger must survive a restart here, too). Writes annotations of the Lease, but never its spec. The operator
 * has to ensure that there is only one replica.
 */
export function createSoleLeader(
  options: Pick<
    ElectorOptions,
    | 'api'
    | 'clock'
    | 'random'
    | 'namespace'
    | 'name'
    | 'annotations'
    | 'onStartedLeading'
    | 'onStoppedLeading'
    | 'metrics'
  > & { readonly log: ElectorOptions['log'] },
): Elector {
  const { clock, random, metrics } = options;
  const log = options.log.with({ lease: `${options.namespace}/${options.name}` });
  const store = createLeaseStore(options.api, options, 5_000);
  const leading = new AbortController();
  let state: 'seeking' | 'leading' | 'ended' = 'seeking';
  let observed: Lease | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  async function write(changes: Readonly<Record<string, string | null>>): Promise<void> {
    const base = observed;
    observed = await store.write(base, undefined, withChanges(base?.annotations ?? {}, changes));
  }

  async function annotate(changes: Readonly<Record<string, string | null>>): Promise<void> {
    try {
      await write(changes);
    } catch (error) {
      if (!isConflict(error)) throw error;
      observed = await store.read();
      await write(changes);
    }
  }

  function exclusive<R>(work: () => Promise<R>): Promise<R> {
    const result = queue.then(work);
    queue = result.catch(() => {});
    return result;
  }

  async function end(reason: string): Promise<void> {
    const led = state === 'leading';
    state = 'ended';
    leading.abort(new Error(`no longer leading: ${reason}`));
    if (!led) return;
    metrics?.leading?.(false);
    try {
      await options.onStoppedLeading(reason);
    } catch (error) {
      log.error('the end of leading failed', errorFields(error));
    }
  }

  async function begin(): Promise<void> {
    observed = await store.read();
    await exclusive(() => annotate({ ...options.annotations }));
    if (state !== 'seeking') return;
    state = 'leading';
    metrics?.leading?.(true);
    log.info('leading without a lease');
    try {
      options.onStartedLeading(leading.signal);
    } catch (error) {
      log.error('the start of leading failed', errorFields(error));
    }
  }

  return {
    timeLeftMs: () => (state === 'leading' ? Number.POSITIVE_INFINITY : 0),
    get leading() {
      return state === 'leading';
    },
    unrenewedMs: () => undefined,
    leaderReportUrl: () => (state === 'leading' ? observed?.annotations[annotationKeys.reportUrl] : undefined),
    annotations: () => observed?.annotations ?? {},
    annotate: (changes) =>
      exclusive(async () => {
        if (state !== 'leading') throw notLeading();
        await annotate(changes);
      }),
    async run(signal) {
      for (let failures = 1; state === 'seeking' && !signal.aborted; failures += 1) {
        try {
          await begin();
        } catch (error) {
          log.warn('cannot read the annotations of the lease', errorFields(error));
          await sleep(clock, backoffMs(failures, { firstMs: 500, maxMs: 10_000, random }), signal).catch(() => {});
        }
      }
      if (!signal.aborted && state === 'leading') {
        await Promise.race([untilAborted(signal), untilAborted(leading.signal)]);
      }
      await end('stopping');
    },
    release: () => end('released'),
  };
}
