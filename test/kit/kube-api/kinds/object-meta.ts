import type { Random } from '../../../../common/process/random.ts';
import type { FieldError } from '../api-error.ts';
import { forbiddenField, invalidValue, required, tooLong } from '../field-error.ts';
import { at, type JsonObject, listOf, objectOf, textOf } from '../json.ts';
import type { Resource } from '../store/resource.ts';

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const qualifiedPart = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const standardFinalizers = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start " +
  "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
  "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const qualifiedText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
  "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
  "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

export function nameFault(name: string, rule: Resource['nameRule']): string | undefined {
  if (rule === 'path')
    return /[/%]/.test(name) || name === '.' || name === '..' ? "may not contain '/' or '%'" : undefined;
  if (rule === 'label') {
    if (name.length > 63) return 'must be no more than 63 characters';
    return label.test(name) ? undefined : labelText;
  }
  if (name.length > 253) return 'must be no more than 253 bytes';
  return subdomain.test(name) ? undefined : subdomainText;
}

/** Why a label or annotation key, or a taint key, is refused; undefined when it is fine. */
export function qualifiedNameFault(key: string): string | undefined {
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? '' : key.slice(0, slash);
  const name = slash < 0 ? key : key.slice(slash + 1);
  if (slash === 0) return 'prefix part must be non-empty';
  if (slash > 0 && (prefix.length > 253 || !subdomain.test(prefix))) return `prefix part ${subdomainText}`;
  if (name === '') return 'name part must be non-empty';
  if (name.length > 63) return 'name part must be no more than 63 bytes';
  return qualifiedPart.test(name) ? undefined : qualifiedText;
}

export function labelValueFault(value: string): string | undefined {
  if (value.length > 63) return 'must be no more than 63 bytes';
  return labelValue.test(value) ? undefined : labelValueText;
}

/** Names as the server makes them: the prefix and five letters without vowels, 63 characters in all at most. */
export function generateName(prefix: string, random: Random): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  let suffix = '';
  for (let i = 0; i < 5; i += 1) suffix += letters[Math.floor(random() * letters.length)];
  return `${prefix.slice(0, 58)}${suffix}`;
}

/** Faults of a new object's metadata. */
export function validateNewMeta(meta: JsonObject, rule: Resource['nameRule']): FieldError[] {
  const name = textOf(meta['name']);
  const errors: FieldError[] = [];
  const fault = name === '' ? undefined : nameFault(name, rule);
  if (name === '') errors.push(required('metadata.name', 'name or generateName is required'));
  if (fault !== undefined) errors.push(invalidValue('metadata.name', name, fault));
  return [...errors, ...validateMeta(meta)];
}

function validateMeta(meta: JsonObject): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(objectOf(meta['labels']))) {
    const keyFault = qualifiedNameFault(key);
    if (keyFault !== undefined) errors.push(invalidValue('metadata.labels', key, keyFault));
    const valueFault = labelValueFault(textOf(value));
    if (valueFault !== undefined) errors.push(invalidValue('metadata.labels', value, valueFault));
  }
  let size = 0;
  for (const [key, value] of Object.entries(objectOf(meta['annotations']))) {
    const fault = qualifiedNameFault(key.toLowerCase());
    if (fault !== undefined) errors.push(invalidValue('metadata.annotations', key, fault));
    size += key.length + textOf(value).length;
  }
  if (size > 262_144) errors.push(tooLong('metadata.annotations', 262_144));
  for (const finalizer of listOf(meta['finalizers'])) {
    const fault = finalizerFault(textOf(finalizer));
    if (fault !== undefined) errors.push(invalidValue('metadata.finalizers', finalizer, fault));
  }
  for (const owner of listOf(meta['ownerReferences'])) {
    const field = 'metadata.ownerReferences';
    const part = (name: string) => textOf(at(owner, name));
    if (part('apiVersion') === '') errors.push(invalidValue(`${field}.apiVersion`, '', 'version must not be empty'));
    for (const name of ['kind', 'name', 'uid']) {
      if (part(name) === '') errors.push(invalidValue(`${field}.${name}`, '', 'must not be empty'));
    }
  }
  const owners = listOf(meta['ownerReferences']).filter((owner) => at(owner, 'controller') === true);
  if (owners.length > 1) {
    errors.push(invalidValue('metadata.ownerReferences', null, 'Only one reference can have Controller set to true.'));
  }
  return errors;
}

function finalizerFault(finalizer: string): string | undefined {
  const fault = qualifiedNameFault(finalizer);
  if (fault !== undefined) return fault;
  if (finalizer.includes('/') || standardFinalizers.has(finalizer)) return undefined;
  return 'name is neither a standard finalizer name nor is it fully qualified';
}

/** Faults of a change of metadata, beyond those of metadata as such. */
export function validateMetaUpdate(meta: JsonObject, old: JsonObject): FieldError[] {
  const errors = sameParts(meta, old) ? [] : validateMeta(meta);
  if (old['deletionTimestamp'] === undefined) return errors;
  const before = listOf(old['finalizers']);
  const added = listOf(meta['finalizers']).filter((finalizer) => !before.includes(finalizer));
  if (added.length > 0) {
    const list = added.map((one) => JSON.stringify(one)).join(', ');
    errors.push(
      forbiddenField(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${list}}`,
      ),
    );
  }
  return errors;
}

function sameParts(meta: JsonObject, old: JsonObject): boolean {
  return ['labels', 'annotations', 'finalizers', 'ownerReferences'].every((part) => meta[part] === old[part]);
}
