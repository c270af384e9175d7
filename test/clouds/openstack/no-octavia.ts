import type { OctaviaWorld } from './openstack-world.ts';

/** Where only instances and routes are looked at. */
export const noOctavia: OctaviaWorld = {
  inventory: async () => [],
  createForeignLoadBalancer: () => Promise.reject(new Error('no load balancers here')),
  describeLoadBalancer: async () => undefined,
  deleteLoadBalancer: async () => {},
  close: async () => {},
};
