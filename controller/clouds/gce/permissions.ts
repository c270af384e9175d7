import type { Capability } from '../cloud.ts';

/** What the credential needs, by what it is for. `deploy/iam/gce-role.yaml` has the same. */
export const permissions: readonly { readonly neededFor: Capability; readonly names: readonly string[] }[] = [
  { neededFor: 'nodes', names: ['compute.projects.get', 'compute.instances.get', 'compute.instances.list'] },
  {
    neededFor: 'routes',
    names: [
      'compute.routes.create',
      'compute.routes.delete',
      'compute.routes.list',
      // Of a route: its network, its next hop and its operation.
      'compute.networks.updatePolicy',
      'compute.instances.use',
      'compute.globalOperations.get',
    ],
  },
  { neededFor: 'volumes', names: of('disks', 'get', 'list') },
  {
    neededFor: 'load balancers',
    names: [
      ...of('forwardingRules', 'create', 'delete', 'get', 'list', 'setLabels', 'update'),
      ...of('regionBackendServices', 'create', 'delete', 'get', 'list', 'update', 'use'),
      ...of('targetPools', 'addHealthCheck', 'addInstance', 'create', 'delete', 'get', 'list'),
      ...of('targetPools', 'removeHealthCheck', 'removeInstance', 'use'),
      ...of('addresses', 'create', 'createInternal', 'delete', 'deleteInternal', 'get', 'list', 'use', 'useInternal'),
      ...of('healthChecks', 'create', 'delete', 'get', 'list', 'update', 'useReadOnly'),
      ...of('regionHealthChecks', 'create', 'delete', 'get', 'list', 'update', 'useReadOnly'),
      ...of('httpHealthChecks', 'create', 'delete', 'get', 'list', 'update', 'useReadOnly'),
      ...of('firewalls', 'create', 'delete', 'get', 'list', 'update'),
      ...of('instanceGroups', 'create', 'delete', 'get', 'list', 'update', 'use'),
      // Of a firewall rule its network, and of an internal load balancer its network and subnet.
      'compute.networks.updatePolicy',
      'compute.networks.use',
      'compute.subnetworks.list',
      'compute.subnetworks.use',
      'compute.instances.use',
      'compute.globalOperations.get',
      'compute.regionOperations.get',
      'compute.zoneOperations.get',
    ],
  },
];

function of(collection: string, ...verbs: readonly string[]): readonly string[] {
  return verbs.map((verb) => `compute.${collection}.${verb}`);
}
