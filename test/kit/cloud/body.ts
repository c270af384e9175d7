import { isIP } from 'node:net';
import { ModelError } from './instance.ts';

export type Body = Readonly<Record<string, unknown>>;

/** The JSON object of a request; no body = an empty one. */
export function bodyOf(raw: string): Body {
  if (raw === '') return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(raw);
  } catch {
    throw new ModelError('invalid', 'body: not JSON');
  }
  return objectOf(parsed, 'body');
}

export function objectOf(value: unknown, field: string): Body {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body;
  throw wrong(field, value, 'an object');
}

export function text(body: Body, field: string): string {
  const value = body[field];
  if (typeof value !== 'string' || value === '') throw wrong(field, value, 'a text');
  return value;
}

export function optionalText(body: Body, field: string): string | undefined {
  return body[field] === undefined ? undefined : text(body, field);
}

export function oneOf<T extends string>(body: Body, field: string, possible: readonly T[], fallback?: T): T {
  const value = body[field] ?? fallback;
  const found = possible.find((one) => one === value);
  if (found === undefined) throw wrong(field, value, possible.join(', '));
  return found;
}

export function flag(body: Body, field: string): boolean {
  const value = body[field] ?? false;
  if (typeof value !== 'boolean') throw wrong(field, value, 'true or false');
  return value;
}

export function whole(body: Body, field: string, least: number, most: number): number {
  const value = body[field];
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    throw wrong(field, value, `${least} to ${most}`);
  }
  return value;
}

/** A list, empty when it is left out. */
export function list(body: Body, field: string): readonly unknown[] {
  const value = body[field] ?? [];
  if (!Array.isArray(value)) throw wrong(field, value, 'a list');
  return value;
}

export function texts(body: Body, field: string): string[] {
  return list(body, field).map((value) => {
    if (typeof value !== 'string' || value === '') throw wrong(field, value, 'texts');
    return value;
  });
}

export type Tags = Readonly<Record<string, string>>;

export function tagsOf(body: Body): Tags {
  const tags = objectOf(body['tags'] ?? {}, 'tags');
  for (const [key, value] of Object.entries(tags)) {
    if (typeof value !== 'string') throw wrong(`tags[${JSON.stringify(key)}]`, value, 'a text');
  }
  return tags as Tags;
}

/** Tags after a change that names some of them: a text sets one, null takes it away, the others stay. */
export function changedTags(tags: Tags, body: Body): Tags {
  const changed: Record<string, string> = { ...tags };
  for (const [key, value] of Object.entries(objectOf(body['tags'] ?? {}, 'tags'))) {
    if (value === null) delete changed[key];
    else if (typeof value === 'string') changed[key] = value;
    else throw wrong(`tags[${JSON.stringify(key)}]`, value, 'a text or null');
  }
  return changed;
}

export function cidr(value: unknown, field: string): string {
  const [address = '', length = '', ...rest] = typeof value === 'string' ? value.split('/') : [];
  const family = isIP(address);
  const bits = family === 6 ? 128 : 32;
  if (family === 0 || rest.length > 0 || !/^\d{1,3}$/.test(length) || Number(length) > bits) {
    throw wrong(field, value, 'a CIDR');
  }
  return value as string;
}

export function wrong(field: string, value: unknown, expected: string): ModelError {
  const shown = value === undefined ? 'missing' : (JSON.stringify(value)?.slice(0, 80) ?? String(value));
  return new ModelError('invalid', `${field}: ${shown}, expected ${expected}`);
}
