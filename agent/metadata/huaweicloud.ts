import { huaweicloud as providerId } from '../../common/provider-id/huaweicloud.ts';
import { openOpenstack } from './openstack.ts';
import type { SourceKind } from './source.ts';

/** Huawei Cloud: OpenStack's documents, a `region_id` in them and a providerID of its own (support.huaweicloud.com, ECS, "Obtaining Metadata"). */
export const huaweicloud: SourceKind = {
  cloud: 'huaweicloud',
  detect: (dmi) => dmi.chassisAssetTag === 'HUAWEICLOUD',
  open: (options) => openOpenstack('huaweicloud', options, (id) => providerId.print({ instanceId: id })),
};
