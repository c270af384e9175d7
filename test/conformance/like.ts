import { AssertionError } from 'node:assert/strict';

/** In an expectation: the field must not be there. */
export const absent = Symbol('absent');

/**
 * Compares `actual` with an expectation that names only what matters: objects may have more fields, arrays must have
 * the same length, a RegExp must match a string, a function must return true, `absent` means not there at all.
 */
export function like(actual: unknown, expected: unknown, note = ''): void {
  const fault = difference(actual, expected, '');
  if (fault) {
    throw new AssertionError({
      message: `${note ? `${note}: ` : ''}${fault}\n  in ${shorten(actual)}`,
      actual,
      expected,
      operator: 'like',
      stackStartFn: like,
    });
  }
}

function difference(actual: unknown, expected: unknown, path: string): string | undefined {
  const where = path === '' ? 'the value' : path;
  if (expected === absent) return actual === undefined ? undefined : `${where} should be absent, is ${shorten(actual)}`;
  if (expected instanceof RegExp) {
    const fits = typeof actual === 'string' && expected.test(actual);
    return fits ? undefined : `${where} should match ${expected}, is ${shorten(actual)}`;
  }
  if (typeof expected === 'function') {
    return expected(actual) === true ? undefined : `${where} should satisfy ${expected}, is ${shorten(actual)}`;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return `${where} should be an array, is ${shorten(actual)}`;
    if (actual.length !== expected.length) {
      return `${where} should have ${expected.length} items, has ${actual.length}: ${shorten(actual)}`;
    }
    return first(expected.map((item, i) => difference(actual[i], item, `${path}[${i}]`)));
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) return `${where} should be an object, is ${shorten(actual)}`;
    const fields = actual as Record<string, unknown>;
    return first(Object.entries(expected).map(([key, value]) => difference(fields[key], value, `${path}.${key}`)));
  }
  return Object.is(actual, expected) ? undefined : `${where} should be ${shorten(expected)}, is ${shorten(actual)}`;
}

function first(faults: (string | undefined)[]): string | undefined {
  return faults.find((fault) => fault !== undefined);
}

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 600 ? `${text.slice(0, 600)}...` : text;
}
