import { isIP } from 'node:net';
import type { FieldError } from '../api-error.ts';
import { duplicate, forbiddenField, invalidValue, notSupported, required } from '../field-error.ts';
import { at, isObject, type Json, type JsonObject, listOf, objectOf, textOf, withField } from '../json.ts';
import { nodeSchema } from '../schema/node-schema.ts';
import { type Resource, resource, type Write } from '../store/resource.ts';
import { column, since, wide } from '../view/column.ts';
import { qualifiedNameFault } from './object-meta.ts';

const notReady: JsonObject = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Admission marks every new Node as not ready; both forms of the pod CIDR are kept the same. */
function prepare(value: JsonObject, write: Write): JsonObject {
  let spec = objectOf(value['spec']);
  const taints = listOf(spec['taints']);
  if (!write.old && !taints.some((taint) => sameTaint(taint, notReady))) {
    spec = { ...spec, taints: [...taints, notReady] };
  }
  const first = textOf(spec['podCIDR']);
  const all = listOf(spec['podCIDRs']);
  if (first !== '' && all[0] !== first) spec = { ...spec, podCIDRs: [first] };
  else if (first === '' && all.length > 0) spec = { ...spec, podCIDR: textOf(all[0]) };
  const prepared = spec === value['spec'] ? value : { ...value, spec };
  const status = objectOf(prepared['status']);
  if (status['allocatable'] !== undefined || status['capacity'] === undefined) return prepared;
  return withField(prepared, 'status', withField(status, 'allocatable', status['capacity']));
}

function sameTaint(left: Json, right: Json): boolean {
  return at(left, 'key') === at(right, 'key') && at(left, 'effect') === at(right, 'effect');
}

function validateTaints(taints: Json[]): FieldError[] {
  const errors: FieldError[] = [];
  taints.forEach((taint, index) => {
    const field = `metadata.taints[${index}]`;
    const key = textOf(at(taint, 'key'));
    const fault = key === '' ? 'name part must be non-empty' : qualifiedNameFault(key);
    if (fault !== undefined) errors.push(invalidValue(`${field}.key`, key, fault));
    const effect = textOf(at(taint, 'effect'));
    if (effect === '') errors.push(required(`${field}.effect`));
    else if (!effects.includes(effect)) errors.push(notSupported(`${field}.effect`, effect, effects));
    if (taints.findIndex((other) => sameTaint(other, taint)) < index) {
      const { key: name, value, effect: kind, timeAdded } = objectOf(taint);
      const shown = { Key: name ?? '', Value: value ?? '', Effect: kind ?? '', TimeAdded: timeAdded ?? null };
      errors.push(duplicate(field, shown, 'taints must be unique by key and effect pair'));
    }
  });
  return errors;
}

/** Text of what is wrong with a CIDR; undefined when it is one. */
export function cidrFault(text: string): string | undefined {
  const [address = '', length = '', ...more] = text.split('/');
  const family = isIP(address);
  const good =
    family !== 0 && more.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= (family === 4 ? 32 : 128);
  return good ? undefined : 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
}

function validate(value: JsonObject, write: Write): FieldError[] {
  const errors: FieldError[] = [];
  const spec = objectOf(value['spec']);
  const old = write.old && objectOf(write.old['spec']);
  if (spec['taints'] !== old?.['taints']) errors.push(...validateTaints(listOf(spec['taints'])));
  const cidrs = listOf(spec['podCIDRs']);
  const oldCidrs = listOf(old?.['podCIDRs']);
  cidrs.forEach((cidr, index) => {
    const fault = cidrFault(textOf(cidr));
    if (fault !== undefined) errors.push(invalidValue(`spec.podCIDRs[${index}]`, cidr, fault));
  });
  if (oldCidrs.length > 0 && (cidrs.length !== oldCidrs.length || cidrs.some((cidr, i) => cidr !== oldCidrs[i]))) {
    errors.push(forbiddenField('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  }
  if (cidrs.length > 1 && new Set(cidrs.map((cidr) => textOf(cidr).includes(':'))).size < cidrs.length) {
    errors.push(invalidValue('spec.podCIDRs', cidrs, 'may specify no more than one CIDR for each IP family'));
  }
  if (old && spec['externalID'] !== old['externalID']) {
    errors.push(forbiddenField('spec.externalID', 'may not be updated'));
  }
  const providerId = textOf(old?.['providerID']);
  if (providerId !== '' && providerId !== spec['providerID']) {
    errors.push(forbiddenField('spec.providerID', 'node updates may not change providerID except from "" to valid'));
  }
  for (const part of ['capacity', 'allocatable']) {
    const amounts = objectOf(at(value, 'status', part));
    for (const [name, amount] of Object.entries(amounts === at(write.old, 'status', part) ? {} : amounts)) {
      if (!textOf(amount).startsWith('-')) continue;
      errors.push(invalidValue(`status.${part}.${name}`, amount, 'must be greater than or equal to 0'));
    }
  }
  const addresses = listOf(at(value, 'status', 'addresses'));
  if (addresses !== at(write.old, 'status', 'addresses')) {
    const seen = new Set<string>();
    addresses.forEach((address, index) => {
      const text = `${textOf(at(address, 'type'))} ${textOf(at(address, 'address'))}`;
      if (seen.has(text)) errors.push(duplicate(`status.addresses[${index}]`, address));
      seen.add(text);
    });
  }
  return errors;
}

function state(value: JsonObject): string {
  const ready = listOf(at(value, 'status', 'conditions')).find((one) => at(one, 'type') === 'Ready');
  const text = ready === undefined ? 'Unknown' : at(ready, 'status') === 'True' ? 'Ready' : 'NotReady';
  return at(value, 'spec', 'unschedulable') === true ? `${text},SchedulingDisabled` : text;
}

function roles(value: JsonObject): string {
  const found = new Set<string>();
  for (const [key, role] of Object.entries(objectOf(at(value, 'metadata', 'labels')))) {
    if (key.startsWith('node-role.kubernetes.io/')) found.add(key.slice('node-role.kubernetes.io/'.length));
    else if (key === 'kubernetes.io/role' && role !== '') found.add(textOf(role));
  }
  found.delete('');
  return found.size === 0 ? '<none>' : [...found].sort().join(',');
}

function address(value: JsonObject, type: string): string {
  const found = listOf(at(value, 'status', 'addresses')).find((one) => isObject(one) && one['type'] === type);
  return textOf(at(found, 'address')) || '<none>';
}

function info(value: JsonObject, field: string): string {
  return textOf(at(value, 'status', 'nodeInfo', field)) || '<unknown>';
}

export const nodes: Resource = resource({
  version: 'v1',
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
  shortNames: ['no'],
  schema: nodeSchema,
  subresources: ['status'],
  prepare,
  validate,
  fields: (value) => ({ 'spec.unschedulable': String(at(value, 'spec', 'unschedulable') === true) }),
  columns: [
    column('Name', (value) => at(value, 'metadata', 'name') ?? ''),
    column('Status', state),
    column('Roles', roles),
    column('Age', (value, now) => since(at(value, 'metadata', 'creationTimestamp'), now)),
    column('Version', (value) => at(value, 'status', 'nodeInfo', 'kubeletVersion') ?? ''),
    wide('Internal-IP', (value) => address(value, 'InternalIP')),
    wide('External-IP', (value) => address(value, 'ExternalIP')),
    wide('OS-Image', (value) => info(value, 'osImage')),
    wide('Kernel-Version', (value) => info(value, 'kernelVersion')),
    wide('Container-Runtime', (value) => info(value, 'containerRuntimeVersion')),
  ],
});
