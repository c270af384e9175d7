import { cloudSuite } from '../suite/cloud-suite.ts';
import { azureCapabilities, azureWorld } from './azure-world.ts';

cloudSuite({
  name: 'azure, on a fake one',
  capabilities: azureCapabilities,
  open: async () => azureWorld(),
});
