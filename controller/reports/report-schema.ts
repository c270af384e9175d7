import type { Static } from 'typebox';
// A namespace import, so that the bundle contains only the used types of the library.
import * as Type from 'typebox';
import { nodeAddressTypes } from '../../common/instance.ts';
import { type Report, reportVersion } from '../../common/report.ts';
import { invisibleCharacters } from '../../common/visible-text.ts';

/**
 * One line of visible text, for logs, events and conditions. The API server must return it unchanged, because a
 * difference would be written again and again: that excludes half characters.
 */
export function line(maxLength: number, minLength = 1) {
  return Type.String({ minLength, maxLength, pattern: `^[^${invisibleCharacters}]*$` });
}

export function token(maxLength: number, pattern: string) {
  return Type.String({ minLength: 1, maxLength, pattern });
}

// Repetitions are bounded, so that a long hostile key takes linear time.
const dnsLabel = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';
const labelName = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const labelKey = `^(${dnsLabel}(\\.${dnsLabel}){0,20}/)?${labelName}$`;
const labelValue = `^(${labelName})?$`;

export const strict = { additionalProperties: false } as const;

const address = Type.Object(
  { type: Type.Enum([...nodeAddressTypes]), address: token(253, '^[A-Za-z0-9._:-]+$') },
  strict,
);

/** What a report says of its instance. */
export const instanceSchema = Type.Object(
  {
    cloud: token(32, '^[a-z][a-z0-9-]*$'),
    id: token(512, `^[^\\s${invisibleCharacters}]+$`),
    // Azure's has the name of a resource group, with letters and digits of every script.
    providerID: token(512, '^[\\x21-\\x7e\\p{L}\\p{Nd}]+$'),
    // Part of the record on the Node, whose fields are separated by spaces.
    incarnation: Type.Optional(token(256, '^[\\x21-\\x7e]+$')),
    name: Type.Optional(line(253)),
    zone: Type.Optional(line(128)),
    region: Type.Optional(line(128)),
    type: Type.Optional(line(128)),
    // More than fit into a report: an instance may have an address for each of its pods.
    addresses: Type.Array(address, { maxItems: 1000 }),
    labels: Type.Optional(
      Type.Record(Type.String({ pattern: labelKey }), Type.String({ maxLength: 63, pattern: labelValue }), {
        ...strict,
        maxProperties: 64,
      }),
    ),
  },
  strict,
);

const metadata = Type.Object(
  {
    ok: Type.Boolean(),
    ageSeconds: Type.Number({ minimum: 0, maximum: 1e10 }),
    failures: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    error: Type.Optional(line(2048, 0)),
  },
  strict,
);

export const smbiosUuidSchema = token(36, '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$');

const deadline = Type.Optional(Type.String({ maxLength: 40, format: 'date-time' }));

/** Of the instance of a cloud's API; reports have notices. */
export const maintenanceSchema = Type.Object({ deadline, message: line(2048, 0) }, strict);

const notice = Type.Object(
  {
    kind: Type.Enum(['preemption', 'maintenance', 'termination', 'rebalance']),
    deadline,
    message: Type.Optional(line(2048, 0)),
  },
  strict,
);

const evidence = Type.Object(
  {
    cloud: token(32, '^[a-z][a-z0-9-]*$'),
    kind: token(64, '^[A-Za-z0-9._-]+$'),
    document: Type.String({ minLength: 1, maxLength: 24 * 1024 }),
  },
  strict,
);

/** The accepted reports: `common/report.ts` with all lengths and counts bounded, and no other fields. */
export const reportSchema = Type.Object(
  {
    version: Type.Literal(reportVersion),
    agentVersion: line(64),
    agentId: token(64, '^[A-Za-z0-9._-]+$'),
    sequence: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    observedAt: Type.String({ maxLength: 40, format: 'date-time' }),
    bootId: Type.Optional(token(64, '^[A-Za-z0-9-]+$')),
    smbiosUuid: Type.Optional(smbiosUuidSchema),
    instance: Type.Optional(instanceSchema),
    metadata,
    notices: Type.Optional(Type.Array(notice, { maxItems: 16 })),
    evidence: Type.Optional(evidence),
    leaving: Type.Optional(Type.Boolean()),
  },
  strict,
);

type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T;
type Agree<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;

/** Fails to compile when the schema differs from the wire contract. */
export const schemaAgrees: Agree<Frozen<Static<typeof reportSchema>>, Frozen<Report>> = true;

/** The schema as a JSON Schema document, for the published reference. */
export function reportJsonSchema(): Readonly<Record<string, unknown>> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Report',
    description: 'What an agent says about its own instance: the body of POST /v1/report.',
    ...(JSON.parse(JSON.stringify(reportSchema)) as Record<string, unknown>),
  };
}
