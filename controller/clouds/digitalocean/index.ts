import { createHttp, type Http } from '../../../common/process/http.ts';
import { readProxies } from '../../../common/process/proxy-environment.ts';
import { digitalocean } from '../../../common/provider-id/digitalocean.ts';
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
import { lookupPass, type Target } from '../lookup-pass.ts';
import { createMachineReader } from '../machines.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import { checkDigitalOcean } from './check.ts';
import { cloud, createClient } from './client.ts';
import { type DigitalOceanConfig, readConfig } from './config.ts';
import { createLoadBalancerDriver } from './driver.ts';
import { createDroplets } from './droplets.ts';

/** DigitalOcean: the droplets and load balancers of one account. Opening makes no call. */
export const cloudModule: CloudModule = { name: cloud, open };

/** Up to so many droplets are asked for one by one; more, and all of the account are listed. */
const listAbove = 2;
/** As many as Services are worked on at once: a call that waits here was permitted too early. */
const maxSockets = 48;
/** The API takes 250 calls a minute, of which others make some, too. */
const burst = 150;

export interface DigitalOceanParts {
  readonly config: DigitalOceanConfig;
  readonly context: CloudContext;
  /** Around every exchange, for worlds that lose answers or count calls. */
  readonly wrapHttp?: (http: Http) => Http;
}

async function open(file: CloudConfigFile | undefined, context: CloudContext): Promise<OpenedCloud | ReportOnlyCloud> {
  const config = await readConfig(file, context.env, configFilesOf(cloud).readText);
  if ('reportOnly' in config) return config;
  for (const warning of config.warnings) context.log.warn(warning, { cloud });
  if (config.region === undefined && config.vpc === undefined)
    context.log.warn('no load balancers: neither REGION nor DO_CLUSTER_VPC_ID says where', { cloud });
  return openDigitalOcean({ config, context });
}

/** One account. Makes no call. */
export function openDigitalOcean({ config, context, wrapHttp = (http) => http }: DigitalOceanParts): OpenedCloud {
  const { clock, random, onCall, onWait, mutationTimeoutMs = 10_000 } = context;
  const pool = { keepAlive: true, maxSockets };
  const { http, close } = createHttp({ clock, proxyFor: readProxies(context.env), plain: pool, tls: pool });
  const limits = { perSecond: config.callsPerSecond, burst };
  const client = createClient({
    ...{ http: wrapHttp(http), clock, onCall, endpoint: config.endpoint, mutationTimeoutMs },
    authorization: `Bearer ${config.token}`,
    gate: createRateLimiter({ cloud, clock, random, limits, onWait }),
  });
  const hasPlace = config.region !== undefined || config.vpc !== undefined;

  async function identify(signal?: AbortSignal): Promise<CloudIdentity> {
    const found = (await client.call({ path: '/v2/account', signal })).object('account');
    // A token belongs to a team; those of old accounts to a user.
    const account = found.optionalObject('team')?.optionalText('uuid') ?? found.text('uuid');
    return { scope: `${new URL(config.endpoint).host}/${account}`, account };
  }
  return {
    name: cloud,
    identify,
    accepts: (providerID) => targetOf({ by: 'providerID', providerID }).ask === 'id',
    instances: {
      batchSize: 1000,
      lookup: (refs, options) => {
        const reader = createMachineReader(cloud, [createDroplets(client)]);
        return lookupPass({ ...options, cloud, refs, reader, listAbove, targetOf });
      },
    },
    loadBalancerDriver: hasPlace ? createLoadBalancerDriver({ client, config }) : undefined,
    files: config.files,
    ping: async (signal) => void (await identify(signal)),
    check: (signal) => checkDigitalOcean(config, client, signal),
    close,
  };
}

function targetOf(ref: InstanceRef): Target {
  if (ref.by === 'name') return { ask: 'name', name: ref.name };
  const id = digitalocean.parse(ref.providerID)?.instanceId;
  if (id !== undefined) return { ask: 'id', id, by: 'providerID' };
  return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no droplet` };
}
