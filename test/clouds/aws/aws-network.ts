import { randomBytes } from 'node:crypto';
import {
  AssociateRouteTableCommand,
  AttachInternetGatewayCommand,
  AuthorizeSecurityGroupIngressCommand,
  CreateInternetGatewayCommand,
  CreateRouteCommand,
  CreateRouteTableCommand,
  CreateSecurityGroupCommand,
  CreateSubnetCommand,
  CreateVpcCommand,
  DescribeImagesCommand,
  type EC2Client,
} from '@aws-sdk/client-ec2';

/**
 * A cluster's VPC: two public subnets in two zones, a route table, and a security group of the nodes, all with the
 * cluster's tag.
 */
export interface AwsNetwork {
  readonly clusterId: string;
  /** Of the cluster's tag. */
  readonly tagKey: string;
  readonly vpcId: string;
  readonly subnets: readonly { readonly id: string; readonly zone: string }[];
  readonly routeTableId: string;
  readonly nodeGroupId: string;
  readonly imageId: string;
}

type ResourceType = 'vpc' | 'subnet' | 'route-table' | 'security-group';

export async function createNetwork(ec2: EC2Client, region: string): Promise<AwsNetwork> {
  const clusterId = `c-${randomBytes(4).toString('hex')}`;
  const tagKey = `kubernetes.io/cluster/${clusterId}`;
  const tags = (ResourceType: ResourceType) => [{ ResourceType, Tags: [{ Key: tagKey, Value: 'owned' }] }];
  const { Vpc } = await ec2.send(new CreateVpcCommand({ CidrBlock: '10.0.0.0/16', TagSpecifications: tags('vpc') }));
  const vpcId = Vpc!.VpcId!;
  const { InternetGateway } = await ec2.send(new CreateInternetGatewayCommand({}));
  const gatewayId = InternetGateway!.InternetGatewayId!;
  await ec2.send(new AttachInternetGatewayCommand({ InternetGatewayId: gatewayId, VpcId: vpcId }));
  const { RouteTable } = await ec2.send(
    new CreateRouteTableCommand({ VpcId: vpcId, TagSpecifications: tags('route-table') }),
  );
  const routeTableId = RouteTable!.RouteTableId!;
  await ec2.send(
    new CreateRouteCommand({ RouteTableId: routeTableId, DestinationCidrBlock: '0.0.0.0/0', GatewayId: gatewayId }),
  );
  const subnets = [];
  for (const [number, letter] of ['a', 'b'].entries()) {
    const zone = `${region}${letter}`;
    const { Subnet } = await ec2.send(
      new CreateSubnetCommand({
        VpcId: vpcId,
        AvailabilityZone: zone,
        CidrBlock: `10.0.${number}.0/24`,
        TagSpecifications: tags('subnet'),
      }),
    );
    const id = Subnet!.SubnetId!;
    await ec2.send(new AssociateRouteTableCommand({ RouteTableId: routeTableId, SubnetId: id }));
    subnets.push({ id, zone });
  }
  const { GroupId } = await ec2.send(
    new CreateSecurityGroupCommand({
      GroupName: `nodes-${clusterId}`,
      Description: 'nodes',
      VpcId: vpcId,
      TagSpecifications: tags('security-group'),
    }),
  );
  // A person's own rule, which has to outlast everything.
  await ec2.send(
    new AuthorizeSecurityGroupIngressCommand({
      GroupId,
      IpPermissions: [{ IpProtocol: 'tcp', FromPort: 22, ToPort: 22, IpRanges: [{ CidrIp: '192.0.2.0/24' }] }],
    }),
  );
  const { Images } = await ec2.send(new DescribeImagesCommand({ Owners: ['amazon'] }));
  const imageId = Images!.find(({ Architecture }) => Architecture === 'x86_64')!.ImageId!;
  return { clusterId, tagKey, vpcId, subnets, routeTableId, nodeGroupId: GroupId!, imageId };
}
