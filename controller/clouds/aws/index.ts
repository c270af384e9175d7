import { ElasticLoadBalancingClient } from '@aws-sdk/client-elastic-load-balancing';
import { ElasticLoadBalancingV2Client } from '@aws-sdk/client-elastic-load-balancing-v2';
import { STSClient } from '@aws-sdk/client-sts';
import { aws } from '../../../common/provider-id/aws.ts';
import {
  CloudConfigError,
  type CloudConfigFile,
  type CloudContext,
  type CloudModule,
  type OpenedCloud,
  type ReportOnlyCloud,
} from '../cloud.ts';
import type { Target } from '../lookup-pass.ts';
import { createLookups } from '../lookups.ts';
import { createAccount } from './account.ts';
import { checkAws, proveCredential } from './check.ts';
import { createCluster } from './cluster-tags.ts';
import { type AwsConfig, accountOfRole, parseAwsConfig } from './config.ts';
import { type CredentialProvider, findCredentials, regionOfSurroundings } from './credentials.ts';
import { createEc2 } from './ec2.ts';
import { endpointOf } from './endpoints.ts';
import { createLoadBalancers } from './load-balancers.ts';
import { createNetworkLayers } from './network-layers.ts';
import { memberChoice } from './node-labels.ts';
import { createNodeTags } from './node-tags.ts';
import type { AwsParts } from './parts.ts';
import { createRateLimiters } from './rate-limiters.ts';
import { createReader } from './reader.ts';
import { createRoutes } from './routes/routes.ts';
import { createSelf } from './self.ts';
import { clientDefaults, createServiceCalls } from './service-calls.ts';
import type { ServiceId } from './service-id.ts';
import { createSts } from './sts.ts';
import { createVolumes } from './volumes.ts';
import { createZoneIds } from './zone-ids.ts';

const surroundingsTimeoutMs = 5_000;

/**
 * AWS: EC2 instances of one region, with the classic controller's INI cloud config and the SDK's standard credential
 * chain and endpoint variables. Opening determines the region and a credential. On a machine without either in its
 * environment it asks the instance metadata service, for at most ten seconds in all. It does not call EC2.
 */
export const cloudModule: CloudModule = { name: 'aws', memberChoice, open };

