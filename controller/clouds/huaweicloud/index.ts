import { createHttp, type Http } from '../../../common/process/http.ts';
import { readProxies } from '../../../common/process/proxy-environment.ts';
import { huaweicloud } from '../../../common/provider-id/huaweicloud.ts';
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
export const cloudModule: CloudModule = { name: cloud, open };

/** Up to so many ECSs are asked for one by one; more, and all of the project are listed. */
const listAbove = 2;
/** A call that waits here was permitted too early. */
const maxSockets = 48;
/** The gateway counts per user and API, and throttles at hundreds a minute. */
const limits = { perSecond: 10, burst: 50 };

export interface HuaweiParts {
  readonly config: HuaweiConfig;
  readonly context: CloudContext;
  /** Defaults of load balancers. */
  readonly options?: Options;
  /** Around every exchange, for worlds that lose answers or count calls. */
  readonly wrapHttp?: (http: Http) => Http;
}

async function open(file: CloudConfigFile | undefined, context: CloudContext): Promise<OpenedCloud | ReportOnlyCloud> {
  const config = readConfig(file, context.env);
  if ('reportOnly' in config) return config;
  const options = await readOptions(config.options, configFilesOf(cloud).readText);
  for (const warning of [...config.warnings, ...options.warnings]) context.log.warn(warning, { cloud });
  return openHuawei({ config, context, options });
}

/** One project. Makes no call. */
export function openHuawei(parts: HuaweiParts): OpenedCloud {
  const { config, context, options = noOptions, wrapHttp = (http: Http) => http } = parts;
  const { clock, random, onCall, onWait, mutationTimeoutMs = 10_000 } = context;
  const { key, region } = config;
  const pool = { keepAlive: true, maxSockets };
  const { http: plain, close } = createHttp({ clock, proxyFor: readProxies(context.env), plain: pool, tls: pool });
  const http = wrapHttp(plain);
  const metadata = createCountedHttp({ cloud, http, clock, onCall });
  const client = createClient({
    ...{ http, clock, onCall, region, projectId: config.projectId, mutationTimeoutMs, endpointOf: config.endpointOf },
    keys: key === undefined ? createAgencyKeys({ http: metadata, clock, metadata: config.metadata }) : async () => key,
    gate: createRateLimiter({ cloud, clock, random, limits, onWait }),
  });

  async function identify(signal?: AbortSignal): Promise<CloudIdentity> {
    const account = await client.project(signal);
    await readOneServer(client, signal);
    return { scope: `${new URL(config.endpointOf('ecs')).host}/${region}/${account}`, account };
  }
  return {
    name: cloud,
    identify,
    accepts: (providerID) => targetOf({ by: 'providerID', providerID }).ask === 'id',
    instances: {
      batchSize: 1000,
      lookup: (refs, options) => {
        const reader = createMachineReader(cloud, [createServers(client, region)]);
        return lookupPass({ ...options, cloud, refs, reader, listAbove, targetOf });
      },
    },
    loadBalancerDriver: createLoadBalancerDriver({ client, config, options }),
    files: config.options === undefined ? [] : [config.options],
    routes: config.vpc === undefined ? undefined : createRoutes({ client, region, vpc: config.vpc }),
    ping: async (signal) => void (await identify(signal)),
    check: (signal) => checkHuawei(config, client, signal),
    close,
  };
}

function targetOf(ref: InstanceRef): Target {
  if (ref.by === 'name') return { ask: 'name', name: ref.name };
  const id = huaweicloud.parse(ref.providerID)?.instanceId.toLowerCase();
  if (id !== undefined) return { ask: 'id', id, by: 'providerID' };
  return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no ECS` };
}
