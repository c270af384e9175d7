import { cloudSuite } from '../suite/cloud-suite.ts';
import { type Mode, modes } from './balancing-behind.ts';
import { fakeGceWorld, gceCapabilities } from './gce-world.ts';

for (const mode of Object.keys(modes) as Mode[])
  cloudSuite({
    name: `gce, ${mode}, on a fake one`,
    capabilities: gceCapabilities(mode),
    open: async () => fakeGceWorld(mode),
  });
