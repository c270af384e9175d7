import { type ApiError, badRequest, type FieldError, invalid } from '../api-error.ts';
import { notSupported, tooLong } from '../field-error.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly validation: FieldValidation;
  /** Texts for `Warning` headers; filled while the write runs. */
  readonly warnings: string[];
}

/** Reads `dryRun`, `fieldValidation` and `fieldManager`. @param kind names the options object in a 422 */
export function readWriteOptions(query: URLSearchParams, kind: string): WriteOptions {
  const errors: FieldError[] = [];
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  if (dryRun.some((value) => value !== 'All')) errors.push(notSupported('dryRun', dryRun, ['All']));
  const validation = query.get('fieldValidation') || 'Warn';
  if (!isValidation(validation)) {
    errors.push(notSupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']));
  }
  if (Buffer.byteLength(query.get('fieldManager') ?? '') > 128) errors.push(tooLong('fieldManager', 128));
  if (kind === 'PatchOptions' && query.has('force')) {
    errors.push({
      reason: 'FieldValueForbidden',
      field: 'force',
      message: 'Forbidden: may not be specified for non-apply patch',
    });
  }
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', errors);
  return { dryRun: dryRun.length > 0, validation: validation as FieldValidation, warnings: [] };
}

function isValidation(text: string): text is FieldValidation {
  return text === 'Ignore' || text === 'Warn' || text === 'Strict';
}

/** Refuses or notes fields the schema does not know. @param strict makes the refusal, from the text about the fields */
export function reportUnknown(
  unknown: readonly string[],
  options: WriteOptions,
  strict: (message: string) => ApiError,
): void {
  if (unknown.length === 0 || options.validation === 'Ignore') return;
  const texts = unknown.map((field) => `unknown field "${field}"`);
  if (options.validation === 'Strict') throw strict(`strict decoding error: ${texts.join(', ')}`);
  options.warnings.push(...texts);
}

/** A parsed `boolean` query parameter as the server reads them: `1`, `true`, `yes`... anything but `0` and `false`. */
export function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** A whole number in the query; `undefined` when absent. Throws 400 for anything else. */
export function readInteger(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (/^-?\d+$/.test(value)) return Number(value);
  throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
}
