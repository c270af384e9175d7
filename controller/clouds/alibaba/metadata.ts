import { CloudError, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { CountedHttp } from '../counted-http.ts';
import { cloud } from './fault.ts';

export type Metadata = ReturnType<typeof createMetadata>;

const timeoutMs = 5000;
const tokenSeconds = 300;

/** The metadata service of the instance that the controller runs on: `region-id`, `ram/security-credentials/`. */
export function createMetadata(http: CountedHttp, endpoint: string) {
  /** Undefined: this instance needs none, or has no such path. */
  async function token(signal: AbortSignal | undefined): Promise<string | undefined> {
    const url = `${endpoint}/latest/api/token`;
    const headers = { 'x-aliyun-ecs-metadata-token-ttl-seconds': String(tokenSeconds) };
    const { status, text } = await http('PUT token', { method: 'PUT', url, headers, timeoutMs, signal });
    return status === 200 && text.trim() !== '' ? text.trim() : undefined;
  }

  return {
    /** Trimmed, and not empty. Throws a CloudError. */
    async read(key: string, signal?: AbortSignal): Promise<string> {
      const operation = `GET ${key}`;
      const held = await token(signal);
      const headers = held === undefined ? {} : { 'x-aliyun-ecs-metadata-token': held };
      const url = `${endpoint}/latest/meta-data/${key}`;
      const { status, text } = await http('GET metadata', { url, headers, timeoutMs, signal });
      const value = text.trim();
      if (status === 200 && value !== '') return value;
      const kind = status === 200 ? 'Unavailable' : status === 404 ? 'Invalid' : kindOfHttpStatus(status);
      const message = `the metadata service has no ${key} (status ${status})`;
      throw new CloudError({ kind, cloud, operation, message });
    },
  };
}
