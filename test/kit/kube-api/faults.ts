/** Which requests a fault is for; everything that is not given matches. */
export interface FaultMatch {
  readonly verb?: string;
  /** `nodes`, or `nodes/status` for the subresource alone. */
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly userAgent?: string | RegExp;
  readonly user?: string;
}

export type FaultEffect =
  /** Answered instead of doing it. Without a body: what a real server says (429 and 5xx as it words them). */
  | { readonly kind: 'answer'; readonly status: number; readonly retryAfterSeconds?: number; readonly body?: string }
  /** Not done, and the connection breaks without an answer. */
  | { readonly kind: 'drop' }
  /** Done, but the connection breaks before the answer. */
  | { readonly kind: 'lose-answer' }
  /** Done at once, answered later. */
  | { readonly kind: 'delay'; readonly ms: number };

export interface FaultRule {
  readonly match: FaultMatch;
  readonly effect: FaultEffect;
  /** How many requests it hits; default: all until removed. */
  readonly times?: number;
}

export interface RequestFacts {
  readonly verb: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly userAgent: string;
  readonly user: string;
}

export interface Faults {
  /** Adds a rule and gives the way to remove it. The first rule that matches a request is the one that hits it. */
  add(rule: FaultRule): () => void;
  clear(): void;
  /** The effect on this request, counted as used. */
  take(facts: RequestFacts): FaultEffect | undefined;
}

export function matchesFault(match: FaultMatch, facts: RequestFacts): boolean {
  const { userAgent } = match;
  if (userAgent instanceof RegExp ? !userAgent.test(facts.userAgent) : !facts.userAgent.startsWith(userAgent ?? '')) {
    return false;
  }
  for (const field of ['verb', 'resource', 'namespace', 'name', 'user'] as const) {
    const wanted = match[field];
    if (wanted !== undefined && wanted !== facts[field]) return false;
  }
  return true;
}

export function createFaults(): Faults {
  const rules = new Set<{ rule: FaultRule; left: number }>();
  return {
    add(rule) {
      const entry = { rule, left: rule.times ?? Number.POSITIVE_INFINITY };
      rules.add(entry);
      return () => {
        rules.delete(entry);
      };
    },
    clear: () => rules.clear(),
    take(facts) {
      for (const entry of rules) {
        if (!matchesFault(entry.rule.match, facts)) continue;
        entry.left -= 1;
        if (entry.left <= 0) rules.delete(entry);
        return entry.rule.effect;
      }
      return undefined;
    },
  };
}
