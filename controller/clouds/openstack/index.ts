import type { AgentOptions } from 'node:https';
import { createHttp, type Http } from '../../../common/process/http.ts';
import { readProxies } from '../../../common/process/proxy-environment.ts';
import { openstack } from '../../../common/provider-id/openstack.ts';
import type {
  CloudConfigFile,
  CloudContext,
  CloudModule,
  InstanceRef,
  OpenedCloud,
  ReportOnlyCloud,
} from '../cloud.ts';
import { configFilesOf } from '../config-files.ts';
import { lookupPass, type Target } from '../lookup-pass.ts';
import { checkOpenStack } from './check.ts';
import { createClient } from './client.ts';
import { type OpenStackConfig, readConfig } from './config.ts';
import { reachOf, type SettingName } from './credential.ts';
import { createFlavors } from './flavors.ts';
import { createGates } from './gates.ts';
import { createLoadBalancerDriver } from './load-balancers/driver.ts';
import { createReader } from './reader.ts';
import { createRoutes } from './routes/index.ts';
import { isHyphenatedUuid } from './uuid.ts';
import { createVolumes } from './volumes.ts';

/**
 * OpenStack: Nova servers of one project and region, with the classic controller's cloud.conf or a clouds.yaml. Opening
 * makes no call.
 */
export const cloudModule: CloudModule = { name: 'openstack', open };

/** Up to so many servers are asked for one by one; more, and all of the project's are listed. */
const listAbove = 5;

/** As many as Services and routes in work at once, plus lookups: a call that waits here got its permit too early. */
const maxSockets = 48;

export interface OpenStackParts {
  readonly config: OpenStackConfig;
  readonly context: CloudContext;
  /** Around every exchange, for worlds that lose answers or count calls. */
  readonly wrapHttp?: (http: Http) => Http;
}

async function open(file: CloudConfigFile | undefined, context: CloudContext): Promise<OpenedCloud | ReportOnlyCloud> {
  const config = await readConfig(file, context.env, configFilesOf('openstack').readText);
  if ('reportOnly' in config) return config;
  const log = context.log.with({ cloud: 'openstack' });
  for (const warning of config.warnings) log.warn(warning);
  return openOpenStack({ config, context });
}

/** One project and region. Makes no call. @throws CloudConfigError for TLS files that cannot be read */
export async function openOpenStack({
  config,
  context,
  wrapHttp = (http) => http,
}: OpenStackParts): Promise<OpenedCloud> {
  const { clock, env, onCall, mutationTimeoutMs = 10_000 } = context;
  const pool = { keepAlive: true, maxSockets };
  const { http: bare, close } = createHttp({
    clock,
    proxyFor: readProxies(env),
    plain: pool,
    tls: { ...pool, ...(await tlsOptions(config)) },
  });
  const http = wrapHttp(bare);
  const client = createClient({
    ...{ ...config, http, clock, onCall, gates: createGates(context) },
    mutationTimeoutMs: Math.min(config.timeoutMs, mutationTimeoutMs),
  });
  const flavors = createFlavors(client, clock);
  const { region, networking } = config;
  const regionalIds = env['OS_CCM_REGIONAL'] === 'true';
  const tellsUuid = env['MOORING_OPENSTACK_SMBIOS_UUID'] !== 'false';
  const targetOf = (ref: InstanceRef) => targetIn(region, ref);
  const serverIdOf = (providerID: string) => {
    const target = targetOf({ by: 'providerID', providerID });
    return target.ask === 'id' ? target.id : undefined;
  };
  const providerIDOf = (serverId: string) =>
    openstack.print({ instanceId: serverId, ...(regionalIds && region ? { region } : {}) });
  const { routerId, loadBalancer } = config;
  const parts = { client, config: loadBalancer, clock, serverIdOf, providerIDOf };
  return {
    name: 'openstack',
    async identify(signal) {
      const project = encodeURIComponent(await client.project(signal));
      const scopeWith = (reach: string) =>
        [new URL(config.authUrl).host, reach, encodeURIComponent(region ?? '')].join('/').replace(/\/$/, '');
      const [scope, former] = [scopeWith(project), scopeWith(reachOf(config.credential))];
      return { scope, account: project, formerScopes: former === scope ? [] : [former] };
    },
    accepts: (providerID) => serverIdOf(providerID) !== undefined,
    instances: {
      batchSize: 1000,
      lookup: (refs, options) => {
        const reader = createReader({ client, flavors, region, providerIDOf, networking, tellsUuid });
        return lookupPass({ ...options, cloud: 'openstack', refs, reader, listAbove, targetOf });
      },
    },
    loadBalancerDriver: loadBalancer.enabled ? createLoadBalancerDriver(parts) : undefined,
    ...(routerId === undefined ? {} : { routes: createRoutes({ client, routerId, serverIdOf, providerIDOf }) }),
    volumes: createVolumes({ client, region, ignoresZones: config.ignoresVolumeZones }),
    files: config.files,
    ping: async (signal) => {
      const operation = 'GET /servers';
      await client.get({ service: 'compute', path: '/servers', operation, query: [['limit', '1']], signal });
    },
    check: (signal) => checkOpenStack(client, config, signal),
    close,
  };
}

/** Nova knows servers by uuid alone, so any other id is none of this scope's rather than absent from it. */
function targetIn(region: string | undefined, ref: InstanceRef): Target {
  if (ref.by === 'name') return { ask: 'name', name: ref.name };
  const parts = openstack.parse(ref.providerID);
  const held = parts !== undefined && (parts.region === undefined || parts.region === region);
  if (!held || !isHyphenatedUuid(parts.instanceId)) {
    const where = region === undefined ? 'openstack' : `openstack in region ${region}`;
    return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no server of ${where}` };
  }
  return { ask: 'id', id: parts.instanceId.toLowerCase(), by: 'providerID' };
}

async function tlsOptions({ tls, wording }: OpenStackConfig): Promise<AgentOptions> {
  const needed = async (setting: SettingName, path: string): Promise<string> => {
    const text = await configFilesOf('openstack').readText(path);
    if (text === undefined) throw wording.wrong(setting, `${JSON.stringify(path)}: no such file`);
    return text;
  };
  return {
    ...(tls.caFile === undefined ? {} : { ca: await needed('cacert', tls.caFile) }),
    ...(tls.certFile === undefined ? {} : { cert: await needed('cert', tls.certFile) }),
    ...(tls.keyFile === undefined ? {} : { key: await needed('key', tls.keyFile) }),
    ...(tls.insecure ? { rejectUnauthorized: false } : {}),
  };
}
