import { alibabaNodes, openAlibabaLife } from '../alibaba/life-cloud.ts';
import { azureNodes, openAzureLife } from '../azure/life-cloud.ts';
import { cloudStackNodes, openCloudStackLife } from '../cloudstack/life-cloud.ts';
import { gceNodes, openGceLife } from '../gce/life-cloud.ts';
import { huaweiNodes, openHuaweiLife } from '../huawei/life-cloud.ts';
import { openOvirtLife, ovirtNodes } from '../ovirt/life-cloud.ts';

/** The clouds whose fakes live through the life of a cluster on any API server, with the names of their Nodes. */
export const lifeClouds = {
  alibaba: { open: openAlibabaLife, nodes: alibabaNodes },
  azure: { open: openAzureLife, nodes: azureNodes },
  cloudstack: { open: openCloudStackLife, nodes: cloudStackNodes },
  gce: { open: openGceLife, nodes: gceNodes },
  huaweicloud: { open: openHuaweiLife, nodes: huaweiNodes },
  ovirt: { open: openOvirtLife, nodes: ovirtNodes },
} as const;
