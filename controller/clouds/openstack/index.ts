import { openstack } from '../../../common/provider-id/openstack.ts';
import type { OpenedCloud } from '../cloud.ts';
import { type CloudParts, configuredModule } from '../configured-module.ts';
import { openConnections } from '../connections.ts';
import { createLookups, targetBy } from '../lookups.ts';
import { checkOpenStack } from './check.ts';
import { createClient } from './client.ts';
import { type OpenStackConfig, readConfig } from './config.ts';
import { reachOf } from './credential.ts';
import { createFlavors } from './flavors.ts';
import { createLoadBalancerDriver } from './load-balancers/driver.ts';
import { nodeLabels } from './load-balancers/node-labels.ts';
import { createRateLimiters } from './rate-limiters.ts';
import { createReader } from './reader.ts';
import { createRoutes } from './routes/index.ts';
import { isHyphenatedUuid } from './uuid.ts';
import { createVolumes } from './volumes.ts';

/**
 * OpenStack: Nova servers of one project and region, with the classic controller's cloud.conf or a clouds.yaml. Opening
 * makes no call.
 */
export const cloudModule = configuredModule('openstack', readConfig, openOpenStack, {
  nodeLabels: nodeLabels({ nodeSelector: [] }),
  configured: 'node-selector of the cloud config, for Services that have no such annotation',
});

/** Up to so many servers are asked for one by one; more, and all of the project's are listed. */
const listAbove = 5;

/** One project and region. Makes no call. */
export function openOpenStack(parts: CloudParts<OpenStackConfig>): OpenedCloud {
  const { config, context, wrapHttp } = parts;
  const { clock, env, onCall, mutationTimeoutMs = 10_000 } = context;
  const { http, close } = openConnections(context, { wrapHttp, tls: config.tls });
  const client = createClient({
    ...config,
    http,
    clock,
    onCall,
    rateLimiters: createRateLimiters(context),
    mutationTimeoutMs: Math.min(config.timeoutMs, mutationTimeoutMs),
  });
  const flavors = createFlavors(client, clock);
  const { region, networking } = config;
  const regionalIds = env['OS_CCM_REGIONAL'] === 'true';
  const tellsUuid = env['MOORING_OPENSTACK_SMBIOS_UUID'] !== 'false';
  const serverIdOf = (providerID: string) => serverIdIn(region, providerID);
  const providerIDOf = (serverId: string) =>
    openstack.print({ instanceId: serverId, ...(regionalIds && region ? { region } : {}) });
  const { routerId, loadBalancer } = config;
  const balancerParts = { client, config: loadBalancer, clock, serverIdOf, providerIDOf };
  return {
    name: 'openstack',
    async identify(signal) {
      const project = encodeURIComponent(await client.project(signal));
      const scopeWith = (reach: string) =>
        [new URL(config.authUrl).host, reach, encodeURIComponent(region ?? '')].join('/').replace(/\/$/, '');
      const [scope, former] = [scopeWith(project), scopeWith(reachOf(config.credential))];
      return { scope, account: project, formerScopes: former === scope ? [] : [former] };
    },
    ...createLookups({
      cloud: 'openstack',
      listAbove,
      targetOf: targetBy(serverIdOf, `server of openstack${region === undefined ? '' : ` in region ${region}`}`),
      createReader: () => createReader({ client, flavors, region, providerIDOf, networking, tellsUuid }),
    }),
    loadBalancerDriver: loadBalancer.enabled ? createLoadBalancerDriver(balancerParts) : undefined,
    ...(routerId === undefined ? {} : { routes: createRoutes({ client, routerId, serverIdOf, providerIDOf }) }),
    volumes: createVolumes({ client, region, ignoresZones: config.ignoresVolumeZones }),
    files: config.files,
    ping: async (signal) => {
      await client.get({ service: 'compute', path: '/servers', query: [['limit', '1']], signal });
    },
    check: (signal) => checkOpenStack(client, config, signal),
    close,
  };
}

/** Nova knows servers by uuid alone, so any other id is none of this scope's rather than absent from it. */
function serverIdIn(region: string | undefined, providerID: string): string | undefined {
  const parts = openstack.parse(providerID);
  const held = parts !== undefined && (parts.region === undefined || parts.region === region);
  return held && isHyphenatedUuid(parts.instanceId) ? parts.instanceId.toLowerCase() : undefined;
}
