export interface RequestCount {
  readonly verb: string;
  /** `nodes`, `nodes/status`, or the path of a request that is not about a resource. */
  readonly resource: string;
  readonly userAgent: string;
  readonly count: number;
}

/** How often the server was asked, by verb, resource and user agent. */
export interface RequestCounts {
  add(verb: string, resource: string, userAgent: string): void;
  /** Every combination seen, in order of first appearance. */
  list(): RequestCount[];
  /** Sum over those that match all given parts. */
  total(match?: { verb?: string; resource?: string; userAgent?: string }): number;
  reset(): void;
}

export function createRequestCounts(): RequestCounts {
  const counts = new Map<string, { verb: string; resource: string; userAgent: string; count: number }>();
  return {
    add(verb, resource, userAgent) {
      const id = `${verb}\n${resource}\n${userAgent}`;
      const entry = counts.get(id);
      if (entry) entry.count += 1;
      else counts.set(id, { verb, resource, userAgent, count: 1 });
    },
    list: () => [...counts.values()].map((entry) => ({ ...entry })),
    total(match = {}) {
      let sum = 0;
      for (const { verb, resource, userAgent, count } of counts.values()) {
        if (match.verb !== undefined && match.verb !== verb) continue;
        if (match.resource !== undefined && match.resource !== resource) continue;
        if (match.userAgent !== undefined && !userAgent.startsWith(match.userAgent)) continue;
        sum += count;
      }
      return sum;
    },
    reset: () => counts.clear(),
  };
}
