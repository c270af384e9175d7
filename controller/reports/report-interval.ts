const shortestSeconds = 60;
const longestSeconds = 600;
const reportsPerSecond = 17;

/**
 * How long an agent shall wait until its next report when nothing changes: a minute up to about 1,000 nodes, then as long as it takes that the leader
 * sees at most 17 reports a second, but never more than ten minutes.
 */
export function nextReportSeconds(nodes: number): number {
  return Math.min(longestSeconds, Math.max(shortestSeconds, Math.ceil(nodes / reportsPerSecond)));
}
