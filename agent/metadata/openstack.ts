import { CloudError } from '../../common/cloud-error.ts';
import type { Http } from '../../common/process/http.ts';
import { openstack as providerId } from '../../common/provider-id/openstack.ts';
import { createMetadataHttp } from './client.ts';
import { openstackDrive, openstackService } from './openstack-documents.ts';
import { openstackInstance } from './openstack-instance.ts';
import type { Dmi, MetadataSource, SourceKind, SourceOptions } from './source.ts';

const products: ReadonlySet<string | undefined> = new Set(['OpenStack Nova', 'OpenStack Compute']);
/** Products of other clouds with OpenStack's metadata format (cloud-init, tools/ds-identify). */
const tags: ReadonlySet<string | undefined> = new Set([
  'OpenStack Nova',
  'OpenStack Compute',
  'OpenTelekomCloud',
  'SAP CCloud VM',
  'Samsung Cloud Platform',
]);

/** OpenStack (docs.openstack.org/nova/latest/user/metadata.html), Open Telekom Cloud and others built on it. */
export const openstack: SourceKind = {
  cloud: 'openstack',
  detect: isOpenstack,
  open(options) {
    const { regionalProviderId = false } = options;
    return openOpenstack('openstack', options, (id, region) => {
      if (!regionalProviderId) return providerId.print({ instanceId: id });
      if (region === undefined) {
        const message = 'region: missing, expected --region, because the regional providerID was asked for';
        throw new CloudError({ cloud: 'openstack', operation: 'meta_data.json', kind: 'Invalid', message });
      }
      return providerId.print({ instanceId: id, region });
    });
  },
};

/** Huawei Cloud has the same product names, with its own asset tag. */
export function isOpenstack(dmi: Dmi): boolean {
  if (dmi.chassisAssetTag === 'HUAWEICLOUD') return false;
  return products.has(dmi.productName) || tags.has(dmi.chassisAssetTag);
}

/**
 * Opens a source for a cloud with OpenStack's documents: from the config drive if one is given, else from the service.
 */
export function openOpenstack(
  cloud: string,
  { clock, configDrive, metadataUrl, region, interfaces }: SourceOptions,
  print: (id: string, region: string | undefined) => string,
  http: Http = createMetadataHttp(clock),
): MetadataSource {
  const documents =
    configDrive === undefined
      ? openstackService({ cloud, clock, http, metadataUrl, interfaces })
      : openstackDrive(cloud, configDrive);
  return {
    cloud,
    async read(signal) {
      return openstackInstance(await documents(signal), { cloud, region, print, interfaces: interfaces?.() ?? [] });
    },
  };
}
