import { fakeOpenStackWorld } from '../openstack/fake-world.ts';
import { noOctavia } from '../openstack/no-octavia.ts';
import { fakeOctaviaWorld, octaviaCapabilities, octaviaConfig } from '../openstack/octavia-world.ts';
import { openStackCapabilities } from '../openstack/openstack-world.ts';
import { cloudSuite } from './cloud-suite.ts';

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
