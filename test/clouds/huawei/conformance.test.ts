import { cloudSuite } from '../suite/cloud-suite.ts';
import { huaweiCapabilities, huaweiWorld } from './huawei-world.ts';

cloudSuite({
  name: 'huaweicloud, on a fake one',
  capabilities: huaweiCapabilities,
  open: async () => huaweiWorld(),
});
