import { alibaba } from '../../../common/provider-id/alibaba.ts';
import type { CloudIdentity, InstanceRef, OpenedCloud } from '../cloud.ts';
import { type CloudPartsWithFiles, configuredModule } from '../configured-module.ts';
import { openConnections } from '../connections.ts';
import { createCountedHttp } from '../counted-http.ts';
import type { Target } from '../lookup-pass.ts';
import { createMachineLookups } from '../lookups.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import { checkAlibaba } from './check.ts';
import { createLoadBalancerDriver } from './clb/driver.ts';
import { nodeLabelsOf, takesPods } from './clb/settings.ts';
import { createClient } from './client.ts';
import { type AlibabaConfig, products, readConfig } from './config.ts';
import { createCredentials } from './credentials.ts';
import { cloud } from './fault.ts';
import { createInstances } from './instances.ts';
import { createMetadata } from './metadata.ts';
import { createPlace } from './place.ts';
import { createRoutes } from './routes.ts';

/** Alibaba Cloud: ECS instances, VPC routes and load balancers of one region. Opening makes no call. */
export const cloudModule = configuredModule(cloud, readConfig, openAlibaba, {
  nodeLabels: nodeLabelsOf,
  takesPods: (annotations) => takesPods(annotations, false),
  configured: 'serviceBackendType of the cloud config',
});

/** Up to so many instances are asked for one by one. */
const listAbove = 1;
/** Of each product. The APIs take 30 to 100 calls a second of an account, of which others make some, too. */
const limits = { perSecond: 10, burst: 50 };

/** One region of one account. Makes no call. */
export function openAlibaba({ config, context, readText, wrapHttp }: CloudPartsWithFiles<AlibabaConfig>): OpenedCloud {
  const { clock, random, onCall, onWait, mutationTimeoutMs = 10_000 } = context;
  const { http: bare, close } = openConnections(context, { wrapHttp });
  const http = createCountedHttp({ cloud, http: bare, clock, onCall });
  const metadata = createMetadata(http, config.metadataEndpoint);
  const rateLimiters = new Map(
    products.map((product) => [product, createRateLimiter({ cloud, clock, random, limits, onWait })] as const),
  );
  let known = config.region;
  const region = async (signal?: AbortSignal) => {
    known ??= await metadata.read('region-id', signal);
    return known;
  };
  const credentials = createCredentials({
    source: config.credentials,
    clock,
    http,
    metadata,
    readText,
    stsEndpoint: async () => config.endpointOf('sts', await region()),
  });
  const client = createClient({
    http,
    clock,
    random,
    credentials,
    region,
    endpointOf: config.endpointOf,
    mutationTimeoutMs,
    rateLimiterOf: (product) => rateLimiters.get(product)!,
  });
  const place = createPlace(client, metadata, config);
  const targetOf = (ref: InstanceRef) => targetIn(known, ref);

  async function identify(signal?: AbortSignal): Promise<CloudIdentity> {
    const regionId = await region(signal);
    const account = (await client.call({ product: 'sts', action: 'GetCallerIdentity', signal })).text('AccountId');
    return { scope: `${new URL(config.endpointOf('ecs', regionId)).host}/${account}/${regionId}`, account };
  }
  return {
    name: cloud,
    identify,
    ...createMachineLookups({ cloud, listAbove, targetOf, machines: () => [createInstances(client)] }),
    loadBalancerDriver: createLoadBalancerDriver(client, place, config),
    routes: createRoutes(client, clock, place),
    files: config.files,
    ping: async (signal) => void (await identify(signal)),
    check: (signal) => checkAlibaba(client, place, signal),
    close,
  };
}

/** @param region undefined: not known yet */
function targetIn(region: string | undefined, ref: InstanceRef): Target {
  const parsed = alibaba.parse(ref.by === 'name' ? ref.name : ref.providerID);
  // The classic controller's example kubelet has its providerID for a name, too.
  if (parsed === undefined && ref.by === 'name') return { ask: 'name', name: ref.name };
  if (parsed === undefined) return { ask: 'nothing', problem: `${keyOf(ref)} is no instance of ECS` };
  if (region === undefined || parsed.region === region) return { ask: 'id', id: parsed.instanceId, by: ref.by };
  return { ask: 'nothing', problem: `${keyOf(ref)} is in another region than ${region}` };
}

function keyOf(ref: InstanceRef): string {
  return JSON.stringify(ref.by === 'name' ? ref.name : ref.providerID);
}
