import { cloudSuite } from '../suite/cloud-suite.ts';
import { fakeOpenStackWorld } from './fake-world.ts';
import { noOctavia } from './no-octavia.ts';
import { octaviaCapabilities, octaviaConfig, octaviaWithExamples, withGroups } from './octavia-world.ts';
import { openStackCapabilities } from './openstack-world.ts';

const { createdElsewhere: _, ...loadBalancers } = octaviaCapabilities;

cloudSuite({
  name: 'openstack, on a fake one',
  capabilities: {
    ...openStackCapabilities,
    loadBalancers: { ...loadBalancers, createdElsewhere: withGroups },
    enumerateFaults: true,
  },
  open: async () => fakeOpenStackWorld({ config: octaviaConfig, octavia: octaviaWithExamples }),
});
cloudSuite({
  name: 'openstack, on a fake one with security groups of Services',
  capabilities: {
    ...openStackCapabilities,
    routes: undefined,
    loadBalancers: { ...loadBalancers, calls: { first: 6, further: 6, member: 3, removal: 6 } },
    enumerateFaults: true,
    faultStride: 20,
  },
  open: async () =>
    fakeOpenStackWorld({ config: `${octaviaConfig}manage-security-groups = true\n`, octavia: octaviaWithExamples }),
});
cloudSuite({
  name: 'openstack, on a fake one whose routers take whole lists alone',
  capabilities: { ...openStackCapabilities, loadBalancers: undefined },
  open: async () => fakeOpenStackWorld({ atomic: false, octavia: () => noOctavia }),
});
