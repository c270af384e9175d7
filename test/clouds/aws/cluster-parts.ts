import type { ClusterCloud } from '../life/life-cloud.ts';
import type { AwsWorld } from './aws-world.ts';

const type = 'service.beta.kubernetes.io/aws-load-balancer-type';

export const idOf = (providerID: string) => providerID.slice(providerID.lastIndexOf('/') + 1);

/** What each server of AWS's APIs has in common as the cloud of a cluster. */
export function clusterParts({
  network,
  proxy,
  configText,
  env,
}: AwsWorld): Pick<ClusterCloud, 'audits' | 'changes' | 'served' | 'services'> {
  const sent = (wanted: string) => proxy.calls.filter(({ action }) => action === wanted).length;
  return {
    served: {
      cloud: 'aws',
      // Without both the classic controller asks the metadata service.
      configText: `${configText}\nRouteTableID = ${network.routeTableId}\nSubnetID = ${network.subnets[0]!.id}\n`,
      env,
    },
    services: { web: { [type]: 'nlb' }, classic: {} },
    changes: proxy.mutations,
    audits: () => Math.min(sent('DescribeRouteTables'), sent('DescribeTargetGroups')),
  };
}
