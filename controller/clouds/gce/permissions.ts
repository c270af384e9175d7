import type { Capability } from '../cloud.ts';

/** What the credential needs, by what it is for. `deploy/examples/gce/role.yaml` has the same. */
export const permissions: readonly { readonly neededFor: Capability; readonly names: readonly string[] }[] = [
  { neededFor: 'nodes', names: ['compute.projects.get', 'compute.instances.get', 'compute.instances.list'] },
  {
    neededFor: 'routes',
    names: [
      ...['compute.routes.create', 'compute.routes.delete', 'compute.routes.get', 'compute.routes.list'],
      // Of a route: its network, its next hop and its operation.
      ...['compute.networks.updatePolicy', 'compute.instances.use', 'compute.globalOperations.get'],
    ],
  },
];
