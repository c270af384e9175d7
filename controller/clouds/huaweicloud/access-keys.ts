import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { answerFields, parseAnswer } from '../answer-fields.ts';
import type { CountedHttp } from '../counted-http.ts';
import { cloud } from './fault.ts';
import type { AccessKey } from './sign.ts';

/** The access key of the moment. Throws a CloudError. */
export type AccessKeys = () => Promise<AccessKey>;

export interface AgencyOptions {
  readonly http: CountedHttp;
  readonly clock: Clock;
  /** Base URL of the metadata service. */
  readonly metadata: string;
}

const operation = 'GET securitykey';
const timeoutMs = 5000;
const renewBeforeMs = 10 * 60_000;

/**
 * Temporary access keys of the agency of this ECS, from its metadata service (support.huaweicloud.com, ECS, "Obtaining
 * Metadata": `securitykey`). They live for hours; one that is about to end is replaced, and used while that fails.
 */
export function createAgencyKeys({ http, clock, metadata }: AgencyOptions): AccessKeys {
  let held: { readonly key: AccessKey; readonly endsAtMs: number } | undefined;
  let reading: Promise<AccessKey> | undefined;

  async function read(): Promise<AccessKey> {
    const url = `${metadata}/openstack/latest/securitykey`;
    const { status, text } = await http(operation, { url, timeoutMs, maxBytes: 65_536 });
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
    held = { key, endsAtMs };
    return key;
  }

  return async () => {
    const leftMs = held === undefined ? 0 : held.endsAtMs - clock.now();
    if (held !== undefined && leftMs > renewBeforeMs) return held.key;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    if (held === undefined || leftMs <= 0) return reading;
    const old = held.key;
    return reading.catch(() => old);
  };
}
