import { alibaba } from './alibaba.ts';
import { aws } from './aws.ts';
import { azure } from './azure.ts';
import { cloudstack } from './cloudstack.ts';
import type { ProviderIdCodec } from './codec.ts';
import { digitalocean } from './digitalocean.ts';
import { gce } from './gce.ts';
import { hetzner } from './hetzner.ts';
import { huaweicloud } from './huaweicloud.ts';
import { nocloud } from './nocloud.ts';
import { oci } from './oci.ts';
import { openstack } from './openstack.ts';
import { ovirt } from './ovirt.ts';
import { plainCodec } from './plain.ts';
import { simulated } from './simulated.ts';
import { vsphere } from './vsphere.ts';

/** The codecs of all supported providerIDs, by the cloud's name in `--cloud-provider`. */
export const providerIdCodecs: ReadonlyMap<string, ProviderIdCodec> = new Map(
  [
    alibaba,
    aws,
    azure,
    cloudstack,
    digitalocean,
    gce,
    hetzner,
    huaweicloud,
    nocloud,
    oci,
    openstack,
    ovirt,
    simulated,
    vsphere,
  ].map((codec) => [codec.cloud, codec]),
);

/** The codec of a configured cloud. One that is not of Mooring (`--cloud-module`) has `NAME://ID`. */
export function codecOf(cloud: string): ProviderIdCodec {
  return providerIdCodecs.get(cloud) ?? plainCodec(cloud);
}

/** The cloud that takes this providerID. @param modules names of clouds that are not of Mooring */
export function cloudOf(providerID: string, modules: readonly string[] = []): string | undefined {
  return [...providerIdCodecs.keys(), ...modules].find((cloud) => codecOf(cloud).parse(providerID) !== undefined);
}
