import { EvidenceRefusal } from './verdict.ts';

/** Parsed JSON that is an object. @throws EvidenceRefusal */
export function objectOf(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new EvidenceRefusal('Malformed', 'the document is not JSON');
  }
  return asObject(value, 'the document');
}

/** @throws EvidenceRefusal */
export function asObject(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new EvidenceRefusal('Malformed', `${what} is no object`);
}

/** A text field of this shape. @throws EvidenceRefusal */
export function textOf(from: Readonly<Record<string, unknown>>, field: string, shape: RegExp): string {
  const value = Object.hasOwn(from, field) ? from[field] : undefined;
  if (typeof value === 'string' && shape.test(value)) return value;
  throw new EvidenceRefusal('Malformed', `the field ${field} is missing or malformed`);
}
