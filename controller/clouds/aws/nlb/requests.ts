import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { codeOf } from '../errors.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { groupOf } from './edit-pieces.ts';
import type { Pieces } from './observed.ts';
import type { ListenerWish, NlbCall } from './step.ts';
import type { Health } from './wanted.ts';

export type Call<Does extends NlbCall['does']> = NlbCall & { readonly does: Does };

/** How soon a call is worth another try that something still in use refused. */
const inUseMs = 5_000;

export function listenerRequest({ port, protocol, certificate, policy, group: name }: ListenerWish, pieces: Pieces) {
  const group = groupOf(pieces, name);
  return {
    group,
    Port: port,
    Protocol: protocol as 'TCP',
    DefaultActions: [{ Type: 'forward' as const, TargetGroupArn: group.arn }],
    ...(certificate !== undefined && { Certificates: [{ CertificateArn: certificate }] }),
    ...(policy !== undefined && { SslPolicy: policy }),
  };
}

export function healthRequest({ protocol, port, path, healthy, unhealthy, interval, timeout }: Health) {
  return {
    ...{ HealthCheckProtocol: protocol as 'TCP', HealthCheckPort: port, HealthCheckIntervalSeconds: interval },
    ...{ HealthyThresholdCount: healthy, UnhealthyThresholdCount: unhealthy },
    ...(path !== undefined && { HealthCheckPath: path }),
    ...(timeout !== undefined && { HealthCheckTimeoutSeconds: timeout }),
  };
}

export function sdkTags(tags: Tags): { Key: string; Value: string }[] {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}

/** Something uses it for a while after what used it is gone. */
export async function patiently<Answer>(run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    if (!isCloudError(error) || codeOf(error) !== 'ResourceInUse') throw error;
    const { kind, operation, message, cause } = error;
    throw new CloudError({ kind, cloud: 'aws', operation, message, retryAfterMs: inUseMs, cause });
  }
}

export async function unlessGone(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!isCloudError(error) || error.kind !== 'NotFound') throw error;
  }
}
