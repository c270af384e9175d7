import { isIP } from 'node:net';
import type { FieldError } from '../api-error.ts';
import { duplicate, forbiddenField, invalidValue, notSupported, required } from '../field-error.ts';
import { at, deepEqual, type Json, type JsonObject, listOf, numberOf, objectOf, textOf } from '../json.ts';
import { serviceSchema } from '../schema/service-schema.ts';
import { type Resource, resource, type Write } from '../store/resource.ts';
import type { Stored } from '../store/store.ts';
import { column, since, wide } from '../view/column.ts';
import { labelValueFault, nameFault } from './object-meta.ts';
import type { ServiceAllocations } from './service-allocation.ts';
import { prepareService } from './service-defaults.ts';

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

function validate(value: JsonObject, write: Write): FieldError[] {
  const spec = objectOf(value['spec']);
  const old = write.old && objectOf(write.old['spec']);
  const errors: FieldError[] = [];
  if (spec !== old) errors.push(...validateSpec(spec, old));
  errors.push(...validateIngress(value, spec));
  return errors;
}

function validateSpec(spec: JsonObject, old: JsonObject | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const type = textOf(spec['type']);
  if (!types.includes(type)) errors.push(notSupported('spec.type', type, types));
  const ports = listOf(spec['ports']);
  const headless = spec['clusterIP'] === 'None';
  if (ports.length === 0 && !headless && type !== 'ExternalName') errors.push(required('spec.ports'));
  if (type === 'ExternalName' && textOf(spec['externalName']) === '') errors.push(required('spec.externalName'));
  if (type === 'LoadBalancer' && headless) {
    errors.push(invalidValue('spec.clusterIPs[0]', 'None', 'may not be set to `None` for LoadBalancer services'));
  }
  ports.forEach((port, index) => {
    errors.push(...validatePort(port, index, ports));
  });
  if (old && textOf(old['clusterIP']) !== '' && type !== 'ExternalName' && old['type'] !== 'ExternalName') {
    if (spec['clusterIP'] !== old['clusterIP']) {
      errors.push(invalidValue('spec.clusterIPs[0]', spec['clusterIPs'], 'may not change once set'));
    }
  }
  for (const [key, selected] of Object.entries(objectOf(spec['selector']))) {
    const fault = labelValueFault(textOf(selected));
    if (fault !== undefined) errors.push(invalidValue(`spec.selector.${key}`, selected, fault));
  }
  const lbClass = spec['loadBalancerClass'];
  if (type === 'LoadBalancer') {
    if (old?.['type'] === 'LoadBalancer' && !deepEqual(lbClass, old['loadBalancerClass'])) {
      errors.push(invalidValue('spec.loadBalancerClass', lbClass, 'may not change once set'));
    }
  } else if (lbClass !== undefined) {
    errors.push(forbiddenField('spec.loadBalancerClass', "may only be used when `type` is 'LoadBalancer'"));
  }
  const policy = spec['externalTrafficPolicy'];
  if (policy !== undefined && policy !== 'Cluster' && policy !== 'Local') {
    errors.push(notSupported('spec.externalTrafficPolicy', policy, ['Cluster', 'Local']));
  }
  return errors;
}

