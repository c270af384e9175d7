import type { HealthCheck } from '../../../common/process/health.ts';
import type { Elector } from '../../kube/elector.ts';

/** As upstream: a leader may be late by this much more than the lease lasts. */
const toleranceMs = 20_000;

/**
 * Upstream's check `leaderElection` (`NewLeaderHealthzAdaptor`): fails when the lease has not been renewed for its
 * duration and 20 s more, although this replica leads. Here a leader stops by itself long before, so that a failure
 * means that the work of the term does not end: a restart is the only remedy. Passes on a standby.
 */
export function leaderHealth(elector: Pick<Elector, 'unrenewedMs'>, leaseDurationMs: number): HealthCheck {
  return {
    name: 'leaderElection',
    check() {
      const ms = elector.unrenewedMs();
      if (ms === undefined || ms <= leaseDurationMs + toleranceMs) return undefined;
      return `the lease was renewed ${Math.floor(ms / 1000)} s ago, and the work of its term has not ended`;
    },
  };
}
