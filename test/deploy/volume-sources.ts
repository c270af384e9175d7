import type { Ec2 } from '../../controller/clouds/aws/ec2.ts';
import { createVolumes as aws } from '../../controller/clouds/aws/volumes.ts';
import type { ArmClient } from '../../controller/clouds/azure/client.ts';
import { createVolumes as azure } from '../../controller/clouds/azure/volumes.ts';
import type { GceClient } from '../../controller/clouds/gce/client.ts';
import { createVolumes as gce } from '../../controller/clouds/gce/volumes.ts';
import type { JsonApi } from '../../controller/clouds/json-api.ts';
import type { OpenStackClient } from '../../controller/clouds/openstack/client.ts';
import { createVolumes as openstack } from '../../controller/clouds/openstack/volumes.ts';
import { createVolumes as simulated } from '../../controller/clouds/simulated/volumes.ts';
import type { VolumeSource } from '../../controller/clouds/volumes.ts';

/** How PersistentVolumes name the volumes of every cloud that tells about them. */
export function volumeSources(): readonly VolumeSource[] {
  return [
    aws({} as Ec2, ''),
    azure({} as ArmClient, ''),
    gce({} as GceClient, () => ''),
    openstack({ client: {} as OpenStackClient, region: undefined, ignoresZones: false }),
    simulated({} as JsonApi, ''),
  ].flatMap(({ sources }) => sources);
}
