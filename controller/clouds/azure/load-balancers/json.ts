import { isDeepStrictEqual } from 'node:util';

/** A resource, or a part of one, as Resource Manager keeps it: what is not read stays in it. */
export type Json = Readonly<Record<string, unknown>>;

/** One of the parts of a resource that have names. */
export interface Part {
  readonly name: string;
  readonly properties: Json;
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

export function objectIn(json: Json, name: string): Json {
  const value = json[name];
  return isObject(value) ? value : {};
}

export function listIn(json: Json, name: string): readonly Json[] {
  const value = json[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function textIn(json: Json, name: string): string | undefined {
  const value = json[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function partsIn(json: Json, name: string): readonly Part[] {
  return listIn(objectIn(json, 'properties'), name).map((one) => {
    return { ...one, name: textIn(one, 'name') ?? '', properties: objectIn(one, 'properties') };
  });
}

/** The id of another resource, in lower case: ids compare without case. */
export function idIn(properties: Json, name: string): string | undefined {
  return textIn(objectIn(properties, name), 'id')?.toLowerCase();
}

/** The last write to that resource has failed: what it shows may not be in force. */
export function isFailed(json: Json): boolean {
  return /^(failed|canceled)$/i.test(textIn(objectIn(json, 'properties'), 'provisioningState') ?? '');
}

/** Whether everything desired is there; ids compare without case. What Resource Manager adds is no difference. */
export function covers(found: unknown, desired: unknown): boolean {
  if (desired === undefined) return true;
  if (typeof desired === 'string' && typeof found === 'string' && /^\/subscriptions\//i.test(desired))
    return desired.toLowerCase() === found.toLowerCase();
  if (Array.isArray(desired))
    return (
      Array.isArray(found) && found.length === desired.length && desired.every((one, at) => covers(found[at], one))
    );
  if (!isObject(desired)) return isDeepStrictEqual(found, desired);
  return isObject(found) && Object.entries(desired).every(([name, value]) => covers(found[name], value));
}

export const sameName = (a: { readonly name: string }, b: { readonly name: string }) =>
  a.name.toLowerCase() === b.name.toLowerCase();

/** Whether its properties are the desired ones. A probe stays until a write leaves it out, so one too many counts. */
export function isAsDesired({ properties: found }: Part, { properties: desired }: Part): boolean {
  return covers(found, desired) && (idIn(found, 'probe') === undefined) === (idIn(desired, 'probe') === undefined);
}

/** The list with the desired parts in place of those that `isOwn`. What is good already stays as it is. */
export function replaced(
  list: readonly Part[],
  desired: readonly Part[],
  isOwn: (part: Part) => boolean,
): readonly Part[] {
  const kept = list.flatMap((one) => {
    const next = desired.find((other) => sameName(one, other));
    if (next === undefined) return isOwn(one) ? [] : [one];
    return [isAsDesired(one, next) ? one : next];
  });
  return [...kept, ...desired.filter((next) => !list.some((one) => sameName(one, next)))];
}
