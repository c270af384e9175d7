import { formatDuration } from '../../../common/process/duration.ts';

/** Restarts in this boot since the Node was last seen. */
export interface Restarts {
  readonly count: number;
  /** Milliseconds since boot. */
  readonly lastAtMs: number;
}

export interface KubeletState {
  readonly active: boolean;
  /** Milliseconds since it became active. */
  readonly activeForMs: number;
}

export interface Limits {
  readonly afterBootMs: number;
  readonly afterStartMs: number;
  /** Doubles with each restart that did not help, up to the longest. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export const noRestarts: Restarts = { count: 0, lastAtMs: 0 };

/** Why the kubelet must not be restarted now, whatever its Node; undefined when it may be. Pure. */
export function reasonToWait(
  uptimeMs: number,
  kubelet: KubeletState,
  restarts: Restarts,
  limits: Limits,
): string | undefined {
  if (uptimeMs < limits.afterBootMs) return `the machine runs for less than ${formatDuration(limits.afterBootMs)}`;
  if (!kubelet.active) return 'the kubelet does not run, and what was stopped stays so';
  if (kubelet.activeForMs < limits.afterStartMs) {
    return `the kubelet runs for less than ${formatDuration(limits.afterStartMs)}`;
  }
  if (restarts.count === 0) return undefined;
  const pauseMs = pauseAfter(restarts.count, limits);
  return uptimeMs - restarts.lastAtMs < pauseMs
    ? `${restarts.count} restarts did not help, the next one comes ${formatDuration(pauseMs)} after the last`
    : undefined;
}

/** Pure. */
export function pauseAfter(count: number, { firstPauseMs, longestPauseMs }: Limits): number {
  return count === 0 ? 0 : Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(count - 1, 30));
}

/** The file that keeps them, as text. Pure. */
export function printRestarts(restarts: Restarts, bootId: string): string {
  return `${JSON.stringify({ bootId, ...restarts })}\n`;
}

/**
 * Restarts of an earlier boot do not count. Throws an Error for a text that `printRestarts` does not print: without a
 * count there is no limit. Pure.
 */
export function parseRestarts(text: string, bootId: string): Restarts {
  const { bootId: written, count, lastAtMs } = JSON.parse(text) ?? {};
  if (typeof written !== 'string' || !Number.isSafeInteger(count) || count < 0 || !Number.isFinite(lastAtMs)) {
    throw new Error('expected bootId, count and lastAtMs');
  }
  return written === bootId ? { count, lastAtMs } : noRestarts;
}
