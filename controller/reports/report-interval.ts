const shortestSeconds = 60;
const longestSeconds = 1800;
/** Each is a TLS connection and mostly a review of its token: about 2 ms of processor time. */
const reportsPerSecond = 5;

/**
 * The interval between an agent's reports without changes: a minute for up to 300 nodes, and longer for more, so that
 * the leader gets at most 5 reports a second, but never more than half an hour.
 */
export function nextReportSeconds(nodes: number): number {
  return Math.min(longestSeconds, Math.max(shortestSeconds, Math.ceil(nodes / reportsPerSecond)));
}
