import { CloudError, isCloudError, kindOfHttpStatus } from '../../common/cloud-error.ts';
import { createHttp, type Http, type HttpAnswer } from '../../common/process/http.ts';
import { readProxies } from '../../common/process/proxy-environment.ts';
import { codecOf } from '../../common/provider-id/registry.ts';
import { createChecks } from './checks.ts';
import type { InstanceRef } from './cloud.ts';
import { createJsonApi } from './json-api.ts';
import { lookupPass, type Target } from './lookup-pass.ts';
import { createMachineReader } from './machines.ts';
import type { CloudKit } from './out-of-tree.ts';
import { createRateLimiter } from './rate-limiter.ts';
import { retryAfterMsOf } from './retry-after.ts';
import { volumeKey } from './volumes.ts';

/** As many as Services are worked on at once: a call that waits here was permitted too early. */
const maxSockets = 48;
const batchSize = 1000;
/** Up to so many instances are asked for one by one; more, and all are listed. */
const listAbove = 2;
const shownLength = 300;

/**
 * The kit of one cloud that is no part of Mooring.
 *
 * @param wrapHttp around every exchange, for worlds that lose answers or count calls
 */
export function createCloudKit(cloud: string, wrapHttp: (http: Http) => Http = (http) => http): CloudKit {
  const { parse, print } = codecOf(cloud);
  const instanceIdOf = (providerID: string) => parse(providerID)?.instanceId;

  function targetOf(ref: InstanceRef): Target {
    if (ref.by === 'name') return { ask: 'name', name: ref.name };
    const id = instanceIdOf(ref.providerID);
    if (id !== undefined) return { ask: 'id', id, by: 'providerID' };
    return { ask: 'nothing', problem: `${JSON.stringify(ref.providerID)} is no providerID of ${cloud}` };
  }

  return {
    name: cloud,
    providerIDOf: (instanceId) => print({ instanceId }),
    instanceIdOf,
    error: (details) => new CloudError({ ...details, cloud }),
    kindOf: (error) => (isCloudError(error) ? error.kind : undefined),
    instances: (machines) => ({
      batchSize,
      lookup(refs, options) {
        const reader = createMachineReader(cloud, machines());
        return lookupPass({ ...options, cloud, refs, reader, listAbove, targetOf });
      },
    }),
    volumeKey,
    jsonApi({ clock, random, env, onCall, onWait, mutationTimeoutMs = 10_000 }, options) {
      const { endpoint, authorization, callsPerSecond: perSecond, burst, timeoutMs = 15_000 } = options;
      const pool = { keepAlive: true, maxSockets };
      const { http, close } = createHttp({ clock, proxyFor: readProxies(env), plain: pool, tls: pool });
      const api = createJsonApi({
        ...{ cloud, http: wrapHttp(http), clock, onCall, endpoint, authorization, timeoutMs, mutationTimeoutMs },
        gate: createRateLimiter({ cloud, clock, random, limits: { perSecond, burst }, onWait }),
        errorOf: (operation, answer) => errorOf(cloud, operation, answer, clock.now()),
      });
      return { ...api, close };
    },
    checks: createChecks,
  };
}

/** @param nowMs Unix time */
function errorOf(cloud: string, operation: string, answer: HttpAnswer, nowMs: number): CloudError {
  const { status, text } = answer;
  // A 404 that is no JSON is of a proxy or a wrong endpoint, and proves nothing.
  const isProxy = status === 404 && !text.trimStart().startsWith('{');
  const kind = isProxy ? 'Unavailable' : kindOfHttpStatus(status);
  const retryAfterMs = kind === 'Throttled' ? retryAfterMsOf(answer, nowMs) : undefined;
  return new CloudError({ kind, cloud, operation, message: `${status} ${text.slice(0, shownLength)}`, retryAfterMs });
}
