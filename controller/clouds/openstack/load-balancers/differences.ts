import { isDeepStrictEqual } from 'node:util';

/** In words; fields that are undefined or equal are left out. */
export function differences(before: object, change: object): string {
  const old = before as Readonly<Record<string, unknown>>;
  const text = Object.entries(change)
    .filter(([key, value]) => value !== undefined && !isDeepStrictEqual(old[key], value))
    .map(([key, value]) => `${key} from ${JSON.stringify(old[key]) ?? 'none'} to ${JSON.stringify(value)}`);
  return text.join(', ') || 'set again';
}
