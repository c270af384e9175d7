/** A JSON object of the Kubernetes API. */
export type Json = Readonly<Record<string, unknown>>;

/** RFC 7396: null removes a field, objects merge, everything else replaces. Pure. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/** Lists that merge; all others are replaced. By field: the key of an item; '' = plain values. */
const mergeKeys: Readonly<Record<string, string>> = { conditions: 'type', addresses: 'type', finalizers: '' };
const deletion = '$deleteFromPrimitiveList/';

/** A strategic merge patch, with the fields and directives that the controller sends for Nodes and Services. Pure. */
export function strategicPatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else if (key.startsWith(deletion)) remove(result, key.slice(deletion.length), value);
    else if (Array.isArray(value) && mergeKeys[key] !== undefined)
      result[key] = mergeList(result[key], value, mergeKeys[key]);
    else result[key] = strategicPatch(result[key], value);
  }
  return result;
}

function remove(result: Record<string, unknown>, field: string, gone: unknown): void {
  const [held, without] = [result[field], Array.isArray(gone) ? gone : []];
  const rest = Array.isArray(held) ? held.filter((one) => !without.includes(one)) : [];
  if (rest.length > 0) result[field] = rest;
  else delete result[field];
}

function mergeList(held: unknown, patch: readonly unknown[], mergeKey: string): unknown[] {
  const before: readonly unknown[] = Array.isArray(held) ? held : [];
  if (mergeKey === '') return [...new Set([...before, ...patch])];
  const items = patch.filter(isObject);
  if (items.some((item) => item['$patch'] === 'replace')) return items.filter((item) => item['$patch'] === undefined);
  const result = [...before];
  for (const item of items) {
    const at = result.findIndex((one) => isObject(one) && one[mergeKey] === item[mergeKey]);
    if (item['$patch'] === 'delete') result.splice(at < 0 ? result.length : at, 1);
    else if (at < 0) result.push(item);
    else result[at] = strategicPatch(result[at], item);
  }
  return result;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
