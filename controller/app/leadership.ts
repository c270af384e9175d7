import type { Clock } from '../../common/process/clock.ts';
import { errorFields, type Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import { untilAborted } from '../../common/process/until.ts';
import { annotations } from '../../common/well-known.ts';
import type { KubeApi } from '../kube/api.ts';
import { createElector, type Elector } from '../kube/elector.ts';
import { createSoleLeader } from '../kube/sole-leader.ts';
import type { RunOptions } from './options/run-options.ts';
import type { ProcessMetrics } from './process-metrics.ts';

export interface LeadershipParts {
  /** Not fenced. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: ProcessMetrics;
  /** As in the Lease. */
  readonly identity: string;
  /** Called when this replica begins to lead. */
  onStartedLeading(): void;
}

export interface Leadership {
  readonly elector: Elector;
  /** Takes part in the election until `stop` aborts or a term fails. The lease is not released. May be called once. */
  run(stop: AbortSignal): Promise<void>;
  /** Throws the error of the term that failed, if one has. */
  assertUnfailed(): void;
}

/**
 * The terms of one replica.
 *
 * @param whenReady resolves when a term may begin
 * @param lead runs for as long as its signal does not abort; an error ends the election
 */
export function createLeadership(
  parts: LeadershipParts,
  { lease, reportUrl }: Pick<RunOptions, 'lease' | 'reportUrl'>,
  whenReady: () => Promise<void>,
  lead: (signal: AbortSignal) => Promise<void>,
): Leadership {
  const { api, clock, random, log, metrics, identity } = parts;
  const { name } = lease;
  const ending = new AbortController();
  let terms: Promise<void> = Promise.resolve();
  let failure: unknown;

  async function serveTerm(signal: AbortSignal): Promise<void> {
    try {
      await Promise.race([whenReady(), untilAborted(signal)]);
      if (!signal.aborted) await lead(signal);
    } catch (error) {
      if (signal.aborted) return;
      // A leader without tasks would keep the other replicas from acting, so this process ends and is restarted.
      log.error('leading failed', errorFields(error));
      failure ??= error;
      ending.abort();
    }
  }

  const election = {
    api,
    clock,
    random,
    log,
    identity,
    namespace: lease.namespace,
    name,
    leaseDurationMs: lease.durationMs,
    renewDeadlineMs: lease.renewDeadlineMs,
    retryPeriodMs: lease.retryPeriodMs,
    annotations: { [annotations.reportUrl]: reportUrl },
    onStartedLeading(signal: AbortSignal) {
      parts.onStartedLeading();
      terms = serveTerm(signal);
    },
    onStoppedLeading: () => terms,
    metrics: {
      leading: (value: boolean) => metrics.leading.set({ name }, value ? 1 : 0),
      slowPath: () => metrics.slowPath.add({ name }),
    },
  };
  const elector = lease.elect ? createElector(election) : createSoleLeader(election);
  return {
    elector,
    async run(stop) {
      if (stop.aborted) ending.abort();
      stop.addEventListener('abort', () => ending.abort(), { once: true });
      const electing = elector.run(ending.signal);
      await untilAborted(ending.signal);
      log.info('stopping: draining, then releasing the lease');
      await electing;
      await terms;
    },
    assertUnfailed() {
      if (failure !== undefined) throw failure;
    },
  };
}
