import type { ObjectMeta } from './api.ts';

/** A Lease as read; what else it carries (labels, owners, foreign annotations) stays in `raw` and is written back. */
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

/** The largest version, which no object has. A PUT with it creates a Lease, and is a conflict where there is one. */
export const absentVersion = '9223372036854775807';

export interface RawLease {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Partial<ObjectMeta> & { readonly name: string };
  readonly spec?: Readonly<Record<string, unknown>> | null;
}

/**
 * A time as the Lease type takes it: with exactly six fractional digits (anything else is refused, and `toISOString` gives three).
 */
export function microTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace('Z', '000Z');
}

/** Reads an answer of the API server. Throws an Error naming the field that is not as expected. */
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

/** True when `after` is another word of its holder than `before`, and not only an annotation of somebody else's. */
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
 * The Lease to write: `base` with this record and these annotations, guarded by the version of `base`; without a base
 * a new Lease, which takes the place of no other. Spec fields of others
 * (`strategy`, `preferredHolder`) stay.
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
        // The field is a whole number of at least 1; a longer word than we keep is safe, a shorter one is not.
        leaseDurationSeconds: Math.max(1, Math.ceil(record.durationMs / 1000)),
        acquireTime: record.acquireTime,
        renewTime: record.renewTime,
        leaseTransitions: record.transitions,
      }),
    },
  };
}

/** `base` with `changes`; null removes. */
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
