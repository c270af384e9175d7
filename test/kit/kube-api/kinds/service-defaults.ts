import { invalid } from '../api-error.ts';
import { invalidValue } from '../field-error.ts';
import { at, deepEqual, type Json, type JsonObject, listOf, numberOf, objectOf, textOf } from '../json.ts';
import type { Write } from '../store/resource.ts';
import {
  firstNodePort,
  freeAddress,
  freePort,
  inServiceRange,
  lastNodePort,
  type ServiceAllocations,
} from './service-allocation.ts';

type Spec = { [key: string]: Json };

const isBalancer = (spec: JsonObject) => spec['type'] === 'LoadBalancer';
const needsNodePort = (spec: JsonObject) => spec['type'] === 'NodePort' || isBalancer(spec);
const needsClusterIp = (spec: JsonObject) => spec['type'] !== 'ExternalName';
const needsHealthPort = (spec: JsonObject) => isBalancer(spec) && spec['externalTrafficPolicy'] === 'Local';

/**
 * The server's part of a Service: defaults, what an update carries over from the stored object, what goes with a change
 * of type, and the allocation of addresses and ports. The stored object of a status write is left alone.
 */
export function prepareService(value: JsonObject, write: Write, held: ServiceAllocations): JsonObject {
  if (write.subresource === 'status') return { ...value, status: defaultModes(objectOf(value['status'])) };
  const old = write.old && objectOf(write.old['spec']);
  const spec: Spec = { ...objectOf(value['spec']) };
  if (old) {
    spec['type'] ??= 'ClusterIP';
    carryOver(spec, old);
    dropByType(spec, old);
  }
  setDefaults(spec);
  const owner = `${write.namespace}/${textOf(at(value, 'metadata', 'name'))}`;
  allocate(spec, owner, textOf(at(value, 'metadata', 'name')), write, held);
  const status: JsonObject = write.old ? { ...objectOf(value['status']) } : { loadBalancer: {} };
  if (!isBalancer(spec)) status['loadBalancer'] = {};
  return { ...value, spec, status };
}

/** An ingress with an address is a VIP unless it says otherwise. */
function defaultModes(status: JsonObject): JsonObject {
  const ingress = at(status, 'loadBalancer', 'ingress');
  if (!Array.isArray(ingress)) return status;
  const moded = ingress.map((one) =>
    textOf(at(one, 'ip')) !== '' && at(one, 'ipMode') === undefined ? { ...objectOf(one), ipMode: 'VIP' } : one,
  );
  return { ...status, loadBalancer: { ...objectOf(status['loadBalancer']), ingress: moded } };
}

function carryOver(spec: Spec, old: JsonObject): void {
  if (needsClusterIp(old) && needsClusterIp(spec)) {
    const address = textOf(spec['clusterIP']);
    const listed = listOf(spec['clusterIPs']);
    if (address === '') {
      if (listed.length > 0) spec['clusterIP'] = listed[0] ?? '';
      else if (old['clusterIP'] !== undefined) spec['clusterIP'] = old['clusterIP'];
    }
    if (listed.length === 0 && spec['clusterIP'] === old['clusterIP'] && old['clusterIPs'] !== undefined) {
      spec['clusterIPs'] = old['clusterIPs'];
    } else if (deepEqual(listed, old['clusterIPs']) && spec['clusterIP'] !== old['clusterIP']) {
      spec['clusterIPs'] = [spec['clusterIP'] ?? ''];
    }
    for (const field of ['ipFamilies', 'ipFamilyPolicy']) {
      const before = old[field];
      if (spec[field] === undefined && before !== undefined) spec[field] = before;
    }
  }
  if (needsNodePort(old) && needsNodePort(spec)) carryPorts(spec, old);
  if (needsHealthPort(old) && needsHealthPort(spec) && spec['healthCheckNodePort'] === undefined) {
    const port = old['healthCheckNodePort'];
    if (port !== undefined) spec['healthCheckNodePort'] = port;
  }
}

function nodePorts(spec: JsonObject): number[] {
  return listOf(spec['ports']).map((port) => numberOf(at(port, 'nodePort')));
}

function carryPorts(spec: Spec, old: JsonObject): void {
  const given = new Set(nodePorts(spec));
  const used = new Set(nodePorts(old).filter((port) => port !== 0 && given.has(port)));
  const byName = new Map(
    listOf(old['ports']).map((port) => [textOf(at(port, 'name')), numberOf(at(port, 'nodePort'))]),
  );
  spec['ports'] = listOf(spec['ports']).map((port) => {
    const before = byName.get(textOf(at(port, 'name'))) ?? 0;
    if (numberOf(at(port, 'nodePort')) !== 0 || before === 0 || used.has(before)) return port;
    used.add(before);
    return { ...objectOf(port), nodePort: before };
  });
}

