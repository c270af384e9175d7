import { cloudSuite } from '../suite/cloud-suite.ts';
import { noOctavia } from './no-octavia.ts';
import { openStackCapabilities } from './openstack-world.ts';
import { realOpenStackWorld } from './real-world.ts';

cloudSuite({
  name: `openstack, ${process.env['OS_CLOUD']}`,
  capabilities: openStackCapabilities,
  open: () => realOpenStackWorld({ octavia: () => noOctavia }),
});
