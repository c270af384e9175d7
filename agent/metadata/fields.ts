import { isIP } from 'node:net';
import { CloudError } from '../../common/cloud-error.ts';

/**
 * Reads the fields of a foreign JSON object. A missing field, or one of another type, throws a CloudError of kind
 * `Invalid` that names it.
 */
export interface Fields {
  /** A required text, trimmed; an empty text counts as missing. */
  text(name: string): string;
  /** An optional text, trimmed; null and empty count as missing. A number is returned as its text. */
  optionalText(name: string): string | undefined;
  /** An optional object. */
  optionalObject(name: string): Fields | undefined;
  /** A list of objects; empty if missing. */
  objects(name: string): readonly Fields[];
  /** A list of texts without empty ones; empty if missing. A number is returned as its text. */
  texts(name: string): readonly string[];
}

export interface FieldsContext {
  readonly cloud: string;
  /** The name of the document at its source. */
  readonly operation: string;
}

/** Wraps a value as an object. Throws a CloudError `Invalid` when it is no object. */
export function fieldsOf(context: FieldsContext, value: unknown, path = ''): Fields {
  if (!isObject(value)) throw invalid(context, path === '' ? 'document' : path, value, 'an object');
  const record: Readonly<Record<string, unknown>> = value;
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  const own = (name: string) => (Object.hasOwn(record, name) ? record[name] : undefined);

  function textOf(found: unknown, field: string): string | undefined {
    if (found === undefined || found === null) return undefined;
    if (typeof found === 'number') return String(found);
    if (typeof found !== 'string') throw invalid(context, field, found, 'text');
    const trimmed = found.trim();
    return trimmed === '' ? undefined : trimmed;
  }

  function optionalText(name: string): string | undefined {
    return textOf(own(name), at(name));
  }

  function listOf(name: string): readonly unknown[] {
    const found = own(name);
    if (found === undefined || found === null) return [];
    if (!Array.isArray(found)) throw invalid(context, at(name), found, 'a list');
    return found;
  }

  return {
    optionalText,
    text(name) {
      const found = optionalText(name);
      if (found === undefined) throw invalid(context, at(name), own(name), 'text');
      return found;
    },
    optionalObject(name) {
      const found = own(name);
      return found === undefined || found === null ? undefined : fieldsOf(context, found, at(name));
    },
    objects(name) {
      return listOf(name).map((element, index) => fieldsOf(context, element, `${at(name)}[${index}]`));
    },
    texts(name) {
      return listOf(name).flatMap((element, index) => textOf(element, `${at(name)}[${index}]`) ?? []);
    },
  };
}

/** A CloudError that names a field, its value (shortened) and what was expected. */
export function invalid(context: FieldsContext, field: string, value: unknown, expected: string): CloudError {
  const shown = value === undefined ? 'missing' : shorten(JSON.stringify(value) ?? String(value));
  return new CloudError({ ...context, kind: 'Invalid', message: `${field}: ${shown}, expected ${expected}` });
}

/**
 * Parses an IP address, without zone and prefix length, IPv6 in canonical form. Throws a CloudError that names the
 * field.
 */
export function addressOf(context: FieldsContext, field: string, text: string): string {
  const bare = text
    .trim()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\/\d+$/, '');
  if (isIP(bare) === 0 || bare.includes('%')) throw invalid(context, field, text, 'an IP address');
  return isIP(bare) === 6 ? canonicalIPv6(bare) : bare;
}

/** Canonical form (RFC 5952), by `URL`. */
function canonicalIPv6(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function shorten(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}
