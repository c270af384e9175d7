import { huaweicloud } from '../../../common/provider-id/huaweicloud.ts';
import type { CloudConfigFile, CloudContext, CloudIdentity, OpenedCloud } from '../cloud.ts';
import { type CloudParts, configuredModule } from '../configured-module.ts';
import { openConnections } from '../connections.ts';
import { createCountedHttp } from '../counted-http.ts';
import { lasting } from '../expiring-credential.ts';
import { createMachineLookups, targetBy } from '../lookups.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import type { ReadText } from '../variables.ts';
import { createAgencyKeys } from './access-keys.ts';
import { checkHuawei, readOneServer } from './check.ts';
import { createClient } from './client.ts';
import { type HuaweiConfig, readConfig } from './config.ts';
import { createLoadBalancerDriver } from './elb/driver.ts';
import { cloud } from './fault.ts';
import { noOptions, type Options, readOptions } from './options.ts';
import { createRoutes } from './routes.ts';
import { createServers } from './servers.ts';

/** Huawei Cloud: the ECSs, load balancers and route tables of one project. Opening makes no call. */
export const cloudModule = configuredModule(cloud, readWithOptions, openHuawei);

/** The gateway counts per user and API, and throttles at hundreds a minute. */
const limits = { perSecond: 10, burst: 50 };

interface ConfigWithOptions extends HuaweiConfig {
  /** Defaults of load balancers. */
  readonly defaults?: Options;
}

async function readWithOptions(file: CloudConfigFile | undefined, env: CloudContext['env'], readText: ReadText) {
  const config = readConfig(file, env);
  if ('reportOnly' in config) return config;
  const defaults = await readOptions(config.options, readText);
  return { ...config, defaults, warnings: [...config.warnings, ...defaults.warnings] };
}

/** One project. Makes no call. */
export function openHuawei({ config, context, wrapHttp }: CloudParts<ConfigWithOptions>): OpenedCloud {
  const { clock, random, onCall, onWait, mutationTimeoutMs = 10_000 } = context;
  const { key, region, defaults: options = noOptions } = config;
  const { http, close } = openConnections(context, { wrapHttp });
  const metadata = createCountedHttp({ cloud, http, clock, onCall });
  const client = createClient({
    http,
    clock,
    onCall,
    region,
    projectId: config.projectId,
    mutationTimeoutMs,
    endpointOf: config.endpointOf,
    keys: key === undefined ? createAgencyKeys(metadata, clock, config.metadata) : lasting(key),
    rateLimiter: createRateLimiter({ cloud, clock, random, limits, onWait }),
  });

  async function identify(signal?: AbortSignal): Promise<CloudIdentity> {
    const account = await client.project(signal);
    await readOneServer(client, signal);
    return { scope: `${new URL(config.endpointOf('ecs')).host}/${region}/${account}`, account };
  }
  return {
    name: cloud,
    identify,
    ...createMachineLookups({ cloud, targetOf, machines: () => [createServers(client, region)] }),
    loadBalancerDriver: createLoadBalancerDriver(client, config, options),
    files: config.options === undefined ? [] : [config.options],
    routes: config.vpc === undefined ? undefined : createRoutes(client, { region, vpc: config.vpc }),
    ping: async (signal) => void (await identify(signal)),
    check: (signal) => checkHuawei(config, client, signal),
    close,
  };
}

const targetOf = targetBy((providerID) => huaweicloud.parse(providerID)?.instanceId.toLowerCase(), 'ECS');
