import {
  type AvailabilityZone,
  DescribeAvailabilityZonesCommand,
  DescribeInstancesCommand,
  type DescribeInstancesRequest,
  type DescribeInstancesResult,
  EC2Client,
  type EC2ClientConfig,
} from '@aws-sdk/client-ec2';
import {
  clientDefaults,
  createServiceCalls,
  type ReadOptions,
  type ServiceCalls,
  type ServiceCallsOptions,
} from './service-calls.ts';

/** The calls of EC2; those about nodes by name. */
export interface Ec2 extends ServiceCalls {
  describeInstances(request: DescribeInstancesRequest, options?: ReadOptions): Promise<DescribeInstancesResult>;
  /** The zones of the region; `dryRun` only asks whether the call is allowed. */
  describeZones(dryRun: boolean, options?: ReadOptions): Promise<readonly AvailabilityZone[]>;
  /** The host the calls go to, with its port where it is not the scheme's own. */
  host(): Promise<string>;
}

export function createEc2(config: EC2ClientConfig & { readonly region: string }, options: ServiceCallsOptions): Ec2 {
  const client = new EC2Client({ ...config, ...clientDefaults(options) });
  const calls = createServiceCalls(client, options);
  return {
    ...calls,
    describeInstances: (request, readOptions) => calls.read(new DescribeInstancesCommand(request), readOptions),
    async describeZones(dryRun, readOptions) {
      const command = new DescribeAvailabilityZonesCommand({ DryRun: dryRun });
      return (await calls.read(command, readOptions)).AvailabilityZones ?? [];
    },
    async host() {
      const endpoint = await (client.config.endpoint?.() ?? client.config.serviceConfiguredEndpoint?.());
      if (endpoint !== undefined) return hostOf(endpoint);
      const { url } = client.config.endpointProvider({
        Region: config.region,
        UseDualStack: await client.config.useDualstackEndpoint(),
        UseFIPS: await client.config.useFipsEndpoint(),
      });
      return url.host;
    },
  };
}

function hostOf(endpoint: string | { hostname: string; port?: number | undefined }): string {
  if (typeof endpoint === 'string') return new URL(endpoint).host;
  return endpoint.port === undefined ? endpoint.hostname : `${endpoint.hostname}:${endpoint.port}`;
}
