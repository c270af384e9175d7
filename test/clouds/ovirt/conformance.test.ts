import { cloudSuite } from '../suite/cloud-suite.ts';
import { ovirtCapabilities, ovirtWorld } from './ovirt-world.ts';

cloudSuite({
  name: 'ovirt, on a fake engine',
  capabilities: ovirtCapabilities,
  open: async () => ovirtWorld(),
});
