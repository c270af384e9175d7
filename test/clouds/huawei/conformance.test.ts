import { cloudSuite } from '../suite/cloud-suite.ts';
import { huaweiCapabilities, huaweiWorld } from './huawei-world.ts';

cloudSuite({
  name: 'huaweicloud, on a fake one',
  capabilities: huaweiCapabilities,
  open: async () => huaweiWorld(),
});

cloudSuite({
  name: 'huaweicloud, on a fake one with a security group of Nodes',
  capabilities: {
    ...huaweiCapabilities,
    // Each member is put into it once.
    loadBalancers: {
      ...huaweiCapabilities.loadBalancers!,
      calls: { first: 13, further: 10, member: 3, removal: 2 },
      // The servers of this world have been in the group since its first test.
      createdElsewhere: { 'security group member': 'controller/clouds/huaweicloud/elb/group-members.test.ts' },
    },
    routes: undefined,
  },
  open: async () => huaweiWorld({ env: { SECURITY_GROUP_ID: '7d2c1b0a-3e4f-4a5b-8c6d-9e0f1a2b3c4d' } }),
});
