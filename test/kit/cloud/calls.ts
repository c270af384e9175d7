/** Calls by operation, then by code: the HTTP status, or `lost`, `silence` or `cut` where no whole answer went out. */
export type CallCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface CallCounter {
  count(operation: string, code: string): void;
  /** A copy; later calls do not change it. */
  snapshot(): CallCounts;
  /** All calls, or those of one operation. */
  total(operation?: string): number;
  reset(): void;
}

export function callCounter(): CallCounter {
  const counts = new Map<string, Map<string, number>>();
  return {
    count(operation, code) {
      const byCode = counts.get(operation) ?? new Map<string, number>();
      counts.set(operation, byCode);
      byCode.set(code, (byCode.get(code) ?? 0) + 1);
    },
    snapshot: () =>
      Object.fromEntries([...counts].map(([operation, byCode]) => [operation, Object.fromEntries(byCode)])),
    total(operation) {
      let sum = 0;
      for (const [name, byCode] of counts) {
        if (operation === undefined || operation === name) for (const number of byCode.values()) sum += number;
      }
      return sum;
    },
    reset: () => counts.clear(),
  };
}
