import { isCloudError } from '../../../common/cloud-error.ts';
import type { Http } from '../../../common/process/http.ts';
import { simulated } from '../../../common/provider-id/simulated.ts';
import type { CheckResult, Cloud, CloudContext } from '../cloud.ts';
import { createJsonApi } from '../json-api.ts';
import { createLookups, targetBy } from '../lookups.ts';
import { createMachineReader } from '../machines.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import type { Routes } from '../routes.ts';
import { createSimulatedClient, type SimulatedClient } from './client.ts';
import type { SimulatedConfig } from './config.ts';
import { cloud, errorOf, refusalOf } from './fault.ts';
import { instanceId } from './instance-answer.ts';
import { createInstances } from './instances.ts';
import { createLoadBalancerDriver, type SimulatedDriver } from './load-balancer-driver.ts';
import { createRoutes } from './routes.ts';
import { createVolumes } from './volumes.ts';

export interface SimulatedCloudParts {
  readonly config: SimulatedConfig;
  readonly context: CloudContext;
  /** How requests travel: over sockets, or straight into a simulated cloud in the same process. */
  readonly http: Http;
  /** Called before every call, so that a renewed one is used. Throws a CloudError. */
  readonly credential: () => Promise<string>;
  /** That the credential was read from. */
  readonly files?: readonly string[];
  /** Of one call. Default 10 s. */
  readonly timeoutMs?: number;
  /** Closes what `http` holds open. */
  readonly close?: () => void;
}

/** One project and region of a simulated cloud. Makes no call by itself. */
export function createSimulatedCloud(parts: SimulatedCloudParts): Cloud {
  const { config, context, http, credential, files = [], timeoutMs = 10_000, close = () => {} } = parts;
  const { clock, random, onCall } = context;
  const api = createJsonApi({
    cloud,
    http,
    clock,
    onCall,
    timeoutMs,
    mutationTimeoutMs: context.mutationTimeoutMs ?? timeoutMs,
    gate: createRateLimiter({ cloud, clock, random }),
    endpoint: `${config.endpoint}/v1/projects/${config.project}/regions/${config.region}`,
    authorization: async () => `Bearer ${await credential()}`,
    errorOf: (operation, answer) => errorOf(operation, answer, clock.now()),
  });
  const client = createSimulatedClient(config, api);

  /** The instance id, when this scope could hold it. */
  function heldId(providerID: string): string | undefined {
    const told = simulated.parse(providerID);
    return told?.region === config.region && instanceId.test(told.instanceId) ? told.instanceId : undefined;
  }

  const { region, maxMembers, settleMs = 5000 } = config;
  const driver = createLoadBalancerDriver({ api, region, idOf: heldId, maxMembers, settleMs });
  const routes = createRoutes({ api, region, idOf: heldId });
  return {
    name: cloud,
    scope: `${config.endpoint}/${config.project}/${config.region}`,
    account: config.project,
    ...createLookups({
      cloud,
      listAbove: 1,
      targetOf: targetBy(heldId, `instance of simulated://${region}`),
      createReader: () => createMachineReader(cloud, [createInstances(client, region)]),
    }),
    loadBalancerDriver: driver,
    routes,
    volumes: createVolumes(api, region),
    files,
    ping: (signal) => client.region(signal),
    check: (signal) => check({ client, config, driver, routes }, signal),
    close,
  };
}

interface Provable {
  readonly client: SimulatedClient;
  readonly config: SimulatedConfig;
  readonly driver: SimulatedDriver;
  readonly routes: Routes;
}

async function check({ client, config, driver, routes }: Provable, signal?: AbortSignal): Promise<CheckResult[]> {
  const { endpoint, project, region } = config;
  const results: CheckResult[] = [];
  const prove = async (name: string, proof: () => Promise<string>) => {
    try {
      results.push({ name, ok: true, message: await proof() });
    } catch (error) {
      results.push({
        name,
        ok: false,
        message: `${error instanceof Error ? error.message : error}. ${adviceFor(error)}`,
      });
    }
  };
  await prove('region', async () => {
    await client.region(signal);
    return `${endpoint} serves region ${region} of project ${project} to this credential`;
  });
  await prove('instances', async () => {
    if (await client.any(signal)) return 'instances can be listed';
    return `no instance is visible: if project ${project} has any in ${region}, the credential is another project's`;
  });
  await prove('load balancers', async () => {
    await driver.probe(signal);
    return 'load balancers and addresses can be listed';
  });
  await prove('routes', async () => {
    // No cluster has an empty UID: all that counts is that the table can be read.
    const { routes: seen, quota } = await routes.observe('', signal);
    const room = quota && `${seen.length} routes, ${quota.used} of ${quota.limit} in use`;
    return room ?? `${seen.length} routes; the cloud tells no limit`;
  });
  return results;
}

function adviceFor(error: unknown): string {
  switch (isCloudError(error) ? error.kind : undefined) {
    case 'Unauthorized':
      return 'Check credential or credentialFile';
    case 'Forbidden':
      return 'Grant the credential the right to read instances, load balancers, addresses and routes';
    case 'Throttled':
      return 'Try again later';
    case 'Unavailable':
    case 'Timeout':
      // An endpoint that answered is reachable.
      if (refusalOf(error)) return "See the cloud's status, and try again later";
      return 'Check that the endpoint is right and reachable from here';
    default:
      return 'Check endpoint, project and region';
  }
}
