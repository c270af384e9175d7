import type { GcfgReader } from './gcfg.ts';
import { isPlainUrl, plainUrlExpected } from './plain-url.ts';

type Reader = Pick<GcfgReader, 'text' | 'error'>;

/**
 * Undefined where the key is missing, as of all of these. Throws a CloudConfigError for a value of another form.
 *
 * @param expected for people: `the id of a VPC`
 */
export function matchingText(reader: Reader, key: string, pattern: RegExp, expected: string): string | undefined {
  const value = reader.text(key);
  if (value === undefined || pattern.test(value)) return value;
  throw reader.error(key, `${JSON.stringify(value)}, expected ${expected}`);
}

/** An http or https URL. */
export function urlText(reader: Reader, key: string): string | undefined {
  const value = reader.text(key);
  if (value === undefined || isPlainUrl(value)) return value;
  throw reader.error(key, plainUrlExpected);
}

/** A secret of one word. */
export function secretText(reader: Reader, key: string): string | undefined {
  const value = reader.text(key);
  if (value === undefined || /^[\x21-\x7e]+$/.test(value)) return value;
  throw reader.error(key, 'a wrong value (not shown), expected one word of ASCII characters');
}