/** A field that only makes sense for the old type goes with it, unless the client changed it in the same request. */
function dropByType(spec: Spec, old: JsonObject): void {
  const drop = (field: string) => {
    if (deepEqual(spec[field], old[field])) delete spec[field];
  };
  if (needsClusterIp(old) && !needsClusterIp(spec)) {
    for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy'])
      drop(field);
  }
  if (needsNodePort(old) && !needsNodePort(spec)) {
    if (deepEqual(nodePorts(spec), nodePorts(old))) {
      spec['ports'] = listOf(spec['ports']).map((port) => {
        const { nodePort: _, ...rest } = objectOf(port);
        return rest;
      });
    }
    drop('externalTrafficPolicy');
  }
  if (needsHealthPort(old) && !needsHealthPort(spec)) drop('healthCheckNodePort');
  if (isBalancer(old) && !isBalancer(spec)) {
    drop('allocateLoadBalancerNodePorts');
    drop('loadBalancerClass');
  }
}

function setDefaults(spec: Spec): void {
  spec['type'] ??= 'ClusterIP';
  spec['sessionAffinity'] ??= 'None';
  if (spec['sessionAffinity'] === 'ClientIP')
    spec['sessionAffinityConfig'] ??= { clientIP: { timeoutSeconds: 10_800 } };
  if (needsClusterIp(spec)) spec['internalTrafficPolicy'] ??= 'Cluster';
  if (needsNodePort(spec)) spec['externalTrafficPolicy'] ??= 'Cluster';
  if (isBalancer(spec)) spec['allocateLoadBalancerNodePorts'] ??= true;
  if (spec['ports'] === undefined) return;
  spec['ports'] = listOf(spec['ports']).map((port) => {
    const { name, protocol, port: number, targetPort, nodePort, ...rest } = objectOf(port);
    const target = targetPort === undefined || targetPort === 0 || targetPort === '' ? number : targetPort;
    return {
      ...(name === undefined ? {} : { name }),
      protocol: textOf(protocol) || 'TCP',
      ...rest,
      port: number ?? 0,
      targetPort: target ?? 0,
      ...(nodePort === undefined ? {} : { nodePort }),
    };
  });
}

const service = { group: '', kind: 'Service' };

function allocate(spec: Spec, owner: string, name: string, write: Write, held: ServiceAllocations): void {
  if (needsClusterIp(spec)) allocateAddress(spec, owner, name, write, held);
  if (!needsNodePort(spec)) return;
  const taken = new Set<number>();
  const claim = (port: number, field: string) => {
    const holder = held.ports.get(port);
    if (port < firstNodePort || port > lastNodePort) {
      const detail = 'provided port is not in the valid range. The range of valid ports is 30000-32767';
      throw invalid(service, name, [invalidValue(field, port, detail)]);
    }
    if (holder !== undefined && holder !== owner) {
      throw invalid(service, name, [invalidValue(field, port, 'provided port is already allocated')]);
    }
    taken.add(port);
  };
  const ports = listOf(spec['ports']);
  ports.forEach((port, index) => {
    const given = numberOf(at(port, 'nodePort'));
    if (given !== 0) claim(given, `spec.ports[${index}].nodePort`);
  });
  const next = () => {
    const port = freePort(held.ports, taken, write.world.random) ?? 0;
    taken.add(port);
    return port;
  };
  if (!isBalancer(spec) || spec['allocateLoadBalancerNodePorts'] !== false) {
    spec['ports'] = ports.map((port) =>
      numberOf(at(port, 'nodePort')) === 0 ? { ...objectOf(port), nodePort: next() } : port,
    );
  }
  if (!needsHealthPort(spec)) return;
  const health = numberOf(spec['healthCheckNodePort']);
  if (health === 0) spec['healthCheckNodePort'] = next();
  else claim(health, 'spec.healthCheckNodePort');
}

function allocateAddress(spec: Spec, owner: string, name: string, write: Write, held: ServiceAllocations): void {
  const listed = textOf(listOf(spec['clusterIPs'])[0]);
  let address = textOf(spec['clusterIP']) || listed;
  if (spec['ipFamilyPolicy'] === 'RequireDualStack' && address !== 'None') {
    const detail = 'Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services';
    throw invalid(service, name, [{ reason: 'FieldValueInvalid', field: 'spec.ipFamilyPolicy', message: detail }]);
  }
  // Nothing of a headless Service without selector depends on what families the cluster has.
  const both = address === 'None' && spec['selector'] === undefined;
  spec['ipFamilies'] ??= both ? ['IPv4', 'IPv6'] : ['IPv4'];
  spec['ipFamilyPolicy'] ??= both ? 'RequireDualStack' : 'SingleStack';
  if (address === '') address = freeAddress(held.addresses, write.world.random);
  else if (address !== 'None') {
    const holder = held.addresses.get(address);
    const fault = !inServiceRange(address)
      ? 'the provided network does not match the current range'
      : holder !== undefined && holder !== owner
        ? 'provided IP is already allocated'
        : undefined;
    if (fault !== undefined && !(write.old && at(write.old, 'spec', 'clusterIP') !== address)) {
      const detail = `failed to allocate IP ${address}: ${fault}`;
      throw invalid(service, name, [invalidValue('spec.clusterIPs', [address], detail)]);
    }
  }
  spec['clusterIP'] = address;
  if (listOf(spec['clusterIPs']).length === 0) spec['clusterIPs'] = [address];
}
