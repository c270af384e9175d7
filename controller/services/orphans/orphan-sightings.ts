import type { Clock } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { Leadership } from '../../kube/leadership.ts';
import {
  afterRead,
  type OrphanLedger,
  orphanLedgerKey,
  parseSightings,
  printSightings,
  scopeKey,
  sightingKey,
} from './orphan-ledger.ts';

/** Since when orphans are observed, in the ledger of the Lease and by this leader. */
export interface OrphanSightings {
  /** After a complete read of a scope. Returns the ledger; the old one where it could not be written. */
  note(scope: string, services: readonly string[]): Promise<OrphanLedger>;
  /** Whether an orphan was seen for so long that it may be deleted. */
  isOld(scope: string, service: string): boolean;
  clear(): void;
}

export interface OrphanSightingParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly leadership: Pick<Leadership, 'annotations' | 'annotate'>;
  /** How long something must have been an orphan before it is deleted. */
  readonly minAgeMs: number;
}

/** A wall clock that jumps must not make a day: this leader itself must have seen the orphan for this long. */
const ownAgeMs = 600_000;

export function createOrphanSightings({ clock, log, leadership, minAgeMs }: OrphanSightingParts): OrphanSightings {
  /** By sighting, monotonic. */
  const ownSinceMs = new Map<string, number>();
  const ledgerNow = () => parseSightings(leadership.annotations()[orphanLedgerKey]);

  return {
    async note(scope, services) {
      const keys = new Set(services.map((service) => sightingKey(scope, service)));
      const prefix = scopeKey(scope);
      for (const key of ownSinceMs.keys()) if (key.startsWith(prefix) && !keys.has(key)) ownSinceMs.delete(key);
      for (const key of keys) if (!ownSinceMs.has(key)) ownSinceMs.set(key, clock.monotonic());
      const before = ledgerNow();
      const after = afterRead(before, scope, services, Math.ceil(clock.now() / 1000));
      if (after === before) return before;
      try {
        await leadership.annotate({ [orphanLedgerKey]: after.size === 0 ? null : printSightings(after) });
        return after;
      } catch (error) {
        log.warn('sightings of orphans not written', errorFields(error));
        return before;
      }
    },
    isOld(scope, service) {
      const key = sightingKey(scope, service);
      const seconds = ledgerNow().get(key);
      const sinceMs = ownSinceMs.get(key);
      if (seconds === undefined || sinceMs === undefined) return false;
      return clock.now() - seconds * 1000 >= minAgeMs && clock.monotonic() - sinceMs >= Math.min(ownAgeMs, minAgeMs);
    },
    clear: () => ownSinceMs.clear(),
  };
}
