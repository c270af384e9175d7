import type { FieldError } from '../api-error.ts';
import { invalidValue, notSupported, required } from '../field-error.ts';
import { at, deepEqual, type JsonObject, listOf, objectOf, textOf } from '../json.ts';
import { clusterRoleBindingSchema, clusterRoleSchema, roleBindingSchema, roleSchema } from '../schema/core-schema.ts';
import { type Resource, resource, type Write } from '../store/resource.ts';
import { column, since } from '../view/column.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

const name = column('Name', (value) => at(value, 'metadata', 'name') ?? '');
const created = column('Created At', (value) => textOf(at(value, 'metadata', 'creationTimestamp')));
const age = column('Age', (value, now) => since(at(value, 'metadata', 'creationTimestamp'), now));
const role = column(
  'Role',
  (value) => `${textOf(at(value, 'roleRef', 'kind'))}/${textOf(at(value, 'roleRef', 'name'))}`,
);

function validateRole(value: JsonObject): FieldError[] {
  return listOf(value['rules']).flatMap((rule, index) => {
    const field = `rules[${index}]`;
    const errors: FieldError[] = [];
    if (listOf(at(rule, 'verbs')).length === 0) {
      errors.push(required(`${field}.verbs`, 'verbs must contain at least one value'));
    }
    if (listOf(at(rule, 'nonResourceURLs')).length > 0) return errors;
    if (listOf(at(rule, 'apiGroups')).length === 0) {
      errors.push(required(`${field}.apiGroups`, 'resource rules must supply at least one api group'));
    }
    if (listOf(at(rule, 'resources')).length === 0) {
      errors.push(required(`${field}.resources`, 'resource rules must supply at least one resource'));
    }
    return errors;
  });
}

/** Subjects may leave out their group, which their kind decides. */
function prepareBinding(given: JsonObject): JsonObject {
  const roleRef = objectOf(given['roleRef']);
  const value = textOf(roleRef['apiGroup']) === '' ? { ...given, roleRef: { ...roleRef, apiGroup: rbacGroup } } : given;
  if (given['subjects'] === undefined) return value;
  const subjects = listOf(given['subjects']).map((subject) => {
    const account = at(subject, 'kind') === 'ServiceAccount';
    if (account || textOf(at(subject, 'apiGroup')) !== '') return subject;
    return { kind: textOf(at(subject, 'kind')), apiGroup: rbacGroup, ...(subject as JsonObject) };
  });
  return { ...value, subjects };
}

function validateBinding(value: JsonObject, write: Write): FieldError[] {
  const errors: FieldError[] = [];
  const kinds = ['ServiceAccount', 'User', 'Group'];
  if (textOf(at(value, 'roleRef', 'name')) === '') errors.push(required('roleRef.name'));
  if (write.old && !deepEqual(write.old['roleRef'], value['roleRef'])) {
    errors.push(invalidValue('roleRef', value['roleRef'], 'cannot change roleRef'));
  }
  listOf(value['subjects']).forEach((subject, index) => {
    const kind = textOf(at(subject, 'kind'));
    if (!kinds.includes(kind)) errors.push(notSupported(`subjects[${index}].kind`, kind, kinds));
    if (textOf(at(subject, 'name')) === '') errors.push(required(`subjects[${index}].name`));
    if (kind === 'ServiceAccount' && textOf(at(subject, 'namespace')) === '') {
      errors.push(required(`subjects[${index}].namespace`));
    }
  });
  return errors;
}

const shared = { group: rbacGroup, version: 'v1', nameRule: 'path' as const };

export const clusterRoles: Resource = resource({
  ...shared,
  plural: 'clusterroles',
  kind: 'ClusterRole',
  namespaced: false,
  schema: clusterRoleSchema,
  validate: validateRole,
  columns: [name, created],
});

export const roles: Resource = resource({
  ...shared,
  plural: 'roles',
  kind: 'Role',
  namespaced: true,
  schema: roleSchema,
  validate: validateRole,
  columns: [name, created],
});

export const clusterRoleBindings: Resource = resource({
  ...shared,
  plural: 'clusterrolebindings',
  kind: 'ClusterRoleBinding',
  namespaced: false,
  schema: clusterRoleBindingSchema,
  prepare: prepareBinding,
  validate: validateBinding,
  columns: [name, role, age],
});

export const roleBindings: Resource = resource({
  ...shared,
  plural: 'rolebindings',
  kind: 'RoleBinding',
  namespaced: true,
  schema: roleBindingSchema,
  prepare: prepareBinding,
  validate: validateBinding,
  columns: [name, role, age],
});
