import { cloudSuite } from '../suite/cloud-suite.ts';
import { hetznerCapabilities, hetznerWorld } from './hetzner-world.ts';

cloudSuite({
  name: 'hetzner, on a fake one',
  capabilities: hetznerCapabilities,
  open: async () => hetznerWorld(),
});
