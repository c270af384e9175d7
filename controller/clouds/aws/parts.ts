import type { Instance as Ec2Instance } from '@aws-sdk/client-ec2';
import type { CloudContext } from '../cloud.ts';
import type { ClusterTags } from './cluster-tags.ts';
import type { AwsConfig } from './config.ts';
import type { Ec2 } from './ec2.ts';
import type { ServiceCalls } from './service-calls.ts';

/** What the capabilities of this cloud (routes, load balancers) work with. */
export interface AwsParts {
  readonly context: CloudContext;
  readonly config: AwsConfig;
  readonly region: string;
  readonly ec2: Ec2;
  /** Ids of security groups that every Service may name. */
  readonly allowedGroups: ReadonlySet<string>;
  /** Classic load balancers; the client is made at the first need. */
  readonly elb: () => ServiceCalls;
  /** Network load balancers; the client is made at the first need. */
  readonly elbv2: () => ServiceCalls;
  /** By the cloud config, else by this machine's own instance. Found out once; throws a CloudError. */
  cluster(signal?: AbortSignal): Promise<ClusterTags>;
  /** The instance that this process runs on; undefined where there is none. Throws a CloudError. */
  self(signal?: AbortSignal): Promise<Ec2Instance | undefined>;
}
