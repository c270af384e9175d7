import { cloudSuite } from '../suite/cloud-suite.ts';
import { cloudStackCapabilities, cloudStackWorld, vpcCapabilities } from './cloudstack-world.ts';

cloudSuite({
  name: 'cloudstack, on a fake one',
  capabilities: cloudStackCapabilities,
  open: async () => cloudStackWorld(),
});

cloudSuite({
  name: 'cloudstack in a VPC, on a fake one',
  capabilities: vpcCapabilities,
  open: async () => cloudStackWorld({ acl: 'nodes' }),
});
