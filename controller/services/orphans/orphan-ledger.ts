import { createHash } from 'node:crypto';
import { annotations } from '../../../common/well-known.ts';

/** Annotation of the Lease: when each orphan was first seen, so that a restart does not forget it. */
export const orphanLedgerKey = annotations.orphanLedger;

/** When orphans were first seen, in seconds since 1970; by the key of `sightingKey`. */
export type OrphanLedger = ReadonlyMap<string, number>;

/** The most that the annotation holds, some 13 KB. Further orphans are reported, and recorded when there is room. */
const maxSightings = 512;
/** The longest that sightings in scopes that are no longer swept are kept. */
const maxAgeSeconds = 90 * 86_400;

/** The key of one Service's resources in one scope: short, with the same beginning for all of a scope. */
export function sightingKey(scope: string, service: string): string {
  return `${scopeKey(scope)}${digest(service).slice(0, 12)}`;
}

/** The beginning of all keys of a scope. */
export function scopeKey(scope: string): string {
  return digest(scope).slice(0, 6);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Reads `<key>@<seconds>,...`. Parts that do not parse are dropped. */
export function parseSightings(text: string | undefined): OrphanLedger {
  const ledger = new Map<string, number>();
  for (const part of (text ?? '').split(',')) {
    const match = /^([0-9a-f]{18})@(\d{1,11})$/.exec(part);
    if (match) ledger.set(match[1] as string, Number(match[2]));
  }
  return ledger;
}

export function printSightings(ledger: OrphanLedger): string {
  return [...ledger].map(([key, seconds]) => `${key}@${seconds}`).join(',');
}

/**
 * The ledger after a complete read of one scope: with its new orphans, and without those that are none any more or too
 * old. Returns the same object when nothing changes. Pure.
 *
 * @param services UIDs of the Services whose resources are orphaned now
 */
export function afterRead(
  ledger: OrphanLedger,
  scope: string,
  services: readonly string[],
  nowSeconds: number,
): OrphanLedger {
  const seen = new Set(services.map((service) => sightingKey(scope, service)));
  const next = new Map<string, number>();
  for (const [key, seconds] of ledger) {
    const isTooOld = nowSeconds - seconds > maxAgeSeconds && !seen.has(key);
    if (!isTooOld && (seen.has(key) || !key.startsWith(scopeKey(scope)))) next.set(key, seconds);
  }
  for (const key of seen) if (!next.has(key) && next.size < maxSightings) next.set(key, nowSeconds);
  const same = next.size === ledger.size && [...next.keys()].every((key) => ledger.has(key));
  return same ? ledger : next;
}
