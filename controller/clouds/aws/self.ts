import type { Instance as Ec2Instance } from '@aws-sdk/client-ec2';
import { createHttp, HttpFailure } from '../../../common/process/http.ts';
import type { CloudContext } from '../cloud.ts';
import { type Ec2, getInstances } from './ec2.ts';

const metadataTimeoutMs = 2000;

/**
 * The id of this process's instance, from its metadata service (IMDSv2). Undefined where that does not answer: outside
 * EC2, or in a container that is one hop too far away.
 */
export async function ownInstanceId(
  { clock, env }: Pick<CloudContext, 'clock' | 'env'>,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (env['AWS_EC2_METADATA_DISABLED']?.toLowerCase() === 'true') return undefined;
  const base = (env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] || 'http://169.254.169.254').replace(/\/+$/, '');
  const { http, close } = createHttp({ clock });
  const ask = { timeoutMs: metadataTimeoutMs, signal, maxBytes: 4096 };
  try {
    const headers = { 'x-aws-ec2-metadata-token-ttl-seconds': '60' };
    const token = await http({ ...ask, method: 'PUT', url: `${base}/latest/api/token`, headers });
    if (token.status !== 200) return undefined;
    const answer = await http({
      ...ask,
      url: `${base}/latest/meta-data/instance-id`,
      headers: { 'x-aws-ec2-metadata-token': token.text },
    });
    return answer.status === 200 && /^i-[0-9a-z]+$/.test(answer.text) ? answer.text : undefined;
  } catch (error) {
    if (error instanceof HttpFailure) return undefined;
    throw error;
  } finally {
    close();
  }
}

/**
 * This process's instance, as EC2 returns it. Throws a CloudError where EC2 does not answer; the next call asks again.
 */
export function createSelf(
  ec2: Ec2,
  context: Pick<CloudContext, 'clock' | 'env'>,
): (signal?: AbortSignal) => Promise<Ec2Instance | undefined> {
  let known: { readonly instance: Ec2Instance } | undefined;
  return async (signal) => {
    if (known !== undefined) return known.instance;
    const id = await ownInstanceId(context, signal);
    if (id === undefined) return undefined;
    const [instance] = await getInstances(ec2, [id], { signal });
    if (instance !== undefined) known = { instance };
    return instance;
  };
}
