import type { Http } from '../../../common/process/http.ts';
import { simulated } from '../../../common/provider-id/simulated.ts';
import type { Cloud, CloudContext } from '../cloud.ts';
import { createJsonApi } from '../json-api.ts';
import { createMachineLookups, targetBy } from '../lookups.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import { checkSimulated, readRegion } from './check.ts';
import type { SimulatedConfig } from './config.ts';
import { cloud, errorOf } from './fault.ts';
import { instanceId } from './instance-answer.ts';
import { createInstances } from './instances.ts';
import { createLoadBalancerDriver } from './load-balancer-driver.ts';
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
    rateLimiter: createRateLimiter({ cloud, clock, random }),
    endpoint: `${config.endpoint}/v1/projects/${config.project}/regions/${config.region}`,
    authorization: async () => `Bearer ${await credential()}`,
    errorOf,
  });

  /** The instance id, when this scope could hold it. */
  function heldId(providerID: string): string | undefined {
    const told = simulated.parse(providerID);
    return told?.region === config.region && instanceId.test(told.instanceId) ? told.instanceId : undefined;
  }

  const { region, maxMembers, settleMs = 5000 } = config;
  const routes = createRoutes({ api, region, idOf: heldId });
  return {
    name: cloud,
    scope: `${config.endpoint}/${config.project}/${config.region}`,
    account: config.project,
    ...createMachineLookups({
      cloud,
      listAbove: 1,
      targetOf: targetBy(heldId, `instance of simulated://${region}`),
      machines: () => [createInstances(api, region)],
    }),
    loadBalancerDriver: createLoadBalancerDriver({ api, region, idOf: heldId, maxMembers, settleMs }),
    routes,
    volumes: createVolumes(api, region),
    files,
    ping: (signal) => readRegion({ api, config }, signal),
    check: (signal) => checkSimulated({ api, config, routes }, signal),
    close,
  };
}
