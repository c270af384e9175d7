import type { FieldError } from '../api-error.ts';
import { forbiddenField, invalidValue, required, tooLong } from '../field-error.ts';
import { at, deepEqual, type JsonObject, objectOf, textOf } from '../json.ts';
import { configMapSchema, secretSchema, serviceAccountSchema } from '../schema/core-schema.ts';
import { type Resource, resource, type Write } from '../store/resource.ts';
import { column, since } from '../view/column.ts';

const age = column('Age', (value, now) => since(at(value, 'metadata', 'creationTimestamp'), now));
const name = column('Name', (value) => at(value, 'metadata', 'name') ?? '');
const maximum = 1_048_576;

function size(value: JsonObject): number {
  const parts = [...Object.values(objectOf(value['data'])), ...Object.values(objectOf(value['binaryData']))];
  return parts.reduce<number>((sum, part) => sum + Buffer.byteLength(textOf(part)), 0);
}

function count(value: JsonObject): number {
  return Object.keys(objectOf(value['data'])).length + Object.keys(objectOf(value['binaryData'])).length;
}

function validateKeys(value: JsonObject, write: Write): FieldError[] {
  const errors: FieldError[] = [];
  for (const part of ['data', 'binaryData']) {
    for (const key of Object.keys(objectOf(value[part]))) {
      if (!/^[-._a-zA-Z0-9]+$/.test(key) || key === '.' || key === '..' || key.length > 253) {
        const detail =
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " +
          "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
        errors.push(invalidValue(`${part}[${key}]`, key, detail));
      }
    }
  }
  if (size(value) > maximum) errors.push(tooLong('', maximum));
  if (at(write.old, 'immutable') === true) {
    for (const part of ['immutable', 'data', 'binaryData']) {
      if (!deepEqual(value[part], write.old?.[part])) {
        errors.push(forbiddenField(part, 'field is immutable when `immutable` is set'));
      }
    }
  }
  return errors;
}

export const configMaps: Resource = resource({
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
  shortNames: ['cm'],
  schema: configMapSchema,
  validate: validateKeys,
  columns: [name, column('Data', count, { type: 'string' }), age],
});

function prepareSecret(value: JsonObject): JsonObject {
  const { stringData, type, data, ...rest } = value;
  const written: JsonObject = { ...objectOf(data) };
  for (const [key, text] of Object.entries(objectOf(stringData))) {
    written[key] = Buffer.from(textOf(text)).toString('base64');
  }
  const all = Object.keys(written).length === 0 ? {} : { data: written };
  return { ...rest, ...all, type: textOf(type) || 'Opaque' };
}

const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
};

function validateSecret(value: JsonObject, write: Write): FieldError[] {
  const errors = validateKeys(value, write);
  for (const key of requiredKeys[textOf(value['type'])] ?? []) {
    if (at(value, 'data', key) === undefined) errors.push(required(`data[${key}]`));
  }
  if (write.old && write.old['type'] !== value['type']) {
    errors.push(invalidValue('type', value['type'], 'field is immutable'));
  }
  return errors;
}

export const secrets: Resource = resource({
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
  schema: secretSchema,
  prepare: prepareSecret,
  validate: validateSecret,
  fields: (value) => ({ type: textOf(value['type']) }),
  columns: [name, column('Type', (value) => value['type'] ?? ''), column('Data', count, { type: 'string' }), age],
});

export const serviceAccounts: Resource = resource({
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
  shortNames: ['sa'],
  schema: serviceAccountSchema,
  subresources: ['token'],
  returnsDeleted: true,
  columns: [name, age],
});
