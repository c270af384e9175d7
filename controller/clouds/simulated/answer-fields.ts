export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown, field: string): Fields {
  if (!isObject(value)) throw unexpected(field, value, 'an object');
  return value;
}

export function text(fields: Fields, field: string): string {
  const value = fields[field];
  if (typeof value !== 'string' || value === '') throw unexpected(field, value, 'a text');
  return value;
}

export function optionalText(fields: Fields, field: string): string | undefined {
  return fields[field] === undefined ? undefined : text(fields, field);
}

export function list(fields: Fields, field: string): readonly unknown[] {
  const value = fields[field];
  if (!Array.isArray(value)) throw unexpected(field, value, 'a list');
  return value;
}

export function texts(fields: Fields, field: string): string[] {
  return list(fields, field).map((value) => {
    if (typeof value !== 'string' || value === '') throw unexpected(field, value, 'texts');
    return value;
  });
}

export function flag(fields: Fields, field: string): boolean {
  const value = fields[field];
  if (typeof value !== 'boolean') throw unexpected(field, value, 'true or false');
  return value;
}

export function whole(fields: Fields, field: string): number {
  const value = fields[field];
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw unexpected(field, value, 'a whole number');
  return value;
}

export function oneOf<T extends string>(fields: Fields, field: string, possible: readonly T[]): T {
  const found = possible.find((one) => one === fields[field]);
  if (found === undefined) throw unexpected(field, fields[field], possible.join(', '));
  return found;
}

export type Tags = Readonly<Record<string, string>>;

export function tagsOf(fields: Fields): Tags {
  const tags = objectOf(fields['tags'], 'tags');
  for (const [key, value] of Object.entries(tags)) {
    if (typeof value !== 'string') throw unexpected(`tags[${JSON.stringify(key)}]`, value, 'a text');
  }
  return tags as Tags;
}

/** RFC 3339, as milliseconds since 1970. */
export function momentOf(fields: Fields, field: string): number {
  const moment = Date.parse(text(fields, field));
  if (Number.isNaN(moment)) throw unexpected(field, fields[field], 'a moment as in RFC 3339');
  return moment;
}

export function unexpected(field: string, value: unknown, expected: string): TypeError {
  const shown = value === undefined ? 'missing' : (JSON.stringify(value)?.slice(0, 80) ?? String(value));
  return new TypeError(`${field}: ${shown}, expected ${expected}`);
}
