import { randomUUID } from 'node:crypto';
import type {
  DesiredLoadBalancer,
  DesiredMember,
  DesiredPort,
  Owner,
} from '../../../controller/clouds/load-balancers.ts';
import type { CloudVm, CloudWorld } from './world.ts';

export function memberOf(vm: CloudVm, draining = false): DesiredMember {
  return { node: vm.name, providerID: vm.providerID, addresses: vm.addresses, zone: vm.zone, draining };
}

export function port(number: number, nodePort: number, fields: Partial<DesiredPort> = {}): DesiredPort {
  return { name: `p${number}`, protocol: 'TCP', port: number, nodePort, appProtocol: undefined, ...fields };
}

export function newOwner(cluster: string): Owner {
  return { cluster, service: randomUUID() };
}

/** What a plain Service with one port asks for. */
export function desiredFor(
  owner: Owner,
  vms: readonly CloudVm[],
  fields: Partial<DesiredLoadBalancer> = {},
): DesiredLoadBalancer {
  return {
    owner,
    service: `default/web-${owner.service.slice(0, 8)}`,
    clusterName: 'kubernetes',
    name: `a${owner.service.replaceAll('-', '')}`.slice(0, 32),
    ports: [port(80, 30080)],
    families: ['IPv4'],
    sourceRanges: [],
    sessionAffinity: undefined,
    trafficPolicy: 'Cluster',
    healthCheck: { port: 10256, path: '/healthz' },
    address: undefined,
    annotations: {},
    members: vms.map((vm) => memberOf(vm)),
    attach: undefined,
    mayChangeAddress: false,
    clusterWideConsent: false,
    mayKeepAddress: true,
    retain: false,
    ...fields,
  };
}

/** The same Service with two ports, and with source ranges where the cloud keeps them. */
export function rich(desired: DesiredLoadBalancer, { keepsSourceRanges = true }: CloudWorld): DesiredLoadBalancer {
  const ports = [port(80, 30080), port(443, 30443)];
  return { ...desired, ports, ...(keepsSourceRanges && { sourceRanges: ['192.0.2.0/24'] }) };
}

/** Everything differs from a rich one. */
export function other(desired: DesiredLoadBalancer): DesiredLoadBalancer {
  return {
    ...desired,
    ports: [port(443, 30999), port(8080, 30081)],
    members: desired.members.slice(1),
    healthCheck: { port: 32100, path: '/healthz' },
  };
}

export type Edit = (desired: DesiredLoadBalancer) => DesiredLoadBalancer;

/** What Services ask for in facts that concern every kind of resource: two ports, and the examples of the cloud. */
export function editsOf(world: CloudWorld): readonly Edit[] {
  return [{}, ...(world.examples ?? [])].map((fields) => (desired) => ({ ...rich(desired, world), ...fields }));
}
