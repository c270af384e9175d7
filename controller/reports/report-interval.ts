const shortestSeconds = 60;
const longestSeconds = 600;
const reportsPerSecond = 17;

/**
 * The interval between an agent's reports without changes: a minute for up to about 1,000 nodes, and longer for more,
 * so that the leader gets at most 17 reports a second, but never more than ten minutes.
 */
export function nextReportSeconds(nodes: number): number {
  return Math.min(longestSeconds, Math.max(shortestSeconds, Math.ceil(nodes / reportsPerSecond)));
}
