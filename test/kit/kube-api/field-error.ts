import type { FieldError } from './api-error.ts';
import type { Json } from './json.ts';

/** Go prints strings quoted and other values bare in `Invalid value: ...`. */
function shown(value: Json | undefined): string {
  return value === undefined ? 'null' : JSON.stringify(value);
}

export function invalidValue(field: string, value: Json | undefined, detail: string): FieldError {
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${shown(value)}: ${detail}` };
}

export function required(field: string, detail = ''): FieldError {
  return {
    reason: 'FieldValueRequired',
    field,
    message: detail === '' ? 'Required value' : `Required value: ${detail}`,
  };
}

export function forbiddenField(field: string, detail: string): FieldError {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` };
}

export function duplicate(field: string, value: Json, detail = ''): FieldError {
  const message = `Duplicate value: ${shown(value)}${detail === '' ? '' : `: ${detail}`}`;
  return { reason: 'FieldValueDuplicate', field, message };
}

export function notSupported(field: string, value: Json | undefined, supported: readonly string[]): FieldError {
  const list = supported.map((one) => `"${one}"`).join(', ');
  return {
    reason: 'FieldValueNotSupported',
    field,
    message: `Unsupported value: ${shown(value)}: supported values: ${list}`,
  };
}

export function tooLong(field: string, limit: number): FieldError {
  return { reason: 'FieldValueTooLong', field, message: `Too long: may not be more than ${limit} bytes` };
}
