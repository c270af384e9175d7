import { randomUUID } from 'node:crypto';
import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { azure as providerId } from '../../../common/provider-id/azure.ts';
import type { CloudIdentity, InstanceRef, OpenedCloud } from '../cloud.ts';
import { type CloudPartsWithFiles, configuredModule } from '../configured-module.ts';
import { openConnections } from '../connections.ts';
import type { Target } from '../lookup-pass.ts';
import { createMachineLookups } from '../lookups.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import type { CallLimits } from '../token-bucket.ts';
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
export const cloudModule = configuredModule(cloud, readConfig, openAzure);

/** Up to so many VMs are asked for one by one; more, and their resource groups and scale sets are listed. */
const listAbove = 2;
/** Resource Manager gives a credential 250 reads at once and 25 a second in a subscription, which others use, too. */
const limits: CallLimits = { perSecond: 10, burst: 150 };

const identification = 'GET subscriptions/{id}';

/** One subscription. Makes no call. */
export function openAzure({ config, context, readText, wrapHttp }: CloudPartsWithFiles<AzureConfig>): OpenedCloud {
  const { clock, random, onCall, onWait, mutationTimeoutMs = 10_000 } = context;
  const { http, close } = openConnections(context, { wrapHttp });
  const { environment, subscription, tenant, routeTable, authority, balancers } = config;
  const { endpoint } = environment;
  const discover = 'name' in environment ? createDiscovery(http, endpoint, environment.name) : async () => environment;
  const tokens = createTokens({
    http,
    clock,
    credential: config.credential,
    readText,
    onCall,
    uniqueId: randomUUID,
    async environment() {
      const found = await discover();
      return authority === undefined ? found : { ...found, authority };
    },
  });
  const rateLimiter = createRateLimiter({ cloud, clock, random, limits, onWait });
  const client = createClient({ http, clock, rateLimiter, tokens, endpoint, mutationTimeoutMs, onCall });

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
    ...createMachineLookups({
      cloud,
      listAbove,
      targetOf: (ref) => targetIn(subscription, ref),
      machines: () => [createVirtualMachines(client, config)],
    }),
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
