import { CloudError } from '../../../common/cloud-error.ts';
import { gce, gceRegion } from '../../../common/provider-id/gce.ts';
import type { InstanceRef, OpenedCloud, ReportOnlyCloud } from '../cloud.ts';
import { type CloudPartsWithFiles, configuredModule } from '../configured-module.ts';
import { openConnections } from '../connections.ts';
import { createExchange } from '../exchange.ts';
import { createExpiringCredential } from '../expiring-credential.ts';
import { createJsonApi } from '../json-api.ts';
import type { Target } from '../lookup-pass.ts';
import { createMachineLookups } from '../lookups.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import type { CallLimits } from '../token-bucket.ts';
import { checkGce } from './check.ts';
import { createClient, lastSegment } from './client.ts';
import { type GceConfig, namePattern, readConfig, zonePattern } from './config.ts';
import { findCredential } from './credentials/find-credentials.ts';
import { createMetadataServer, type MetadataServer } from './credentials/metadata-server.ts';
import { cloud, errorOf } from './fault.ts';
import { createLoadBalancerDriver } from './load-balancers/driver.ts';
import { createRoutes } from './routes.ts';
import { createVms } from './vms.ts';
import { createVolumes } from './volumes.ts';

/**
 * Compute Engine: the VMs, load balancers and routes of one project. Opening asks the VM's metadata service where
 * nothing else names a credential, for at most three seconds. It does not call Compute Engine.
 */
export const cloudModule = configuredModule(cloud, readConfig, openGce);

/** Up to so many VMs are asked for one by one; more, and all of their zone or of the project are listed. */
const listAbove = 5;
/** More than is worked on at once: each route and each Service may wait for an operation, and reads have to pass. */
const maxSockets = 64;
/** A project has 1,500 calls a minute of each kind, which others use, too. */
const limits: CallLimits = { perSecond: 10, burst: 300 };

