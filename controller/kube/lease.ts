import type { ObjectMeta } from './api.ts';

/** A Lease as read. Its other fields (labels, owners, foreign annotations) stay in `raw` and are written back. */
export interface Lease {
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly acquireTime: string | undefined;
  readonly renewTime: string | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  readonly resourceVersion: string;
  readonly raw: RawLease;
}

/** The largest version, which no object has. A PUT with it creates a Lease, and conflicts with an existing one. */
export const absentVersion = '9223372036854775807';

export interface RawLease {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Partial<ObjectMeta> & { readonly name: string };
  readonly spec?: Readonly<Record<string, unknown>> | null;
}

/**
 * A time in the format of Leases: exactly six fractional digits (others are refused, and `toISOString` has three).
 */
export function microTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace('Z', '000Z');
}

/** Parses an answer of the API server. Throws an Error naming the invalid field. */
export function readLease(value: unknown): Lease {
  const raw = value as RawLease | null;
  const version = raw?.metadata?.resourceVersion;
  if (typeof version !== 'string') throw new Error('a Lease without metadata.resourceVersion');
  const spec = raw!.spec ?? {};
  return {
    holder: textOf(spec['holderIdentity']) ?? '',
    durationMs: numberOf(spec['leaseDurationSeconds']) * 1000,
    transitions: numberOf(spec['leaseTransitions']),
    acquireTime: textOf(spec['acquireTime']),
    renewTime: textOf(spec['renewTime']),
    annotations: raw!.metadata.annotations ?? {},
    resourceVersion: version,
    raw: raw!,
  };
}

/** True when the record of the holder changed between `before` and `after`; changes of annotations do not count. */
export function isNewRecord(before: Lease | undefined, after: Lease): boolean {
  return (
    before === undefined ||
    before.holder !== after.holder ||
    before.renewTime !== after.renewTime ||
    before.acquireTime !== after.acquireTime ||
    before.durationMs !== after.durationMs ||
    before.transitions !== after.transitions
  );
}

export interface LeaseRecord {
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly acquireTime: string;
  readonly renewTime: string;
}

/**
 * The Lease to write: `base` with this record and these annotations, guarded by the version of `base`. Without a base
 * it is a new Lease, which replaces no other. Foreign spec fields (`strategy`, `preferredHolder`) stay.
 */
export function leaseBody(
  at: { readonly namespace: string; readonly name: string },
  base: Lease | undefined,
  record: LeaseRecord | undefined,
  annotations: Readonly<Record<string, string>>,
): unknown {
  const { managedFields: _, ...metadata } = (base?.raw.metadata ?? { resourceVersion: absentVersion }) as Record<
    string,
    unknown
  >;
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { ...metadata, name: at.name, namespace: at.namespace, annotations },
    spec: {
      ...base?.raw.spec,
      ...(record && {
        holderIdentity: record.holder,
        // The field is an integer of at least 1. A longer duration than our own is safe, a shorter one is not.
        leaseDurationSeconds: Math.max(1, Math.ceil(record.durationMs / 1000)),
        acquireTime: record.acquireTime,
        renewTime: record.renewTime,
        leaseTransitions: record.transitions,
      }),
    },
  };
}

/** `base` with `changes`; null removes a key. */
export function withChanges(
  base: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Readonly<Record<string, string>> {
  const result: Record<string, string> = { ...base };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete result[key];
    else result[key] = value;
  }
  return result;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