async function open(file: CloudConfigFile | undefined, context: CloudContext): Promise<OpenedCloud | ReportOnlyCloud> {
  const { clock, env } = context;
  const log = context.log.with({ cloud: 'aws' });
  const config = parseAwsConfig(file);
  if (config.unknown.length > 0)
    log.warn('the cloud config sets what is unknown here', { keys: config.unknown.join(', ') });

  const region = await findRegion(config, context);
  const source = await findCredentials(env, region?.name ?? 'us-east-1', clock, surroundingsTimeoutMs);
  if (source.state === 'none') return { reportOnly: `no AWS credential: tried ${source.tried}`, retryable: true };
  if (source.problem !== undefined) log.warn('no AWS credential yet', { from: source.from, error: source.problem });
  if (region === undefined) {
    const expected =
      'expected Region or Zone in [Global] of the cloud config, AWS_REGION, or a region in the shared config';
    throw new CloudConfigError(`aws: no region; ${expected}`);
  }

  const rateLimiters = createRateLimiters(context);
  const clientWith = (credentials: CredentialProvider, service: ServiceId) => ({
    region: region.name,
    credentials,
    ...endpointOf(service, region.name, config, env),
    ...clientDefaults(env),
  });
  const stsOf = (credentials: CredentialProvider) =>
    createSts(new STSClient(clientWith(credentials, 'STS')), { context, rateLimiters: rateLimiters.sts });
  const { roleArn, sourceArn } = config;
  const account = createAccount(
    roleArn === undefined ? source.provider : stsOf(source.provider).assumeRole({ roleArn, sourceArn }),
    async (credential, signal) => {
      const sts = stsOf(async () => credential);
      try {
        return await sts.account(signal);
      } finally {
        sts.close();
      }
    },
  );
  const { credentials } = account;
  const client = (service: ServiceId) => clientWith(credentials, service);
  const ec2 = createEc2(client('EC2'), { context, rateLimiters: rateLimiters.ec2 });
  const elb = once(() => {
    const made = new ElasticLoadBalancingClient(client('Elastic Load Balancing'));
    return createServiceCalls(made, { context, rateLimiters: rateLimiters.elb });
  });
  const elbv2 = once(() => {
    const made = new ElasticLoadBalancingV2Client(client('Elastic Load Balancing v2'));
    return createServiceCalls(made, { context, rateLimiters: rateLimiters.elbv2 });
  });
  const self = createSelf(ec2, context);
  const cluster = createCluster(config, context.allowUntagged === true, self);
  const allowed = [...(context.allowedSecurityGroups ?? []), config.elbSecurityGroup ?? []].flat();
  const allowedGroups = new Set(allowed);
  const parts: AwsParts = { context, config, region: region.name, allowedGroups, ec2, elb, elbv2, cluster, self };
  const balancers = createLoadBalancers(parts);
  const reader = createReader({
    ec2,
    zoneIds: createZoneIds(ec2, clock, log),
    layers: createNetworkLayers({ ec2, types: config.topologyTypes, clock, log }),
    cluster,
    clusterNamed: config.clusterId !== undefined,
    view: { region: region.name, nodeIpFamilies: config.nodeIpFamilies },
    onSeen: balancers.reads.noteInstance,
  });
  const accepts = (providerID: string) => {
    const parts = aws.parse(providerID);
    return parts !== undefined && (parts.zone === undefined || parts.zone.startsWith(region.name));
  };

  const host = await ec2.host();
  return {
    name: 'aws',
    async identify(signal) {
      const number = await account.number(signal);
      const place = `${host}/${region.name}`;
      const scope = `${place}/${number}`;
      // The scope of earlier versions, which made no call: with the account where a role told it.
      const told = accountOfRole(config.roleArn ?? env['AWS_ROLE_ARN'] ?? '');
      return { scope, account: number, formerScopes: told === undefined ? [place] : [] };
    },
    ...createLookups({
      cloud: 'aws',
      listAbove: 0,
      createReader: () => reader,
      targetOf: (ref) => targetOf(ref, region.name, accepts),
    }),
    accepts,
    loadBalancerDriver: balancers.driver,
    routes: createRoutes(parts),
    nodeTags: createNodeTags(ec2),
    volumes: createVolumes(ec2, region.name),
    files: source.files,
    ping: (signal) => proveCredential(ec2, signal),
    check: (signal) =>
      checkAws({
        parts,
        sts: stsOf(credentials),
        region,
        credentialsFrom: config.roleArn === undefined ? source.from : `${source.from}, as ${config.roleArn}`,
        signal,
      }),
    close() {
      for (const calls of [ec2, elb.made(), elbv2.made()]) calls?.close();
    },
  };
}

/** Made at the first call; `made` answers it without making it. */
function once<Made>(make: () => Made): { (): Made; made(): Made | undefined } {
  let made: Made | undefined;
  const get = () => {
    made ??= make();
    return made;
  };
  return Object.assign(get, { made: () => made });
}

async function findRegion(
  config: AwsConfig,
  { env, clock }: CloudContext,
): Promise<{ readonly name: string; readonly from: string } | undefined> {
  if (config.region !== undefined) return config.region;
  for (const variable of ['AWS_REGION', 'AWS_DEFAULT_REGION']) {
    const name = env[variable];
    if (!name) continue;
    if (!/^[a-z][a-z0-9-]*$/.test(name))
      throw new CloudConfigError(`aws: ${variable}: ${JSON.stringify(name)}, expected a region such as eu-west-1`);
    return { name, from: variable };
  }
  const name = await regionOfSurroundings(clock, surroundingsTimeoutMs);
  return name === undefined ? undefined : { name, from: 'the shared config or the instance metadata service' };
}

/**
 * A Node named `i-…` carries its id (resource-based naming; what follows a dot is domain); any other name is the
 * private DNS name.
 */
function targetOf(
  ref: { by: 'providerID'; providerID: string } | { by: 'name'; name: string },
  region: string,
  accepts: (providerID: string) => boolean,
): Target {
  if (ref.by === 'providerID') {
    const id = accepts(ref.providerID) ? aws.parse(ref.providerID)?.instanceId : undefined;
    // Filter values take * and ? as wildcards; no id has them.
    if (id !== undefined && /^i-[0-9A-Za-z]+$/.test(id)) return { ask: 'id', id, by: 'providerID' };
    return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no instance of EC2 in ${region}` };
  }
  const id = /^(i-[0-9a-z]+)(\.|$)/.exec(ref.name)?.[1];
  if (id !== undefined) return { ask: 'id', id, by: 'name' };
  if (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(ref.name)) return { ask: 'name', name: ref.name };
  return { ask: 'nothing', problem: `${JSON.stringify(ref.name)} is no private DNS name` };
}
