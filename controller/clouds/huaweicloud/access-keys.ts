import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { answerFields, parseAnswer } from '../answer-fields.ts';
import type { CountedHttp } from '../counted-http.ts';
import { createExpiringCredential, type Expiring, type ExpiringCredential } from '../expiring-credential.ts';
import { cloud } from './fault.ts';
import type { AccessKey } from './sign.ts';

const operation = 'GET securitykey';
const timeoutMs = 5000;

/**
 * Temporary access keys of the agency of this ECS, from its metadata service (support.huaweicloud.com, ECS, "Obtaining
 * Metadata": `securitykey`). They live for hours.
 *
 * @param metadata base URL of the metadata service
 */
export function createAgencyKeys(http: CountedHttp, clock: Clock, metadata: string): ExpiringCredential<AccessKey> {
  const limits = { timeoutMs, maxBytes: 65_536 };
  const ask = (headers: Readonly<Record<string, string>>) =>
    http(operation, { url: `${metadata}/openstack/latest/securitykey`, headers, ...limits });

  /** An option of an ECS, in few regions ("Configuring Instance Metadata Options"): requests need a token. */
  async function askWithToken() {
    const url = `${metadata}/meta-data/latest/api/token`;
    const headers = { 'x-metadata-token-ttl-seconds': '60' };
    const { text } = await http('PUT api/token', { method: 'PUT', url, headers, ...limits });
    return ask({ 'x-metadata-token': /^[\x21-\x7e]+$/.exec(text.trim())?.[0] ?? '' });
  }

  async function read(): Promise<Expiring<AccessKey>> {
    const answer = await ask({});
    const { status, text } = answer.status === 401 || answer.status === 403 ? await askWithToken() : answer;
    if (status !== 200) {
      const message = `${status}: no access key in the configuration, and the metadata service has none of an agency`;
      throw new CloudError({ kind: 'Unauthorized', cloud, operation, message });
    }
    const place = { cloud, operation, secret: true };
    const fields = answerFields(parseAnswer(text, place), place).object('credential');
    const key = { id: fields.text('access'), secret: fields.text('secret'), token: fields.text('securitytoken') };
    const endsAtMs = Date.parse(fields.text('expires_at'));
    if (![key.id, key.secret, key.token].every((one) => /^[\x21-\x7e]+$/.test(one)) || Number.isNaN(endsAtMs))
      throw new CloudError({
        kind: 'Invalid',
        cloud,
        operation,
        message: 'credential: a wrong value (not shown), expected a key',
      });
    return { value: key, lifeMs: endsAtMs - clock.now() };
  }

  return createExpiringCredential(read, clock);
}
