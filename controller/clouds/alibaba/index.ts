import { createHttp, type Http } from '../../../common/process/http.ts';
import { readProxies } from '../../../common/process/proxy-environment.ts';
import { alibaba } from '../../../common/provider-id/alibaba.ts';
import type {
  CloudConfigFile,
  CloudContext,
  CloudIdentity,
  CloudModule,
  InstanceRef,
  OpenedCloud,
  ReportOnlyCloud,
} from '../cloud.ts';
import { configFilesOf } from '../config-files.ts';
import { createCountedHttp } from '../counted-http.ts';
import { lookupPass, type Target } from '../lookup-pass.ts';
import { createMachineReader } from '../machines.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import type { ReadText } from '../variables.ts';
import { checkAlibaba } from './check.ts';
import { createLoadBalancerDriver } from './clb/driver.ts';
import { createClient } from './client.ts';
import { type AlibabaConfig, products, readConfig } from './config.ts';
import { createCredentials } from './credentials.ts';
import { cloud } from './fault.ts';
import { createInstances } from './instances.ts';
import { createMetadata } from './metadata.ts';
import { createPlace } from './place.ts';
import { createRoutes } from './routes.ts';

/** Alibaba Cloud: ECS instances, VPC routes and load balancers of one region. Opening makes no call. */
export const cloudModule: CloudModule = { name: cloud, open };

/** Up to so many instances are asked for one by one. */
const listAbove = 1;
/** As many as Services are worked on at once: a call that waits here was permitted too early. */
const maxSockets = 48;
/** Of each product. The APIs take 30 to 100 calls a second of an account, of which others make some, too. */
const limits = { perSecond: 10, burst: 50 };

export interface AlibabaParts {
  readonly config: AlibabaConfig;
  readonly context: CloudContext;
  readonly readText: ReadText;
  /** Around every exchange, for worlds that lose answers or count calls. */
  readonly wrapHttp?: (http: Http) => Http;
}

async function open(file: CloudConfigFile | undefined, context: CloudContext): Promise<OpenedCloud | ReportOnlyCloud> {
  const { readText } = configFilesOf(cloud);
  const config = await readConfig(file, context.env, readText);
  if ('reportOnly' in config) return config;
  for (const warning of config.warnings) context.log.warn(warning, { cloud });
  return openAlibaba({ config, context, readText });
}

/** One region of one account. Makes no call. */
export function openAlibaba({ config, context, readText, wrapHttp = (http) => http }: AlibabaParts): OpenedCloud {
  const { clock, random, onCall, onWait, mutationTimeoutMs = 10_000 } = context;
  const pool = { keepAlive: true, maxSockets };
  const { http: bare, close } = createHttp({ clock, proxyFor: readProxies(context.env), plain: pool, tls: pool });
  const http = createCountedHttp({ cloud, http: wrapHttp(bare), clock, onCall });
  const metadata = createMetadata(http, config.metadataEndpoint);
  const gates = new Map(
    products.map((product) => [product, createRateLimiter({ cloud, clock, random, limits, onWait })] as const),
  );
  let known = config.region;
  const region = async (signal?: AbortSignal) => {
    known ??= await metadata.read('region-id', signal);
    return known;
  };
  const credentials = createCredentials({
    ...{ source: config.credentials, clock, http, metadata, readText },
    stsEndpoint: async (signal) => config.endpointOf('sts', await region(signal)),
  });
  const client = createClient({
    ...{ http, clock, random, credentials, region, endpointOf: config.endpointOf, mutationTimeoutMs },
    gateOf: (product) => gates.get(product)!,
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
    accepts: (providerID) => targetOf({ by: 'providerID', providerID }).ask === 'id',
    instances: {
      batchSize: 1000,
      lookup: (refs, options) => {
        const reader = createMachineReader(cloud, [createInstances(client)]);
        return lookupPass({ ...options, cloud, refs, reader, listAbove, targetOf });
      },
    },
    loadBalancerDriver: createLoadBalancerDriver({ client, place, config }),
    routes: createRoutes({ client, clock, place }),
    files: config.files,
    ping: async (signal) => void (await identify(signal)),
    check: (signal) => checkAlibaba({ client, place }, signal),
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
