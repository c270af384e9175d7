import type { Route as Ec2Route } from '@aws-sdk/client-ec2';
import { aws } from '../../../../common/provider-id/aws.ts';
import { normalCidr } from '../../ip-address.ts';
import type { ObservedRoute } from '../../routes.ts';

/** One entry of the route table. EC2 cannot tag it. */
export interface AwsRoute extends ObservedRoute {
  readonly table: string;
  /** Ids of whatever it leads to: an instance and its interface, a gateway; empty where EC2 shows none. */
  readonly targets: readonly string[];
}

/** An entry as EC2 shows it; undefined for one whose destination is a prefix list, which pod routes cannot meet. */
export function viewOf(
  table: string,
  route: Ec2Route,
  zoneOf: (instanceId: string) => string | undefined,
): AwsRoute | undefined {
  const destination = normalCidr(route.DestinationCidrBlock ?? route.DestinationIpv6CidrBlock ?? '');
  if (destination === undefined) return undefined;
  const { InstanceId: instance } = route;
  return {
    id: `${table}/${destination}`,
    table,
    destination,
    targets: targetsOf(route),
    providerID: instance ? providerIDOf(instance, zoneOf(instance)) : undefined,
    blackhole: route.State === 'blackhole',
    ours: undefined,
  };
}

/** Without its zone where EC2 does not show the instance any more. */
export function providerIDOf(instanceId: string, zone: string | undefined): string {
  return zone === undefined ? `aws:////${instanceId}` : aws.print({ instanceId, zone });
}

function targetsOf(route: Ec2Route): string[] {
  const { InstanceId, NetworkInterfaceId, GatewayId, NatGatewayId, TransitGatewayId, VpcPeeringConnectionId } = route;
  const { EgressOnlyInternetGatewayId, CarrierGatewayId, LocalGatewayId, CoreNetworkArn } = route;
  const targets = [
    InstanceId,
    NetworkInterfaceId,
    GatewayId,
    NatGatewayId,
    TransitGatewayId,
    VpcPeeringConnectionId,
    EgressOnlyInternetGatewayId,
    CarrierGatewayId,
    LocalGatewayId,
    CoreNetworkArn,
  ];
  return targets.filter((target) => target !== undefined && target !== '') as string[];
}

/** How a destination is named in a request. */
export function destinationFields(destination: string) {
  return destination.includes(':') ? { DestinationIpv6CidrBlock: destination } : { DestinationCidrBlock: destination };
}
