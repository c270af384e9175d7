/** How long a Node must have shown no sign of life before it is deleted or fenced. */
export interface Silence {
  /** The newest lease renewal or report must be this old. */
  readonly lifeMs: number;
  /**
   * Our own clock must have seen the lease unchanged for this long, since the kubelet's clock, which stamps the lease,
   * may lag. Kubelets renew at a quarter of the lease's duration.
   */
  readonly leaseMs: number;
}

const minMs = 20_000;
/** A kubelet writes its own lease, so a longer duration must not keep the Node of a deleted machine. */
const maxMs = 3_600_000;
/** The kubelet's default of `nodeLeaseDurationSeconds`. */
const defaultMs = 40_000;
const minUnchangedMs = 12_000;
/** More than the quarter after which a kubelet renews. */
const unchangedShare = 0.3;

/**
 * As long as the duration of the Node's own lease. Pure.
 *
 * @param leaseDurationSeconds as read from the lease, unchecked
 */
export function silenceOf(leaseDurationSeconds: unknown): Silence {
  const isValid = typeof leaseDurationSeconds === 'number' && leaseDurationSeconds > 0;
  const lifeMs = Math.min(maxMs, Math.max(minMs, isValid ? leaseDurationSeconds * 1000 : defaultMs));
  return { lifeMs, leaseMs: Math.max(minUnchangedMs, unchangedShare * lifeMs) };
}
