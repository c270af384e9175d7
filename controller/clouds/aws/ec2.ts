import {
  DescribeInstancesCommand,
  EC2Client,
  type EC2ClientConfig,
  type Filter,
  type Instance,
  type Reservation,
} from '@aws-sdk/client-ec2';
import { everyPage } from './pages.ts';
import { createServiceCalls, type ReadOptions, type ServiceCalls, type ServiceCallsOptions } from './service-calls.ts';

export interface Ec2 extends ServiceCalls {
  /** The host the calls go to, with its port where it is not the scheme's own. */
  host(): Promise<string>;
}

export function createEc2(config: EC2ClientConfig & { readonly region: string }, options: ServiceCallsOptions): Ec2 {
  const client = new EC2Client(config);
  return {
    ...createServiceCalls(client, options),
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

/**
 * Instances that meet all filters, page by page. EC2 takes up to 200 values a filter.
 *
 * @param found gets them; where a page fails, it has those of the pages before
 */
export function listInstances(
  ec2: Pick<Ec2, 'read'>,
  Filters: Filter[],
  options: ReadOptions,
  found: Instance[] = [],
): Promise<readonly Instance[]> {
  const page = async (NextToken: string | undefined) => {
    const command = new DescribeInstancesCommand({ Filters, MaxResults: 1000, NextToken });
    const answer = await ec2.read(command, options);
    return { items: instancesIn(answer), next: answer.NextToken };
  };
  return everyPage('DescribeInstances', page, found);
}

/** By ids, in one call. Throws a CloudError `NotFound` where one of them does not exist. */
export async function getInstances(
  ec2: Pick<Ec2, 'read'>,
  ids: readonly string[],
  options: ReadOptions,
): Promise<readonly Instance[]> {
  return instancesIn(await ec2.read(new DescribeInstancesCommand({ InstanceIds: [...ids] }), options));
}

function instancesIn({ Reservations }: { readonly Reservations?: readonly Reservation[] | undefined }): Instance[] {
  return (Reservations ?? []).flatMap(({ Instances }) => Instances ?? []);
}

function hostOf(endpoint: string | { hostname: string; port?: number | undefined }): string {
  if (typeof endpoint === 'string') return new URL(endpoint).host;
  return endpoint.port === undefined ? endpoint.hostname : `${endpoint.hostname}:${endpoint.port}`;
}
