import { randomUUID } from 'node:crypto';
import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { createHttp, type Http } from '../../../common/process/http.ts';
import { readProxies } from '../../../common/process/proxy-environment.ts';
import { azure as providerId } from '../../../common/provider-id/azure.ts';
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
import type { CallLimits } from '../token-bucket.ts';
import type { ReadText } from '../variables.ts';
import { checkAzure } from './check.ts';
import { createClient, versions } from './client.ts';
import { type AzureConfig, readConfig } from './config.ts';
import { createDiscovery } from './discovery.ts';
import { cloud } from './fault.ts';
import { createLoadBalancerDriver } from './load-balancers/driver.ts';
import { groupPath, readVmId } from './resource-id.ts';
import { createRoutes } from './routes.ts';
import { createTokens } from './tokens.ts';
import { createVirtualMachines } from './virtual-machines.ts';
import { createVolumes } from './volumes.ts';

/** Azure: VMs and scale sets of one subscription, a route table, and load balancers. Opening makes no call. */
export const cloudModule: CloudModule = { name: cloud, open };

/** Up to so many VMs are asked for one by one; more, and their resource groups and scale sets are listed. */
const listAbove = 2;
/** As many as routes are worked on at once: a call that waits here was permitted too early. */
const maxSockets = 48;
/** Resource Manager gives a credential 250 reads at once and 25 a second in a subscription, which others use, too. */
const limits: CallLimits = { perSecond: 10, burst: 150 };

const identification = 'GET subscriptions/{id}';

export interface AzureParts {
  readonly config: AzureConfig;
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
  return openAzure({ config, context, readText });
}

/** One subscription. Makes no call. */
export function openAzure({ config, context, readText, wrapHttp = (http) => http }: AzureParts): OpenedCloud {
  const { clock, random, onCall, onWait, mutationTimeoutMs = 10_000 } = context;
  const pool = { keepAlive: true, maxSockets };
  const { http: bare, close } = createHttp({ clock, proxyFor: readProxies(context.env), plain: pool, tls: pool });
  const http = wrapHttp(bare);
  const { environment, subscription, tenant, routeTable, authority, balancers } = config;
  const { endpoint } = environment;
  const discover = 'name' in environment ? createDiscovery(http, endpoint, environment.name) : async () => environment;
  const tokens = createTokens({
    ...{ http, clock, credential: config.credential, readText, onCall, uniqueId: randomUUID },
    async environment() {
      const found = await discover();
      return authority === undefined ? found : { ...found, authority };
    },
  });
  const gate = createRateLimiter({ cloud, clock, random, limits, onWait });
  const client = createClient({ http, clock, gate, tokens, endpoint, mutationTimeoutMs, onCall });

  /** Of the subscription. Undefined where the role shows the resource group alone, which is proof enough. */
  async function tenantOf(signal: AbortSignal | undefined): Promise<string | undefined> {
    try {
      const request = { operation: identification, path: `/subscriptions/${subscription}`, signal };
      return (await client.get({ ...request, version: versions.resources })).optionalText('tenantId');
    } catch (error) {
      if (!isCloudError(error) || error.kind !== 'Forbidden') throw error;
      const path = groupPath(subscription, config.resourceGroup, 'Microsoft.Compute/virtualMachines');
      await client.get({ operation: 'GET virtualMachines', path, version: versions.compute, signal });
      return undefined;
    }
  }

  async function identify(signal?: AbortSignal): Promise<CloudIdentity> {
    const owner = await tenantOf(signal);
    const isTenantId = /^[0-9a-f-]{36}$/i.test(tenant ?? '');
    if (isTenantId && owner !== undefined && owner.toLowerCase() !== tenant?.toLowerCase()) {
      const message = `subscription ${subscription} belongs to tenant ${owner}, expected ${tenant}: see tenantId`;
      throw new CloudError({ kind: 'Invalid', cloud, operation: identification, message });
    }
    return { scope: `${new URL(endpoint).host}/${subscription}`, account: subscription };
  }

  return {
    name: cloud,
    identify,
    accepts: (providerID) => targetIn(subscription, { by: 'providerID', providerID }).ask === 'id',
    instances: {
      batchSize: 1000,
      lookup: (refs, options) => {
        const reader = createMachineReader(cloud, [createVirtualMachines(client, config)]);
        const targetOf = (ref: InstanceRef) => targetIn(subscription, ref);
        return lookupPass({ ...options, cloud, refs, reader, listAbove, targetOf });
      },
    },
    ...(routeTable === undefined ? {} : { routes: createRoutes({ client, clock, config, table: routeTable }) }),
    loadBalancerDriver: balancers && createLoadBalancerDriver(client, balancers, clock),
    volumes: createVolumes(client, subscription),
    files: config.files,
    ping: async (signal) => void (await identify(signal)),
    check: (signal) => checkAzure(client, config, signal),
    close,
  };
}

function targetIn(subscription: string, ref: InstanceRef): Target {
  if (ref.by === 'name') return { ask: 'name', name: ref.name.toLowerCase() };
  const id = readVmId(providerId.parse(ref.providerID)?.instanceId ?? '');
  if (id?.subscription === subscription) return { ask: 'id', id: id.id, by: 'providerID' };
  return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no VM of subscription ${subscription}` };
}