function validatePort(port: Json, index: number, ports: Json[]): FieldError[] {
  const errors: FieldError[] = [];
  const field = `spec.ports[${index}]`;
  const name = textOf(at(port, 'name'));
  if (name === '' && ports.length > 1) errors.push(required(`${field}.name`));
  const fault = name === '' ? undefined : nameFault(name, 'label');
  if (fault !== undefined) errors.push(invalidValue(`${field}.name`, name, fault));
  if (name !== '' && ports.findIndex((other) => at(other, 'name') === name) < index) {
    errors.push(duplicate(`${field}.name`, name));
  }
  const number = numberOf(at(port, 'port'));
  if (number < 1 || number > 65_535) {
    errors.push(invalidValue(`${field}.port`, number, 'must be between 1 and 65535, inclusive'));
  }
  const protocol = textOf(at(port, 'protocol'));
  if (!['TCP', 'UDP', 'SCTP'].includes(protocol)) {
    errors.push(notSupported(`${field}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']));
  }
  const target = at(port, 'targetPort');
  if (typeof target === 'number' && (target < 1 || target > 65_535)) {
    errors.push(invalidValue(`${field}.targetPort`, target, 'must be between 1 and 65535, inclusive'));
  } else if (typeof target === 'string' && !/^[-A-Za-z0-9]{1,15}$/.test(target)) {
    const detail = 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)';
    errors.push(invalidValue(`${field}.targetPort`, target, detail));
  }
  const twin = ports.findIndex((other) => at(other, 'port') === number && at(other, 'protocol') === protocol);
  if (twin < index) errors.push(duplicate(field, port));
  return errors;
}

function validateIngress(value: JsonObject, spec: JsonObject): FieldError[] {
  const ingress = listOf(at(value, 'status', 'loadBalancer', 'ingress'));
  if (ingress.length > 0 && spec['type'] !== 'LoadBalancer') {
    return [forbiddenField('status.loadBalancer.ingress', "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  const errors: FieldError[] = [];
  ingress.forEach((one, index) => {
    const field = `status.loadBalancer.ingress[${index}]`;
    const ip = textOf(at(one, 'ip'));
    if (ip !== '' && isIP(ip) === 0) {
      errors.push(invalidValue(`${field}.ip`, ip, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'));
    }
    const mode = at(one, 'ipMode');
    if (mode === undefined) return;
    if (ip === '') errors.push(forbiddenField(`${field}.ipMode`, 'may not be specified when `ip` is not set'));
    else if (mode !== 'VIP' && mode !== 'Proxy') errors.push(notSupported(`${field}.ipMode`, mode, ['Proxy', 'VIP']));
  });
  return errors;
}

function held(stored: Stored | undefined): { address: string; ports: number[] } {
  const spec = at(stored?.value, 'spec');
  const ports = listOf(at(spec, 'ports')).map((port) => numberOf(at(port, 'nodePort')));
  return { address: textOf(at(spec, 'clusterIP')), ports: [...ports, numberOf(at(spec, 'healthCheckNodePort'))] };
}

function external(value: JsonObject): string {
  const spec = objectOf(value['spec']);
  const fixed = listOf(spec['externalIPs']).map(textOf);
  const given = listOf(at(value, 'status', 'loadBalancer', 'ingress'))
    .map((one) => textOf(at(one, 'ip')) || textOf(at(one, 'hostname')))
    .filter((one) => one !== '');
  switch (spec['type']) {
    case 'LoadBalancer':
      return [...given, ...fixed].join(',') || '<pending>';
    case 'ExternalName':
      return textOf(spec['externalName']);
    default:
      return fixed.join(',') || '<none>';
  }
}

function ports(value: JsonObject): string {
  const shown = listOf(at(value, 'spec', 'ports')).map((port) => {
    const nodePort = numberOf(at(port, 'nodePort'));
    const middle = nodePort === 0 ? '' : `:${nodePort}`;
    return `${numberOf(at(port, 'port'))}${middle}/${textOf(at(port, 'protocol'))}`;
  });
  return shown.join(',') || '<none>';
}

function selector(value: JsonObject): string {
  const pairs = Object.entries(objectOf(at(value, 'spec', 'selector')));
  return pairs.map(([key, one]) => `${key}=${textOf(one)}`).join(',') || '<none>';
}

/** Services give out addresses and ports, which the given book remembers. */
export function services(allocations: ServiceAllocations): Resource {
  return resource({
    version: 'v1',
    plural: 'services',
    kind: 'Service',
    namespaced: true,
    shortNames: ['svc'],
    categories: ['all'],
    schema: serviceSchema,
    subresources: ['status'],
    createOnUpdate: true,
    returnsDeleted: true,
    bookkeeping: 2,
    nameRule: 'label',
    prepare: (value, write) => prepareService(value, write, allocations),
    validate,
    settled: (stored, old) => {
      const before = held(old);
      const after = held(stored);
      const owner = stored?.key ?? '';
      allocations.addresses.delete(before.address);
      for (const port of before.ports) allocations.ports.delete(port);
      if (after.address !== '' && after.address !== 'None') allocations.addresses.set(after.address, owner);
      for (const port of after.ports) if (port !== 0) allocations.ports.set(port, owner);
    },
    fields: (value) => ({
      'spec.type': textOf(at(value, 'spec', 'type')),
      'spec.clusterIP': textOf(at(value, 'spec', 'clusterIP')),
    }),
    columns: [
      column('Name', (value) => at(value, 'metadata', 'name') ?? ''),
      column('Type', (value) => at(value, 'spec', 'type') ?? ''),
      column('Cluster-IP', (value) => textOf(at(value, 'spec', 'clusterIP')) || '<none>'),
      column('External-IP', external),
      column('Port(s)', ports),
      column('Age', (value, now) => since(at(value, 'metadata', 'creationTimestamp'), now)),
      wide('Selector', selector),
    ],
  });
}
