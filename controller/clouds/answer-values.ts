import { isIP } from 'node:net';
import type { AnswerFields } from './answer-fields.ts';
import { canonical } from './ip-address.ts';

/**
 * Values with a form of their own in a field of an answer. Each throws a CloudError `Invalid` as `AnswerFields` does.
 * They are no methods, because a list of thousands of objects pays for every method of each.
 */

/** An IP address, in one spelling. */
export function addressIn(fields: AnswerFields, name: string): string {
  const found = fields.text(name);
  if (isIP(found) === 0) throw fields.wrong(name, 'an IP address');
  return canonical(found);
}

/** Milliseconds since 1970; undefined where it cannot be read, or is missing. */
export function timeIn(fields: AnswerFields, name: string): number | undefined {
  return Date.parse(fields.optionalText(name) ?? '') || undefined;
}

/** Texts by name, of a list of objects with these two fields; a value may be missing. None where there is no list. */
export function pairsIn(
  fields: AnswerFields | undefined,
  name: string,
  [key, value]: readonly [string, string],
): Readonly<Record<string, string>> {
  const pairs = fields?.optionalObjects(name) ?? [];
  return Object.fromEntries(pairs.map((one) => [one.text(key), one.optionalText(value) ?? '']));
}

export function oneOfIn<Text extends string>(fields: AnswerFields, name: string, possible: readonly Text[]): Text {
  const found = possible.find((one) => one === fields.json()[name]);
  if (found === undefined) throw fields.wrong(name, `one of ${possible.join(', ')}`);
  return found;
}

/** A number that is not negative, and has no fraction. */
export function wholeIn(fields: AnswerFields, name: string): number {
  const found = fields.number(name);
  if (!Number.isInteger(found) || found < 0) throw fields.wrong(name, 'a whole number');
  return found;
}
