import type { CallCounter } from '../test/kit/cloud/calls.ts';

/** Calls of the cloud since some moment, by operation; most first. */
export interface CallsMade {
  readonly total: number;
  /** Those that may change something. */
  readonly mutating: number;
  readonly byOperation: Readonly<Record<string, number>>;
}

const reading = /\.(get|list|lookup|find)$/;

/** Begins to count. @returns what answers the calls made since */
export function countCalls(calls: CallCounter): () => CallsMade {
  const totals = () =>
    Object.entries(calls.snapshot()).map(
      ([operation, codes]) => [operation, Object.values(codes).reduce((sum, count) => sum + count, 0)] as const,
    );
  const before = new Map(totals());
  return () => {
    const made = totals()
      .map(([operation, count]) => [operation, count - (before.get(operation) ?? 0)] as const)
      .filter(([, count]) => count > 0)
      .sort(([, a], [, b]) => b - a);
    const sum = (counted: typeof made) => counted.reduce((total, [, count]) => total + count, 0);
    return {
      total: sum(made),
      mutating: sum(made.filter(([operation]) => !reading.test(operation))),
      byOperation: Object.fromEntries(made),
    };
  };
}
