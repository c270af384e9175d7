import type { TLocalizedValidationError } from 'typebox/error';
import { Compile } from 'typebox/schema';
import { providerIdCodecs } from '../../common/provider-id/registry.ts';
import type { Report } from '../../common/report.ts';
import { visibleText } from '../../common/visible-text.ts';
import { addressFault } from './address-fault.ts';
import { reportSchema } from './report-schema.ts';

/** The fault of a report. */
export interface ReportFault {
  /** Dotted path, e.g. `instance.addresses[2].address`, printable; `report` for the whole report. */
  readonly field: string;
  /**
   * The value, shortened and printable; only its kind for lists, objects, evidence and unknown fields; `nothing` if it
   * is missing.
   */
  readonly value: string;
  readonly expected: string;
}

export type ReadReport =
  | { readonly report: Report; readonly fault?: undefined }
  | { readonly report?: undefined; readonly fault: ReportFault };

const shownLength = 62;

function printable(text: string): string {
  return visibleText(text.length > shownLength ? `${text.slice(0, shownLength - 1)}…` : text);
}

/** The kind of a value, without its content. */
function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === 'string' ? `a text of ${value.length} characters` : typeof value;
}

/** A simple value itself; only the kind of lists and objects, because they may be large. */
function shown(value: unknown): string {
  if (typeof value === 'string') return `"${printable(value)}"`;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value);
}

function partsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function fieldOf(parts: readonly string[]): string {
  let field = '';
  for (const part of parts) {
    if (/^\d+$/.test(part)) field += `[${part}]`;
    else field += `${field === '' ? '' : '.'}${printable(part)}`;
  }
  return field === '' ? 'report' : field;
}

function valueAt(root: unknown, parts: readonly string[]): unknown {
  let value = root;
  for (const part of parts) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/** The fault of an object that a schema refuses, from its first error. */
export function faultOf(root: unknown, error: TLocalizedValidationError): ReportFault {
  const parts = partsOf(error.instancePath);
  if (error.keyword === 'required') {
    const missing = error.params.requiredProperties[0] ?? '';
    return { field: fieldOf([...parts, missing]), value: 'nothing', expected: 'a value' };
  }
  if (error.keyword === 'additionalProperties' || error.keyword === 'boolean') {
    const extra = error.keyword === 'additionalProperties' ? error.params.additionalProperties.slice(0, 1) : [];
    const path = [...parts, ...extra];
    // The value may be anything, even a password.
    return { field: fieldOf(path), value: kindOf(valueAt(root, path)), expected: 'no such field' };
  }
  const expected =
    error.keyword === 'enum'
      ? `one of ${error.params.allowedValues.join(', ')}`
      : error.message.replace(/^must (be )?/, '');
  const value = valueAt(root, parts);
  return { field: fieldOf(parts), value: parts[0] === 'evidence' ? kindOf(value) : shown(value), expected };
}

function faultOfAddresses(report: Report): ReportFault | undefined {
  const seen = new Set<string>();
  for (const [index, entry] of (report.instance?.addresses ?? []).entries()) {
    const expected = seen.has(`${entry.type} ${entry.address}`) ? 'each address once per type' : addressFault(entry);
    if (expected) return { field: `instance.addresses[${index}].address`, value: shown(entry.address), expected };
    seen.add(`${entry.type} ${entry.address}`);
  }
  return undefined;
}

/**
 * The id and the providerID have to name one instance: otherwise two Nodes could hold the same instance. Reports of
 * unknown clouds are not checked, because they are not used.
 */
function faultOfProviderID({ instance }: Report): ReportFault | undefined {
  const codec = instance && providerIdCodecs.get(instance.cloud);
  if (!codec || codec.parse(instance.providerID)?.instanceId.toLowerCase() === instance.id.toLowerCase())
    return undefined;
  const expected = `one of ${instance.cloud} for ${printable(instance.id)}`;
  return { field: 'instance.providerID', value: shown(instance.providerID), expected };
}

/**
 * Creates the function that validates parsed JSON as a Report or names its first fault. Compiles the schema once; never
 * throws.
 */
export function createReportReader(): (value: unknown) => ReadReport {
  const validator = Compile(reportSchema);
  return (value) => {
    if (!validator.Check(value)) {
      const [, [error]] = validator.Errors(value);
      return { fault: error ? faultOf(value, error) : { field: 'report', value: shown(value), expected: 'a report' } };
    }
    const report = value as Report;
    const fault = faultOfProviderID(report) ?? faultOfAddresses(report);
    return fault ? { fault } : { report };
  };
}
