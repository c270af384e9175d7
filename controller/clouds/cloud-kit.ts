import { CloudError, isCloudError, kindOfHttpStatus } from '../../common/cloud-error.ts';
import type { HttpAnswer } from '../../common/process/http.ts';
import { codecOf } from '../../common/provider-id/registry.ts';
import { createChecks } from './checks.ts';
import type { WrapHttp } from './connections.ts';
import { openJsonApi } from './json-api.ts';
import { createMachineLookups, targetBy } from './lookups.ts';
import type { CloudKit } from './out-of-tree.ts';
import { retryAfterMsOf } from './retry-after.ts';
import { volumeKey } from './volumes.ts';

const shownLength = 300;

/**
 * The kit of one cloud that is no part of Mooring.
 *
 * @param wrapHttp around every exchange, for worlds that lose answers or count calls
 */
export function createCloudKit(cloud: string, wrapHttp?: WrapHttp): CloudKit {
  const { parse, print } = codecOf(cloud);
  const instanceIdOf = (providerID: string) => parse(providerID)?.instanceId;
  const targetOf = targetBy(instanceIdOf, `providerID of ${cloud}`);

  return {
    name: cloud,
    providerIDOf: (instanceId) => print({ instanceId }),
    instanceIdOf,
    error: (details) => new CloudError({ ...details, cloud }),
    kindOf: (error) => (isCloudError(error) ? error.kind : undefined),
    instances: (machines) => createMachineLookups({ cloud, targetOf, machines }).instances,
    volumeKey,
    jsonApi(context, { endpoint, authorization, callsPerSecond: perSecond, burst, timeoutMs }) {
      return openJsonApi(context, {
        cloud,
        endpoint,
        authorization,
        timeoutMs,
        wrapHttp,
        limits: { perSecond, burst },
        errorOf: (operation, answer, nowMs) => errorOf(cloud, operation, answer, nowMs),
      });
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
