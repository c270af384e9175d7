import { cloudSuite } from '../suite/cloud-suite.ts';
import { digitalOceanCapabilities, digitalOceanWorld } from './digitalocean-world.ts';

cloudSuite({
  name: 'digitalocean, on a fake one',
  capabilities: digitalOceanCapabilities,
  open: async () => digitalOceanWorld(),
});
