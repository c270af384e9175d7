import { ApiError } from '../api-error.ts';
import { deepEqual, isObject, type Json, type JsonObject, textOf } from '../json.ts';
import type { ListSchema, ObjectSchema, Schema } from '../schema/schema.ts';

const setOrder = '$setElementOrder/';
const deleteFrom = '$deleteFromPrimitiveList/';

/** The real server, too, answers 500 for directives and items it cannot make sense of. */
function refused(message: string): ApiError {
  return new ApiError(500, '', message);
}

/**
 * Strategic merge: lists with a merge key are matched item by item, sets are united, other lists replaced. New items
 * come before the stored ones. Understands `$patch` (merge, replace, delete), `$setElementOrder/x`,
 * `$deleteFromPrimitiveList/x` and `$retainKeys`. Unchanged parts are shared with the given object.
 */
export function applyStrategicMerge(
  value: JsonObject,
  patch: JsonObject,
  schema: ObjectSchema | undefined,
): JsonObject {
  const directive = patch['$patch'];
  if (directive === 'replace') {
    const { $patch: _, ...rest } = patch;
    return withoutNulls(rest);
  }
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge') throw refused(`unknown patch type: ${textOf(directive)}`);
  const result = retained(value, patch['$retainKeys']);
  for (const [key, change] of Object.entries(patch)) {
    if (key === '$patch' || key === '$retainKeys' || key.startsWith(setOrder)) continue;
    if (key.startsWith(deleteFrom)) {
      const field = key.slice(deleteFrom.length);
      const before = result[field];
      if (Array.isArray(before) && Array.isArray(change))
        result[field] = before.filter((one) => !contains(change, one));
      continue;
    }
    if (change === null) delete result[key];
    else result[key] = mergedField(result[key], change, schema?.fields.get(key));
  }
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(setOrder) || !Array.isArray(order)) continue;
    const field = key.slice(setOrder.length);
    const now = result[field];
    const known = schema?.fields.get(field);
    if (Array.isArray(now)) result[field] = ordered(now, order, listOfStored(value[field]), keyOf(known));
  }
  return result;
}

function retained(value: JsonObject, keys: Json | undefined): JsonObject {
  if (!Array.isArray(keys)) return { ...value };
  return Object.fromEntries(Object.entries(value).filter(([key]) => keys.includes(key)));
}

