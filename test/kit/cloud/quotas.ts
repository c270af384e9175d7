import { Refused } from './refused.ts';

export const quotaKinds = ['load-balancers', 'addresses', 'routes'] as const;
export type QuotaKind = (typeof quotaKinds)[number];

/** How many of a kind one region holds. */
export interface Quotas {
  /** Undefined lifts the limit. */
  set(kind: QuotaKind, limit: number | undefined): void;
  limit(kind: QuotaKind): number | undefined;
  /** Throws 403 `quota-exceeded` when there is no room for one more. */
  demand(kind: QuotaKind, used: number): void;
}

export function quotas(): Quotas {
  const limits = new Map<QuotaKind, number>();
  return {
    set(kind, limit) {
      if (limit === undefined) limits.delete(kind);
      else limits.set(kind, limit);
    },
    limit: (kind) => limits.get(kind),
    demand(kind, used) {
      const limit = limits.get(kind);
      if (limit === undefined || used < limit) return;
      throw new Refused(403, 'quota-exceeded', `${kind}: ${used} of ${limit} are in use`, { kind, limit, used });
    },
  };
}
