import { groupVersion, type Resource } from '../store/resource.ts';
import { configMaps, secrets, serviceAccounts } from './config.ts';
import { coreEvents, events } from './event.ts';
import { leases } from './lease.ts';
import { namespaces } from './namespace.ts';
import { nodes } from './node.ts';
import { pods } from './pod.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from './rbac.ts';
import { services } from './service.ts';
import type { ServiceAllocations } from './service-allocation.ts';
import { persistentVolumeClaims, persistentVolumes } from './volume.ts';
import { daemonSets, deployments, endpointSlices, endpoints, podDisruptionBudgets } from './workload.ts';

/** The resources of one server. */
export interface Registry {
  readonly all: readonly Resource[];
  /** By `groupVersion` and plural name. */
  find(groupVersion: string, plural: string): Resource | undefined;
  /** Group versions in the order discovery shows them, core first. */
  readonly groupVersions: readonly string[];
}

export function createRegistry(allocations: ServiceAllocations): Registry {
  const all = [
    configMaps,
    endpoints,
    coreEvents,
    namespaces,
    nodes,
    persistentVolumeClaims,
    persistentVolumes,
    pods,
    secrets,
    serviceAccounts,
    services(allocations),
    daemonSets,
    deployments,
    events,
    podDisruptionBudgets,
    clusterRoleBindings,
    clusterRoles,
    roleBindings,
    roles,
    leases,
    endpointSlices,
  ];
  const byName = new Map(all.map((one) => [`${groupVersion(one)}/${one.plural}`, one]));
  const versions = new Set(all.map(groupVersion));
  return {
    all,
    find: (version, plural) => byName.get(`${version}/${plural}`),
    groupVersions: [...versions, 'authentication.k8s.io/v1', 'authorization.k8s.io/v1'],
  };
}