function listOfStored(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function keyOf(schema: Schema | undefined): string | undefined {
  return schema?.type === 'list' ? schema.mergeKey : undefined;
}

function mergedField(value: Json | undefined, change: Json, schema: Schema | undefined): Json {
  if (isObject(change)) {
    const inner = schema?.type === 'object' ? schema : undefined;
    return applyStrategicMerge(isObject(value) ? value : {}, change, inner);
  }
  if (!Array.isArray(change)) return change;
  if (schema?.type !== 'list' || !schema.merge) return change.map(withoutDirectives);
  if (!Array.isArray(value))
    return change.filter((one) => !isObject(one) || one['$patch'] === undefined).map(withoutDirectives);
  return schema.mergeKey === undefined ? mergedSet(value, change) : mergedList(value, change, schema, schema.mergeKey);
}

function mergedSet(value: Json[], change: Json[]): Json[] {
  const united = [...new Set([...value, ...change])];
  return interleaved(
    change.filter((one, index) => change.indexOf(one) === index),
    united.filter((one) => !contains(change, one)),
    (one) => value.indexOf(one),
  );
}

function mergedList(value: Json[], change: Json[], schema: ListSchema, mergeKey: string): Json[] {
  let stored = value;
  let replace = false;
  const plain: JsonObject[] = [];
  for (const item of change) {
    if (!isObject(item)) throw refused(`list element is not a map`);
    const directive = item['$patch'];
    if (directive === 'replace') replace = true;
    else if (directive === 'delete') {
      const wanted = item[mergeKey];
      if (wanted === undefined) throw refused(`delete patch type with no merge key defined`);
      stored = stored.filter((one) => !isObject(one) || !deepEqual(one[mergeKey], wanted));
    } else if (directive === undefined) plain.push(item);
    else throw refused(`unknown patch type: ${textOf(directive)} in map: ${goMap(item)}`);
  }
  if (replace) {
    const taken = plain.map(withoutDirectives);
    return arranged(taken, [], taken, mergeKey);
  }
  const inner = schema.items.type === 'object' ? schema.items : undefined;
  const result = [...stored];
  for (const item of plain) {
    const wanted = item[mergeKey];
    if (wanted === undefined) {
      throw refused(`map: ${goMap(item)} does not contain declared merge key: ${mergeKey}`);
    }
    const index = result.findIndex((one) => isObject(one) && deepEqual(one[mergeKey], wanted));
    const before = result[index];
    if (isObject(before)) result[index] = applyStrategicMerge(before, item, inner);
    else result.push(applyStrategicMerge({}, item, inner));
  }
  const named = plain.map((item) => item[mergeKey] ?? null);
  return arranged(result, named, stored, mergeKey);
}

/** How Go prints a map in its messages. */
function goMap(item: JsonObject): string {
  const pairs = Object.keys(item)
    .sort()
    .map((key) => `${key}:${String(item[key])}`);
  return `map[${pairs.join(' ')}]`;
}

function contains(list: Json[], item: Json): boolean {
  return list.some((one) => deepEqual(one, item));
}

/** Items the patch names, in its order, worked into the others, which keep theirs. */
function arranged(items: Json[], named: Json[], stored: Json[], mergeKey: string): Json[] {
  const id = (item: Json) => (isObject(item) ? (item[mergeKey] ?? null) : item);
  const rank = (item: Json) => named.findIndex((one) => deepEqual(one, id(item)));
  const patched = items.filter((item) => rank(item) >= 0);
  patched.sort((left, right) => rank(left) - rank(right));
  // Items that share a key come to stand side by side, as the place of the first one counts for all.
  const place = (item: Json) => stored.findIndex((one) => deepEqual(id(one), id(item)));
  const others = items.filter((item) => rank(item) < 0);
  others.sort((left, right) => place(left) - place(right));
  return interleaved(patched, others, place);
}

function ordered(now: Json[], order: Json[], stored: Json[], mergeKey: string | undefined): Json[] {
  if (mergeKey !== undefined) {
    const named = order.map((one) => (isObject(one) ? (one[mergeKey] ?? null) : one));
    return arranged(now, named, stored, mergeKey);
  }
  const named = now.filter((one) => contains(order, one));
  named.sort((left, right) => order.indexOf(left) - order.indexOf(right));
  const others = now.filter((one) => !contains(order, one));
  return interleaved(named, others, (one) => stored.indexOf(one));
}

/** Merges both lists; a patched item comes first unless both were stored and the other one stood before it. */
function interleaved(patched: Json[], others: Json[], place: (item: Json) => number): Json[] {
  const result: Json[] = [];
  let left = 0;
  let right = 0;
  while (left < others.length && right < patched.length) {
    const other = others[left] as Json;
    const mine = patched[right] as Json;
    const otherPlace = place(other);
    const minePlace = place(mine);
    if (otherPlace >= 0 && minePlace >= 0 && otherPlace < minePlace) {
      result.push(other);
      left += 1;
    } else {
      result.push(mine);
      right += 1;
    }
  }
  return [...result, ...others.slice(left), ...patched.slice(right)];
}

function withoutDirectives(value: Json): Json {
  return isObject(value) ? withoutNulls(value) : value;
}

function withoutNulls(value: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [key, part] of Object.entries(value)) {
    if (part !== null && !key.startsWith('$')) result[key] = isObject(part) ? withoutNulls(part) : part;
  }
  return result;
}