/** One project. */
export async function openGce(parts: CloudPartsWithFiles<GceConfig>): Promise<OpenedCloud | ReportOnlyCloud> {
  const { config, context, readText, wrapHttp } = parts;
  const { clock, random, onCall, onWait, env, mutationTimeoutMs = 10_000 } = context;
  const { http, close } = openConnections(context, { wrapHttp, maxSockets });
  const unlimited = () => createRateLimiter({ cloud, clock, random });
  const exchange = createExchange({ cloud, http, clock, onCall, rateLimiter: unlimited() });
  const metadata = createMetadataServer(exchange, env['GCE_METADATA_HOST'] || '169.254.169.254');
  const credential = await findCredential(config, env, metadata, { exchange, clock, readText }).catch((error) => {
    close();
    throw error;
  });
  if ('tried' in credential) {
    close();
    return { reportOnly: `no credential of Google Cloud: tried ${credential.tried}`, retryable: true };
  }
  const tokens = createExpiringCredential(credential.tokens, clock);
  const endpoint = config.endpoint ?? `https://compute.${credential.universe}/compute/v1`;
  const client = createClient({
    http,
    clock,
    onCall,
    endpoint,
    mutationTimeoutMs,
    token: tokens.get,
    onUnauthorized: tokens.forget,
    rateLimiter: createRateLimiter({ cloud, clock, random, limits, onWait }),
  });
  const resourceManager = createJsonApi({
    cloud,
    http,
    clock,
    onCall,
    mutationTimeoutMs,
    rateLimiter: unlimited(),
    timeoutMs: 15_000,
    endpoint: config.resourceManagerEndpoint ?? `https://cloudresourcemanager.${credential.universe}`,
    authorization: async () => `Bearer ${await tokens.get()}`,
    errorOf: (operation, answer) => errorOf(operation, answer, clock.now()),
  });
  const named = config.project ?? (env['GOOGLE_CLOUD_PROJECT'] || credential.project);
  /** The project's id: of a number only the API tells it. */
  let project = named === undefined || /^\d+$/.test(named) ? undefined : named;
  let number: string | undefined;
  let network: { readonly project: string; readonly name: string } | undefined;

  async function readProject(signal: AbortSignal | undefined): Promise<string> {
    const path = `/projects/${encodeURIComponent(named ?? (await metadata.read('project/project-id')))}`;
    const query = [['fields', 'name,id']] as const;
    const found = await client.call({ path, operation: 'projects.get', query, signal });
    number = found.text('id');
    return found.text('name');
  }
  async function readNetwork() {
    const own = projectId();
    const hostOf = (of: string | undefined) => (of === undefined || of === number ? own : of);
    if (config.network !== undefined) return { project: hostOf(config.networkProject), name: config.network };
    const path = await metadata.read('instance/network-interfaces/0/network').catch((cause: unknown) => {
      const message = 'network-name: missing, and no metadata service tells it; expected the name of the network';
      throw new CloudError({ kind: 'Invalid', cloud, operation: 'networks.get', message, cause });
    });
    // `projects/NUMBER/networks/NAME`: with a Shared VPC not the number of the VM's project.
    const [, host] = /projects\/([^/]+)\/networks\//.exec(path) ?? [];
    const isOurs = (await metadata.read('project/numeric-project-id').catch(() => undefined)) === number;
    return { project: hostOf(config.networkProject ?? (isOurs ? host : undefined)), name: lastSegment(path) };
  }
  const networkOnce = async () => {
    network ??= await readNetwork();
    return network;
  };
  const projectId = () => {
    if (project !== undefined) return project;
    throw new CloudError({
      kind: 'Unavailable',
      cloud,
      operation: 'projects.get',
      message: 'the project is not known',
    });
  };
  const isOfVm = credential.files.length === 0 && config.tokenSource === undefined;
  const region = config.region ?? (isOfVm ? await regionOfVm(metadata) : undefined);
  if (region === undefined) context.log.warn('no load balancers: neither local-zone nor region says where', { cloud });
  const { nodeTags, subnet, clusterId } = config;
  const loadBalancers = { client, clock, nodeTags, subnet, clusterId, project: projectId, network: networkOnce };
  const targetOf = (ref: InstanceRef) => targetIn(project, ref);
  const idOf = (providerID: string) => {
    const target = targetOf({ by: 'providerID', providerID });
    return target.ask === 'id' ? target.id : undefined;
  };
  return {
    name: cloud,
    async identify(signal) {
      project = await readProject(signal);
      return { scope: `${new URL(endpoint).host}/${project}`, account: project };
    },
    ...createMachineLookups({ cloud, listAbove, targetOf, machines: () => [createVms(client, config, project ?? '')] }),
    loadBalancerDriver: region === undefined ? undefined : createLoadBalancerDriver({ ...loadBalancers, region }),
    routes: createRoutes({ client, clock, project: projectId, network: networkOnce, idOf }),
    volumes: createVolumes(client, projectId),
    files: credential.files,
    ping: async (signal) => void (await readProject(signal)),
    check: (signal) =>
      checkGce(
        {
          client,
          resourceManager,
          from: credential.from,
          endpoint,
          project: readProject,
          network: networkOnce,
          hasLoadBalancers: region !== undefined,
        },
        signal,
      ),
    close,
  };
}

/** The region of the VM where the controller runs; undefined: it is none of Compute Engine. */
async function regionOfVm(metadata: MetadataServer): Promise<string | undefined> {
  const zone = await metadata.read('instance/zone').catch(() => undefined);
  return zone && gceRegion(lastSegment(zone));
}

/** A host name may stand for the VM's name, as with the classic controller. */
function targetIn(project: string | undefined, ref: InstanceRef): Target {
  if (ref.by === 'name') return { ask: 'name', name: ref.name.split('.', 1)[0]! };
  const id = gce.parse(ref.providerID)?.instanceId;
  const [of, zone = '', name = ''] = id?.split('/') ?? [];
  // They become a part of a path.
  if (id !== undefined && of === project && zonePattern.test(zone) && namePattern.test(name))
    return { ask: 'id', id, by: 'providerID' };
  return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no instance of project ${project}` };
}
