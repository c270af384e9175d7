import { cloudSuite } from '../suite/cloud-suite.ts';
import { fakeOpenStackWorld } from './fake-world.ts';
import { noOctavia } from './no-octavia.ts';
import { fakeOctaviaWorld, octaviaCapabilities, octaviaConfig } from './octavia-world.ts';
import { openStackCapabilities } from './openstack-world.ts';

cloudSuite({
  name: 'openstack, on a fake one',
  capabilities: { ...openStackCapabilities, loadBalancers: octaviaCapabilities, enumerateFaults: true },
  open: async () => fakeOpenStackWorld({ config: octaviaConfig, octavia: fakeOctaviaWorld }),
});
cloudSuite({
  name: 'openstack, on a fake one whose routers take whole lists alone',
  capabilities: { ...openStackCapabilities, loadBalancers: undefined },
  open: async () => fakeOpenStackWorld({ atomic: false, octavia: () => noOctavia }),
});
