import { alibaba } from './alibaba.ts';
import { aws } from './aws.ts';
import { azure } from './azure.ts';
import { cloudstack } from './cloudstack.ts';
import { digitalocean } from './digitalocean.ts';
import { gce } from './gce.ts';
import { hetzner } from './hetzner.ts';
import { huaweicloud } from './huaweicloud.ts';
import { nocloud } from './nocloud.ts';
import { oci } from './oci.ts';
import { openstack } from './openstack.ts';
import { ovirt } from './ovirt.ts';
import { simulated } from './simulated.ts';
import type { SourceKind } from './source.ts';
import { vsphere } from './vsphere.ts';

/**
 * The metadata sources, by the cloud's name in `--cloud`. All of them have a few kilobytes, so none is loaded lazily.
 */
export const sourceKinds: ReadonlyMap<string, SourceKind> = new Map(
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
  ].map((kind) => [kind.cloud, kind]),
);
