import { cloudSuite } from '../suite/cloud-suite.ts';
import { fakeGceWorld, gceCapabilities } from './gce-world.ts';

cloudSuite({
  name: 'gce, on a fake one',
  capabilities: gceCapabilities,
  open: async () => fakeGceWorld(),
});
