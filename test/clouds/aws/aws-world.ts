import { randomBytes, randomUUID } from 'node:crypto';
import {
  CreateRouteCommand,
  DeleteRouteCommand,
  EC2Client,
  RunInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { ElasticLoadBalancingClient } from '@aws-sdk/client-elastic-load-balancing';
import { ElasticLoadBalancingV2Client } from '@aws-sdk/client-elastic-load-balancing-v2';
import { silentLog } from '../../../common/process/log.ts';
import { cloudModule } from '../../../controller/clouds/aws/index.ts';
import { keys } from '../../../controller/clouds/aws/load-balancer-annotations.ts';
import { serviceNameTag } from '../../../controller/clouds/aws/load-balancer-tags.ts';
import type { CloudCall, OpenedCloud } from '../../../controller/clouds/cloud.ts';
import { type LoadBalancers, ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { hurriedClock } from '../suite/hurried-clock.ts';
import { withDriver } from '../suite/recorded-driver.ts';
import type { CloudWorld } from '../suite/world.ts';
import { classicBalancers, networkBalancers } from './aws-balancers.ts';
import { type AwsClients, inventoryOf } from './aws-inventory.ts';
import { awsMarks } from './aws-marks.ts';
import { type AwsNetwork, createNetwork } from './aws-network.ts';
import { askMoto, type Exchange, errorAnswer, type MotoProxy, type MotoRule, startMotoProxy } from './moto-proxy.ts';

export const region = 'eu-west-1';
export const awsKeys = { accessKeyId: 'testing', secretAccessKey: 'testing' };

export interface AwsWorldOptions {
  /** URL of moto, or of the fake in this process. */
  readonly server: string;
  /** What the proxy asks; default the server, over HTTP. */
  readonly exchange?: Exchange;
  /** What the Services of this run ask for. */
  readonly kind: 'nlb' | 'classic';
  /** What the server does not do as AWS does. */
  readonly rules?: readonly MotoRule[];
  /** More lines of `[Global]`. */
  readonly config?: readonly string[];
}

export interface AwsWorld extends CloudWorld {
  readonly network: AwsNetwork;
  readonly clients: AwsClients;
  readonly proxy: MotoProxy;
  /** Cloud config and environment of a controller in this world. */
  readonly configText: string;
  readonly env: Readonly<Record<string, string>>;
  /** What the clouds have reported of their calls. */
  readonly reported: readonly CloudCall[];
}

/** A cluster's VPC, with a proxy between the server and the cloud under test. */
export async function startAwsWorld(options: AwsWorldOptions): Promise<AwsWorld> {
  const { server, kind, rules = [], config = [] } = options;
  const settings = { region, endpoint: server, credentials: awsKeys };
  const clients: AwsClients = {
    ec2: new EC2Client(settings),
    elb: new ElasticLoadBalancingClient(settings),
    elbv2: new ElasticLoadBalancingV2Client(settings),
  };
  const { ec2 } = clients;
  const network = await createNetwork(ec2, region);
  const quota = routeQuota();
  const proxy = await startMotoProxy(options.exchange ?? ((form, headers) => askMoto(server, form, headers)), [
    quota.rule,
    ...rules,
  ]);
  const cluster = randomUUID();
  const clock = hurriedClock();
  const opened: OpenedCloud[] = [];
  const reported: CloudCall[] = [];
  const foreign = kind === 'nlb' ? networkBalancers(clients, network) : classicBalancers(clients, network);
  const text = [
    '[Global]',
    `Region = ${region}`,
    `KubernetesClusterID = ${network.clusterId}`,
    `VPC = ${network.vpcId}`,
    ...config,
  ].join('\n');
  const env = {
    AWS_ACCESS_KEY_ID: awsKeys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: awsKeys.secretAccessKey,
    AWS_ENDPOINT_URL: proxy.url,
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  const idOf = (providerID: string) => providerID.slice(providerID.lastIndexOf('/') + 1);
  const vms: string[] = [];

  return {
    cluster,
    network,
    clients,
    proxy,
    reported,
    env,
    configText: text,
    async open(wrap) {
      const cloud = await cloudModule.open(
        { path: 'aws.conf', text },
        { clock, random: Math.random, log: silentLog, env, onCall: (call) => reported.push(call) },
      );
      if ('reportOnly' in cloud) throw new Error(cloud.reportOnly);
      const whole = withLoadBalancers(withDriver(cloud, wrap), clock);
      opened.push(whole);
      const { loadBalancers } = whole;
      return kind === 'nlb' && loadBalancers ? { ...whole, loadBalancers: asking(loadBalancers, kind) } : whole;
    },
    async createVm() {
      const subnet = network.subnets[vms.length % network.subnets.length]!;
      const { Instances } = await ec2.send(
        new RunInstancesCommand({
          ImageId: network.imageId,
          InstanceType: 'm5.large',
          MinCount: 1,
          MaxCount: 1,
          SubnetId: subnet.id,
          SecurityGroupIds: [network.nodeGroupId],
          TagSpecifications: [{ ResourceType: 'instance', Tags: [{ Key: network.tagKey, Value: 'owned' }] }],
        }),
      );
      vms.push(Instances![0]!.InstanceId!);
      const { InstanceId, PrivateDnsName, PrivateIpAddress } = Instances![0]!;
      return {
        name: PrivateDnsName!,
        providerID: `aws:///${subnet.zone}/${InstanceId}`,
        addresses: [PrivateIpAddress!],
        zone: subnet.zone,
      };
    },
    async deleteVm(providerID) {
      await ec2.send(new TerminateInstancesCommand({ InstanceIds: [idOf(providerID)] }));
    },
    async stopVm(providerID) {
      await ec2.send(new StopInstancesCommand({ InstanceIds: [idOf(providerID)] }));
    },
    unusedProviderID: () => `aws:///${region}a/i-0${randomBytes(8).toString('hex')}`,
    otherScopeProviderID: () => 'aws:///us-east-1a/i-0123456789abcdef0',
    mutations: proxy.mutations,
    loseAnswer: proxy.loseAnswer,
    refuseCredential: proxy.refuseCredential,
    inventory: () => inventoryOf(clients, network.vpcId),
    createForeignLoadBalancer: (name, consent) =>
      foreign.create(name, consent ? { [ownerTags.consent]: consent } : { team: 'other' }),
    describeLoadBalancer: foreign.describe,
    deleteLoadBalancer: foreign.delete,
    tagging: {
      annotation: keys.additionalTags,
      reserved: [...Object.values(ownerTags), serviceNameTag, 'kubernetes.io/cluster/other', 'KubernetesCluster'],
    },
    ...awsMarks(clients, network),
    async createForeignRoute(destination, vm) {
      await ec2.send(
        new CreateRouteCommand({
          RouteTableId: network.routeTableId,
          DestinationCidrBlock: destination,
          InstanceId: idOf(vm.providerID),
        }),
      );
    },
    async deleteForeignRoute(destination) {
      await ec2.send(new DeleteRouteCommand({ RouteTableId: network.routeTableId, DestinationCidrBlock: destination }));
    },
    routesLeft: quota.leave,
    during: (work) => work,
    // Moto is done at once; a client has to expect longer.
    pass: clock.pass,
    async close() {
      if (vms.length > 0) await ec2.send(new TerminateInstancesCommand({ InstanceIds: vms }));
      for (const cloud of opened) cloud.close();
      for (const client of Object.values(clients)) client.destroy();
      await proxy.close();
    },
  };
}

/** Every Service asks for a network load balancer. */
function asking(loadBalancers: LoadBalancers, kind: 'nlb'): LoadBalancers {
  const annotation = { 'service.beta.kubernetes.io/aws-load-balancer-type': kind };
  return {
    ...loadBalancers,
    plan: (desired) => loadBalancers.plan({ ...desired, annotations: { ...annotation, ...desired.annotations } }),
  };
}

/** Moto's route tables are never full. */
function routeQuota(): { readonly rule: MotoRule; leave(count: number | undefined): void } {
  let left: number | undefined;
  return {
    leave(count) {
      left = count;
    },
    async rule({ action, version }, { forward }) {
      if (action !== 'CreateRoute' || left === undefined) return undefined;
      if (left === 0)
        return errorAnswer(version, 'RouteLimitExceeded', 'The maximum number of routes has been reached.');
      const answer = await forward();
      if (answer.status === 200) left -= 1;
      return answer;
    },
  };
}
